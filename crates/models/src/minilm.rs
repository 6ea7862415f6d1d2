//! What does a text mean to all-MiniLM-L6-v2, worked out in this process?
//!
//! Weights and tokenizer are files in a folder, taken only if they are the very bytes that this version was tested
//! with: their checksums are below. Nothing is fetched and nothing of the folder is run. Calls share the model and
//! never wait for each other; each works on its caller's thread.

mod bert;
mod linear;
mod math;
mod weights;

use crate::OpenError;
use bert::Bert;
use sha2::{Digest as _, Sha256};
use std::io::ErrorKind;
use std::path::Path;
use tabellion_engine::ports::{EmbedError, Embedder};
use tokenizers::{Tokenizer, TruncationParams};

/// The weights' file, and the SHA-256 of its bytes.
const WEIGHTS: (&str, &str) =
    ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db");
/// The tokenizer's file, and the SHA-256 of its bytes.
const TOKENIZER: (&str, &str) =
    ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037");

/// How much of the weights' checksum names the model.
const NAME_DIGITS: usize = 16;
/// The model was trained on texts of so many tokens; what is behind them is not read.
const TOKENS_MAX: usize = 256;
/// How many texts go through the network at once.
const TEXTS_MAX: usize = 32;
/// How many tokens do, one text aside: their rows then fit the processor's cache.
const STEP_TOKENS_MAX: usize = 128;

/// The model, ready to be asked.
pub struct MiniLm {
    name: String,
    tokenizer: Tokenizer,
    bert: Bert,
}

impl MiniLm {
    /// The model in this folder.
    ///
    /// # Errors
    /// When a file is not there, cannot be read, or is not the one expected. The words say what to do next.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let tokenizer = read_checked(folder, TOKENIZER)?;
        let weights = read_checked(folder, WEIGHTS)?;
        let damaged = |file: &str, cause: String| OpenError::Unfit { path: folder.join(file), cause };
        let (_, checksum) = WEIGHTS;
        Ok(Self {
            name: format!("all-MiniLM-L6-v2@{}", checksum.get(..NAME_DIGITS).unwrap_or(checksum)),
            tokenizer: tokenizer_from(&tokenizer).map_err(|cause| damaged(TOKENIZER.0, cause.to_string()))?,
            bert: weights::read(&weights).map_err(|cause| damaged(WEIGHTS.0, cause.to_string()))?,
        })
    }

    fn tokens(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        let encoded = self.tokenizer.encode_fast(crate::text::beginning(text), true);
        // The tokenizer's own words may quote the text.
        let encoded = encoded.map_err(|_| EmbedError::Nonsense("the tokenizer refused a text".to_owned()))?;
        Ok(encoded.get_ids().to_vec())
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        bert::WIDTH
    }

    fn batch_texts_max(&self) -> usize {
        TEXTS_MAX
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_MAX) {
            let tokens: Vec<Vec<u32>> =
                texts.iter().map(|text| self.tokens(text)).collect::<Result<_, _>>()?;
            for step in steps(&tokens) {
                let found = self.bert.vectors(&step);
                vectors.extend(found.ok_or_else(|| {
                    EmbedError::Nonsense(
                        "the tokenizer gave tokens that the network does not know".to_owned(),
                    )
                })?);
            }
        }
        Ok(vectors)
    }
}

/// The texts in order, as many at once as the network takes.
fn steps(texts: &[Vec<u32>]) -> Vec<Vec<&[u32]>> {
    let mut steps: Vec<Vec<&[u32]>> = Vec::new();
    let mut taken = usize::MAX;
    for tokens in texts {
        taken = taken.saturating_add(tokens.len());
        match steps.last_mut() {
            Some(step) if taken <= STEP_TOKENS_MAX => step.push(tokens),
            _ => {
                taken = tokens.len();
                steps.push(vec![tokens]);
            }
        }
    }
    steps
}

/// The tokenizer as the model was trained with. Its file also asks for padding to 128 tokens and a cut there: that
/// would cost every short text as much as a long one, and every long text its second half.
fn tokenizer_from(bytes: &[u8]) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(bytes)?;
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(Some(TruncationParams { max_length: TOKENS_MAX, ..TruncationParams::default() }))?;
    Ok(tokenizer)
}

/// The bytes of a file, if they are the ones expected: what is used is what was checked.
fn read_checked(folder: &Path, (file, expected): (&str, &'static str)) -> Result<Vec<u8>, OpenError> {
    let path = folder.join(file);
    let bytes = std::fs::read(&path).map_err(|cause| {
        if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            OpenError::Missing { path: path.clone(), folder: folder.to_owned() }
        } else {
            OpenError::Unreadable { path: path.clone(), cause }
        }
    })?;
    let found = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
    if found == expected {
        Ok(bytes)
    } else {
        Err(OpenError::WrongChecksum { path, folder: folder.to_owned(), expected, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_keep_the_order_and_stay_within_the_cache() {
        let texts: Vec<Vec<u32>> = [28, 60, 40, 1, 256, 2, 126, 1].map(|length| vec![0; length]).to_vec();
        let lengths: Vec<Vec<usize>> =
            steps(&texts).iter().map(|step| step.iter().map(|tokens| tokens.len()).collect()).collect();
        assert_eq!(lengths, [vec![28, 60, 40], vec![1], vec![256], vec![2, 126], vec![1]]);
        assert!(steps(&[]).is_empty());
    }

    #[test]
    fn files_that_are_missing_or_others_are_refused_with_a_way_on() {
        let folder = tempfile::tempdir().unwrap();
        let missing = MiniLm::open(&folder.path().join("none")).map(|_| ()).unwrap_err();
        assert!(matches!(&missing, OpenError::Missing { .. }));
        assert!(missing.to_string().contains("tools/fetch_model.py"), "{missing}");
        std::fs::write(folder.path().join(TOKENIZER.0), "{}").unwrap();
        let other = MiniLm::open(folder.path()).map(|_| ()).unwrap_err();
        assert!(matches!(&other, OpenError::WrongChecksum { .. }));
        assert!(other.to_string().contains(TOKENIZER.1), "{other}");
    }
}
