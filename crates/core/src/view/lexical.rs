//! Words and where they occur: BM25 under the caller's predicate, and phrases.
//!
//! Invariant (statistics from what is seen): how much a word counts is taken from texts that the caller may see, so a rank
//! tells nothing of the others. That goes for parts of texts too: see `fields`.

mod fields;
mod postings;

pub use fields::Fields;

use super::items::{Item, ItemsView, Moment, Row, Version};
use crate::access::Predicate;
use crate::id::{UserId, VersionId};
use crate::item::{Layer, Status, Tier};
use crate::log::{Entry, Event, Lsn};
use crate::policy::Classes;
use crate::rank::Corpus;
use fields::MaskedWords;
use postings::{Posting, Postings};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, HashMap};

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// What the caller may see.
    pub predicate: &'a Predicate,
    /// At which moment.
    pub at: Moment,
    /// Only this tier, if one is named.
    pub tier: Option<Tier>,
    /// Only these layers, if any are named.
    pub layers: &'a [Layer],
    /// Only this namespace, if one is named.
    pub namespace: Option<&'a str>,
    /// What is redacted for the caller: a text is not found by it (SHARE-21).
    pub redacted: Classes,
}

impl Scope<'_> {
    /// Whether a version may be found.
    #[must_use]
    pub fn admits(&self, items: &ItemsView, version: &Version) -> bool {
        self.predicate.admits(version)
            && items.is_active_at(version, self.at)
            && !items.item_of(version).is_some_and(|item| item.is_quarantined_at(self.at.lsn))
            && self.tier.is_none_or(|tier| tier == version.tier)
            && (self.layers.is_empty() || self.layers.contains(&version.layer))
            && self.namespace.is_none_or(|name| items.namespace_of(version) == name)
            && !self.collapses(items, version)
    }

    /// Whether a version is the shared copy of what its own user finds as the private one (SHARE-22).
    fn collapses(&self, items: &ItemsView, version: &Version) -> bool {
        let owner = self.predicate.owner();
        let Some(origin) = version.origin.filter(|_| version.owner == owner) else { return false };
        let keeps = |head: (&Item, &Version)| self.layers.is_empty() || self.layers.contains(&head.1.layer);
        items.visible_head(origin, self.predicate, self.at).is_some_and(keeps)
    }

    /// Whether the version at a row may be found.
    #[must_use]
    pub fn admits_row(&self, items: &ItemsView, row: Row) -> bool {
        items.version(row).is_some_and(|version| self.admits(items, version))
    }
}

/// A text that holds a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The version.
    pub row: Row,
    /// How often it holds the word.
    pub count: u32,
    /// How many words it has in all.
    pub length: u32,
}

/// Every word of a tenant's texts.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct LexicalView {
    /// The open words.
    #[cbor(n(0), with = "in_order")]
    postings: HashMap<String, Postings>,
    /// Words in each version, open and masked.
    #[n(1)]
    lengths: Vec<u32>,
    /// Active texts and their words, by whose they are, none for the shared pool, and class.
    #[n(2)]
    corpora: BTreeMap<(Option<UserId>, u32), (u64, u64)>,
    /// The masked words.
    #[n(3)]
    masked: MaskedWords,
}

impl LexicalView {
    /// The texts that hold a word, in order, among these rows; what is redacted holds none.
    #[must_use]
    pub fn texts_with(&self, word: &str, rows: &RoaringBitmap, redacted: Classes) -> Vec<Held> {
        let held = |posting: Posting<'_>| Held {
            row: posting.row,
            count: posting.count,
            length: self.length(posting.row, redacted),
        };
        let open = self.postings.get(word).into_iter().flat_map(Postings::iter);
        let mut texts: Vec<Held> = open.filter(|posting| rows.contains(posting.row)).map(held).collect();
        let mut masked = self.masked.postings(word, redacted).filter(|one| rows.contains(one.row)).peekable();
        if masked.peek().is_some() {
            texts.extend(masked.map(held));
            texts.sort_by_key(|text| text.row);
            texts.dedup_by(|next, kept| {
                let same = next.row == kept.row;
                kept.count += if same { next.count } else { 0 };
                same
            });
        }
        texts
    }

    /// The words of a text, without those that are redacted.
    #[must_use]
    pub fn length(&self, row: Row, redacted: Classes) -> u32 {
        let all = self.lengths.get(row as usize).copied().unwrap_or(0);
        if redacted.is_empty() { all } else { all.saturating_sub(self.masked.hidden(row, redacted)) }
    }

    /// What a caller may see, as far as words go (SHARE-38).
    #[must_use]
    pub fn corpus(&self, predicate: &Predicate, redacted: Classes) -> Corpus {
        let of = |owner: Option<UserId>| self.corpora.range((owner, 0)..=(owner, u32::MAX));
        let seen = of(None).chain(of(Some(predicate.owner())));
        let seen = seen.filter(|((_, class), _)| predicate.classes().contains(*class));
        let (texts, words) = seen.fold((0, 0), |sum, (_, (texts, words))| (sum.0 + texts, sum.1 + words));
        let hidden = self.masked.hidden_in(redacted, |owner, class| {
            owner.is_none_or(|owner| owner == predicate.owner()) && predicate.classes().contains(class)
        });
        Corpus { texts, words: words.saturating_sub(hidden) }
    }

    /// The rows of texts that hold these words one after the other, none of them redacted.
    #[must_use]
    pub fn with_phrase(&self, phrase: &[String], redacted: Classes) -> Vec<Row> {
        let mut ends: Option<BTreeMap<Row, Vec<u32>>> = None;
        for word in phrase {
            let places = self.places(word, redacted);
            ends = Some(match &ends {
                None => places,
                Some(before) => places.into_iter().filter_map(|found| follow(before, found)).collect(),
            });
        }
        ends.unwrap_or_default().into_keys().collect()
    }

    /// Where a word stands, in order, by row.
    fn places(&self, word: &str, redacted: Classes) -> BTreeMap<Row, Vec<u32>> {
        let open = self.postings.get(word).into_iter().flat_map(Postings::iter);
        let mut all: BTreeMap<Row, Vec<u32>> = open.map(|one| (one.row, one.places())).collect();
        for one in self.masked.postings(word, redacted) {
            let places = all.entry(one.row).or_default();
            places.extend(one.places());
            places.sort_unstable();
        }
        all
    }

    pub(super) fn apply(&mut self, entry: &Entry, fields: Option<&Fields>, items: &ItemsView) {
        match &entry.event {
            Event::VersionWritten(written) => {
                let none = Fields::default();
                let row = self.write(fields.unwrap_or(&none));
                if let Some(version) = items.find_version(written.version) {
                    self.count(version, row, true);
                }
                for parent in &written.parents {
                    self.uncount(items, *parent, entry.lsn);
                }
            }
            Event::VersionRetracted { version, .. } | Event::VersionExpired { version, .. } => {
                self.uncount(items, *version, entry.lsn);
            }
            Event::ItemPinned { .. }
            | Event::ItemUnpinned { .. }
            | Event::TenantCreated { .. }
            | Event::UserCreated { .. }
            | Event::AgentCreated { .. }
            | Event::ResourceCreated { .. }
            | Event::KeyIssued(_)
            | Event::KeyRevoked { .. }
            | Event::WriteStaged(_)
            | Event::ReviewDecided { .. }
            | Event::ItemQuarantined { .. }
            | Event::ItemReleased { .. }
            | Event::PolicySet
            | Event::SchemaSet
            | Event::AgentSuspended { .. }
            | Event::AgentResumed { .. }
            | Event::PairHeld(_)
            | Event::PairReleased(_)
            | Event::OutcomeReported(_)
            | Event::EdgeGranted(_)
            | Event::EdgeRevoked { .. }
            | Event::AgentStatusSet { .. }
            | Event::ItemReverified { .. }
            | Event::RoleSet { .. }
            | Event::RoleAssigned(_)
            | Event::RoleUnassigned { .. }
            | Event::Calibrated(_)
            | Event::TrustMoved(_)
            | Event::UserStatusSet { .. }
            | Event::UserRoleSet { .. }
            | Event::ResourceStatusSet { .. }
            | Event::LossAccepted(_)
            | Event::Audited(_) => {}
        }
    }

    fn write(&mut self, fields: &Fields) -> Row {
        let row = self.lengths.len() as Row;
        self.lengths.push(fields.length());
        for (word, places) in &fields.open.words {
            match self.postings.get_mut(word) {
                Some(postings) => postings.push(row, places),
                None => self.postings.entry(word.clone()).or_default().push(row, places),
            }
        }
        self.masked.write(row, &fields.masked);
        row
    }

    /// Takes a version out of its owner's corpus, if this very entry ended it.
    fn uncount(&mut self, items: &ItemsView, version: VersionId, lsn: Lsn) {
        let Some(row) = items.row_of(version) else { return };
        let Some(version) = items.version(row) else { return };
        if matches!(version.ended(), Some((at, Status::Superseded | Status::Retracted | Status::Expired)) if at == lsn)
        {
            self.count(version, row, false);
        }
    }

    fn count(&mut self, version: &Version, row: Row, added: bool) {
        let owner = (version.tier == Tier::Private).then_some(version.owner);
        let length = self.lengths.get(row as usize).copied().unwrap_or(0);
        self.masked.count(row, (owner, version.class()), added);
        let (texts, words) = self.corpora.entry((owner, version.class())).or_default();
        if added {
            *texts += 1;
            *words += u64::from(length);
        } else {
            *texts = texts.saturating_sub(1);
            *words = words.saturating_sub(u64::from(length));
        }
    }

    pub(super) fn shrink(&mut self) {
        self.postings.values_mut().for_each(Postings::shrink);
        self.masked.shrink();
    }
}

/// The places of a word that directly follow places of the phrase so far.
fn follow(before: &BTreeMap<Row, Vec<u32>>, (row, mut places): (Row, Vec<u32>)) -> Option<(Row, Vec<u32>)> {
    let before = before.get(&row)?;
    let follows = |place: &u32| place.checked_sub(1).is_some_and(|last| before.binary_search(&last).is_ok());
    places.retain(follows);
    (!places.is_empty()).then_some((row, places))
}

/// Words in order, so that two equal views have equal bytes.
mod in_order {
    use super::{HashMap, Postings};
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decode, Decoder, Encode, Encoder};

    type Words = HashMap<String, Postings>;

    pub(super) fn encode<C, W: Write>(
        postings: &Words,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        let mut words: Vec<(&String, &Postings)> = postings.iter().collect();
        words.sort_unstable_by_key(|(word, _)| *word);
        words.encode(encoder, context)
    }

    pub(super) fn decode<'b, C>(decoder: &mut Decoder<'b>, context: &mut C) -> Result<Words, DecodeError> {
        Ok(Vec::<(String, Postings)>::decode(decoder, context)?.into_iter().collect())
    }
}
