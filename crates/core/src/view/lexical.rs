//! Words and where they occur: BM25 under the caller's predicate.
//!
//! Invariant (statistics from what is seen): how much a word counts is taken from texts that the caller may see, so a rank
//! tells nothing of the others.

use super::Opened;
use super::items::{ItemsView, Moment, Row, Version};
use crate::access::Predicate;
use crate::id::UserId;
use crate::item::{Layer, Status};
use crate::log::{Entry, Event};
use crate::rank::Corpus;
use crate::text::Terms;
use std::collections::{BTreeMap, HashMap};

/// One text that holds a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Posting {
    #[n(0)]
    row: Row,
    #[n(1)]
    count: u32,
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// What the caller may see.
    pub predicate: &'a Predicate,
    /// At which moment.
    pub at: Moment,
    /// Only these layers, if any are named.
    pub layers: &'a [Layer],
    /// Only this namespace, if one is named.
    pub namespace: Option<&'a str>,
}

impl Scope<'_> {
    fn admits(&self, items: &ItemsView, version: &Version) -> bool {
        self.predicate.admits(version.owner, version.tier)
            && version.is_active_at(self.at)
            && (self.layers.is_empty() || self.layers.contains(&version.layer))
            && self.namespace.is_none_or(|name| items.namespace_of(version) == name)
    }
}

/// A text found, and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The version.
    pub row: Row,
    /// BM25.
    pub score: f64,
}

/// Every word of a tenant's texts.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct LexicalView {
    #[cbor(n(0), with = "in_order")]
    postings: HashMap<String, Vec<Posting>>,
    /// Words in each version.
    #[n(1)]
    lengths: Vec<u32>,
    /// Active texts and their words, by owner.
    #[n(2)]
    corpora: BTreeMap<UserId, (u64, u64)>,
}

impl LexicalView {
    /// The best `k` texts for these words, under the scope.
    #[must_use]
    pub fn search(&self, items: &ItemsView, query: &Terms, scope: &Scope<'_>, k: usize) -> Vec<Hit> {
        let (texts, words) = self.corpora.get(&scope.predicate.owner()).copied().unwrap_or_default();
        let mut scores: HashMap<Row, f64> = HashMap::new();
        for (word, _) in &query.counts {
            let postings = self.postings.get(word).map_or(&[] as &[Posting], Vec::as_slice);
            let admits = |posting: &&Posting| {
                items.version(posting.row).is_some_and(|version| scope.admits(items, version))
            };
            let seen: Vec<&Posting> = postings.iter().filter(admits).collect();
            let corpus = Corpus { texts: texts.max(seen.len() as u64), words };
            let weight = corpus.word_weight(seen.len() as u64);
            for posting in seen {
                let length = self.lengths.get(posting.row as usize).copied().unwrap_or(0);
                *scores.entry(posting.row).or_default() += corpus.bm25(weight, posting.count, length);
            }
        }
        best(scores.into_iter().map(|(row, score)| Hit { row, score }).collect(), k)
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened, items: &ItemsView) {
        match (&entry.event, opened) {
            (Event::VersionWritten(written), opened) => {
                let row = self.lengths.len() as Row;
                let terms = match opened {
                    Opened::Version(opened) => &opened.terms,
                    Opened::Nothing | Opened::Principal(_) => &Terms::default(),
                };
                self.lengths.push(terms.length);
                for (word, count) in &terms.counts {
                    match self.postings.get_mut(word) {
                        Some(postings) => postings.push(Posting { row, count: *count }),
                        None => {
                            drop(self.postings.insert(word.clone(), vec![Posting { row, count: *count }]))
                        }
                    }
                }
                self.count(written.owner, terms.length, true);
                for parent in &written.parents {
                    self.uncount(items, *parent, entry.lsn);
                }
            }
            (Event::VersionRetracted { version, .. } | Event::VersionExpired { version, .. }, _) => {
                self.uncount(items, *version, entry.lsn);
            }
            _ => {}
        }
    }

    /// Takes a version out of its owner's corpus, if this very entry ended it.
    fn uncount(&mut self, items: &ItemsView, version: crate::id::VersionId, lsn: crate::log::Lsn) {
        let Some(row) = items.row_of(version) else { return };
        let Some(version) = items.version(row) else { return };
        if matches!(version.ended(), Some((at, Status::Superseded | Status::Retracted | Status::Expired)) if at == lsn)
        {
            let length = self.lengths.get(row as usize).copied().unwrap_or(0);
            self.count(version.owner, length, false);
        }
    }

    fn count(&mut self, owner: UserId, length: u32, added: bool) {
        let (texts, words) = self.corpora.entry(owner).or_default();
        if added {
            *texts += 1;
            *words += u64::from(length);
        } else {
            *texts = texts.saturating_sub(1);
            *words = words.saturating_sub(u64::from(length));
        }
    }

    pub(super) fn index(&mut self) {
        self.postings.values_mut().for_each(Vec::shrink_to_fit);
    }
}

/// Words in order, so that two equal views have equal bytes.
mod in_order {
    use super::{HashMap, Posting};
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decode, Decoder, Encode, Encoder};

    type Postings = HashMap<String, Vec<Posting>>;

    pub(super) fn encode<C, W: Write>(
        postings: &Postings,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        let mut words: Vec<(&String, &Vec<Posting>)> = postings.iter().collect();
        words.sort_unstable_by_key(|(word, _)| *word);
        words.encode(encoder, context)
    }

    pub(super) fn decode<'b, C>(decoder: &mut Decoder<'b>, context: &mut C) -> Result<Postings, DecodeError> {
        Ok(Vec::<(String, Vec<Posting>)>::decode(decoder, context)?.into_iter().collect())
    }
}

/// The best `k`, ties to the newer.
fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    let order = |a: &Hit, b: &Hit| b.score.total_cmp(&a.score).then(b.row.cmp(&a.row));
    if hits.len() > k && k > 0 {
        hits.select_nth_unstable_by(k - 1, order);
    }
    hits.truncate(k);
    hits.sort_unstable_by(order);
    hits
}
