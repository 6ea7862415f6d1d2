//! What does the network make of tokens? BERT's encoder with six layers, its mean over the tokens, at unit length.
//!
//! The tokens of all texts of a call stand in one matrix, text after text. Only attention looks across tokens, and it
//! stays within a text, so there is no padding and no mask: a short text costs what it is worth. Knows no files and no
//! words; `weights` reads the one, the tokenizer the other.

use super::linear::Linear;
use super::math;
use pulp::Arch;

/// How long a token's row is, and so a text's vector.
pub(super) const WIDTH: usize = 384;
/// How many heads attend side by side.
const HEADS: usize = 12;
/// How wide a head is.
const HEAD: usize = WIDTH / HEADS;
/// How many keys are scored at once.
const KEYS: usize = 32;

/// Shifts and stretches rows to a mean and spread of its own.
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// One of the encoder's layers.
pub(super) struct Layer {
    /// Queries, keys and values in one product.
    pub(super) attend: Linear,
    pub(super) attended: Linear,
    pub(super) attended_norm: Norm,
    pub(super) widen: Linear,
    pub(super) narrow: Linear,
    pub(super) narrow_norm: Norm,
}

/// The network.
pub(super) struct Bert {
    pub(super) arch: Arch,
    /// A row a token of the vocabulary.
    pub(super) words: Vec<f32>,
    /// A row a place in the text, with the row of "first segment" added to each.
    pub(super) places: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
}

impl Bert {
    /// A vector of unit length for each list of tokens. None if a token is unknown or a list too long or empty.
    pub(super) fn vectors(&self, texts: &[&[u32]]) -> Option<Vec<Vec<f32>>> {
        let lengths: Vec<usize> = texts.iter().map(|tokens| tokens.len()).collect();
        let mut rows = self.embed(texts)?;
        for layer in &self.layers {
            rows = self.layer(layer, &lengths, rows);
        }
        Some(of_each(&lengths, &rows, WIDTH).map(mean_at_unit_length).collect())
    }

    fn embed(&self, texts: &[&[u32]]) -> Option<Vec<f32>> {
        let mut rows = Vec::with_capacity(texts.iter().map(|tokens| tokens.len()).sum::<usize>() * WIDTH);
        for tokens in texts {
            let _first = tokens.first()?;
            let mut places = self.places.chunks_exact(WIDTH);
            for token in *tokens {
                let start = usize::try_from(*token).ok()?.checked_mul(WIDTH)?;
                let word = self.words.get(start..start.checked_add(WIDTH)?)?;
                rows.extend(word.iter().zip(places.next()?).map(|(word, place)| word + place));
            }
        }
        math::norm(self.arch, &mut rows, &self.norm.scale, &self.norm.shift);
        Some(rows)
    }

    fn layer(&self, layer: &Layer, lengths: &[usize], mut rows: Vec<f32>) -> Vec<f32> {
        let asked = layer.attend.apply(self.arch, &rows);
        let mut seen = vec![0.0; rows.len()];
        let mut rest = seen.as_mut_slice();
        for asked in of_each(lengths, &asked, layer.attend.outputs()) {
            let Some((seen, behind)) = rest.split_at_mut_checked(asked.len() / 3) else { break };
            math::vectorized(self.arch, || attention(asked, seen));
            rest = behind;
        }
        math::add(&mut rows, &layer.attended.apply(self.arch, &seen));
        math::norm(self.arch, &mut rows, &layer.attended_norm.scale, &layer.attended_norm.shift);
        let mut wide = layer.widen.apply(self.arch, &rows);
        math::gelu(self.arch, &mut wide);
        math::add(&mut rows, &layer.narrow.apply(self.arch, &wide));
        math::norm(self.arch, &mut rows, &layer.narrow_norm.scale, &layer.narrow_norm.shift);
        rows
    }
}

/// Each text's part of a matrix.
fn of_each<'a>(lengths: &[usize], mut rows: &'a [f32], width: usize) -> impl Iterator<Item = &'a [f32]> {
    lengths.iter().map_while(move |length| {
        let (own, behind) = rows.split_at_checked(length * width)?;
        rows = behind;
        Some(own)
    })
}

/// What each token of one text sees: the values of all, by how well its query fits their keys.
#[inline(always)]
fn attention(asked: &[f32], seen: &mut [f32]) {
    let tokens = seen.len() / WIDTH;
    let mut keys = vec![[[0.0; KEYS]; HEAD]; tokens.div_ceil(KEYS)];
    let mut values = vec![[0.0; HEAD]; tokens];
    let mut scores = vec![0.0; tokens.next_multiple_of(KEYS)];
    for head in 0..HEADS {
        for (at, row) in asked.chunks_exact(3 * WIDTH).enumerate() {
            let Some([_, key, value]) = head_of(row, head) else { return };
            let Some(block) = keys.get_mut(at / KEYS) else { return };
            for (column, key) in block.iter_mut().zip(key) {
                column.iter_mut().skip(at % KEYS).take(1).for_each(|place| *place = *key);
            }
            values.iter_mut().skip(at).take(1).for_each(|place| *place = *value);
        }
        for (row, seen) in asked.chunks_exact(3 * WIDTH).zip(seen.chunks_exact_mut(WIDTH)) {
            let Some([query, _, _]) = head_of(row, head) else { return };
            score(query, &keys, &mut scores);
            let Some(scores) = scores.get_mut(..tokens) else { return };
            math::softmax(scores);
            let Some(to) = seen.as_chunks_mut::<HEAD>().0.get_mut(head) else { return };
            *to = weigh(scores, &values);
        }
    }
}

/// A token's query, key and value for one head.
#[inline(always)]
fn head_of(row: &[f32], head: usize) -> Option<[&[f32; HEAD]; 3]> {
    let (heads, _) = row.as_chunks::<HEAD>();
    Some([heads.get(head)?, heads.get(HEADS + head)?, heads.get(2 * HEADS + head)?])
}

/// How well a query fits each key.
#[inline(always)]
fn score(query: &[f32; HEAD], keys: &[[[f32; KEYS]; HEAD]], scores: &mut [f32]) {
    let scale = 1.0 / (HEAD as f32).sqrt();
    for (scores, block) in scores.as_chunks_mut::<KEYS>().0.iter_mut().zip(keys) {
        let mut sums = [0.0; KEYS];
        for (query, column) in query.iter().zip(block) {
            let query = query * scale;
            sums.iter_mut().zip(column).for_each(|(sum, key)| *sum += query * key);
        }
        *scores = sums;
    }
}

/// The sum of the values, each by its weight.
#[inline(always)]
fn weigh(weights: &[f32], values: &[[f32; HEAD]]) -> [f32; HEAD] {
    let mut sums = [0.0; HEAD];
    for (weight, value) in weights.iter().zip(values) {
        sums.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
    }
    sums
}

/// A text's vector from its tokens' rows.
fn mean_at_unit_length(rows: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; WIDTH];
    rows.chunks_exact(WIDTH).for_each(|row| math::add(&mut sum, row));
    crate::vector::to_unit_length(&mut sum);
    sum
}
