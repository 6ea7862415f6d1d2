//! How do the bytes of a weights file become the network? Reads the safetensors form; knows no path.
//!
//! The bytes were checked against their checksum before, so what is missing here means a wrong constant of ours.

use super::bert::{Bert, Layer, Norm, WIDTH};
use super::linear::Linear;
use pulp::Arch;
use safetensors::{Dtype, SafeTensors};

/// How many layers the encoder has.
const LAYERS: usize = 6;

/// Which part of a weights file is not as the network needs it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unfit(String);

/// The network of these weights.
pub(super) fn read(bytes: &[u8]) -> Result<Bert, Unfit> {
    let file = SafeTensors::deserialize(bytes).map_err(|cause| Unfit(cause.to_string()))?;
    let file = Named { file };
    let mut places = file.numbers("embeddings.position_embeddings.weight")?;
    let kinds = file.numbers("embeddings.token_type_embeddings.weight")?;
    for place in places.chunks_exact_mut(WIDTH) {
        super::math::add(place, kinds.get(..WIDTH).unwrap_or_default());
    }
    Ok(Bert {
        arch: Arch::new(),
        words: file.numbers("embeddings.word_embeddings.weight")?,
        places,
        norm: file.norm("embeddings.LayerNorm")?,
        layers: (0..LAYERS).map(|at| file.layer(at)).collect::<Result<_, _>>()?,
    })
}

struct Named<'a> {
    file: SafeTensors<'a>,
}

impl Named<'_> {
    fn layer(&self, at: usize) -> Result<Layer, Unfit> {
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let attend = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        Ok(Layer {
            attend: self.linear(&attend)?,
            attended: self.linear(&[name("attention.output.dense")])?,
            attended_norm: self.norm(&name("attention.output.LayerNorm"))?,
            widen: self.linear(&[name("intermediate.dense")])?,
            narrow: self.linear(&[name("output.dense")])?,
            narrow_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    /// One layer from those of these names, side by side.
    fn linear(&self, names: &[String]) -> Result<Linear, Unfit> {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            weights.extend(self.numbers(&format!("{name}.weight"))?);
            bias.extend(self.numbers(&format!("{name}.bias"))?);
        }
        Linear::new(&weights, bias).ok_or_else(|| Unfit(format!("{} has odd sizes", names.join(", "))))
    }

    fn norm(&self, name: &str) -> Result<Norm, Unfit> {
        let scale = self.numbers(&format!("{name}.weight"))?;
        Ok(Norm { scale, shift: self.numbers(&format!("{name}.bias"))? })
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>, Unfit> {
        let tensor = self.file.tensor(name).map_err(|_| Unfit(format!("there is no {name}")))?;
        if tensor.dtype() != Dtype::F32 {
            return Err(Unfit(format!("{name} is not of 32-bit numbers")));
        }
        let (numbers, _) = tensor.data().as_chunks::<4>();
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_hold_no_network_are_named() {
        assert!(read(b"no tensors").is_err());
        let empty = safetensors::serialize(Vec::<(String, safetensors::tensor::TensorView<'_>)>::new(), None);
        let found = read(&empty.unwrap()).map(|_| ()).unwrap_err();
        assert_eq!(found.to_string(), "there is no embeddings.position_embeddings.weight");
    }
}
