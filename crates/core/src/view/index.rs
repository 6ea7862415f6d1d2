//! What search finds texts by. It trails the log: writes do not wait for words to be taken apart.

use super::{
    Fields, ItemsView, LexicalView, NotACheckpoint, Opened, RelationsView, Row, Said, Scope, SessionsView,
    Tie, from_checkpoint, to_checkpoint,
};
use crate::canonical::{Hash, sha256};
use crate::claim::{Claim, ClaimsView};
use crate::item::Content;
use crate::log::{Entry, Event, Lsn};
use crate::policy::{Classes, classes_beside};
use crate::provenance::ApprovalState;
use crate::rank::Standing;
use crate::text::Analyser;
use std::collections::BTreeMap;

/// Changes when the shape of the index or the making of words changes: an old checkpoint is dropped and folded anew.
const CHECKPOINT_SHAPE: u32 = 10;

/// A version as the index takes it in. Made outside of any lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    fields: Fields,
    classes: Classes,
    said: Said,
    authority: Authority,
    namespace: String,
    claim: Claim,
    tie: Option<Tie>,
}

/// How much the evidence of a version counts: on average, and at most.
#[derive(Debug, Clone, Copy, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Authority {
    #[n(0)]
    mean: f32,
    #[n(1)]
    most: f32,
    /// V_fact when it was written, where a gate weighed it.
    #[n(2)]
    fact: Option<f32>,
    /// Whether a person approved it.
    #[n(3)]
    approved: bool,
}

impl Authority {
    /// That of the evidence in a provenance record; nothing without evidence.
    fn of(provenance: &[u8]) -> Self {
        #[derive(serde::Deserialize)]
        struct Cited {
            #[serde(default)]
            evidence_refs: Vec<Source>,
            fact_score: Option<f32>,
            human_approval_state: Option<ApprovalState>,
        }
        #[derive(serde::Deserialize)]
        struct Source {
            authority: f32,
        }
        let Ok(cited) = serde_json::from_slice::<Cited>(provenance) else { return Self::default() };
        let all = || cited.evidence_refs.iter().map(|source| source.authority.clamp(0.0, 1.0));
        let approved = cited.human_approval_state == Some(ApprovalState::Approved);
        let mean = match cited.evidence_refs.len() {
            0 => 0.0,
            count => all().sum::<f32>() / count as f32,
        };
        Self { mean, most: all().fold(0.0, f32::max), fact: cited.fact_score, approved }
    }
}

impl Passage {
    /// What the index keeps of what is sealed beside an entry; nothing if it is no version, or was destroyed.
    #[must_use]
    pub fn of(opened: &Opened, analyser: &mut Analyser) -> Option<Self> {
        let Opened::Version(version) = opened else { return None };
        let content: Content = serde_json::from_slice(&version.content).ok()?;
        let fields = Fields::of(&content, analyser);
        Some(Self {
            classes: fields.classes().union(classes_beside(&content)),
            fields,
            said: Said::of(&content),
            authority: Authority::of(&version.provenance),
            namespace: version.namespace.clone(),
            claim: Claim::of(&content, analyser),
            tie: Tie::of(&content),
        })
    }
}

/// Every text of one tenant, as search needs it, at one position of its log.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Index {
    #[n(0)]
    lsn: Lsn,
    /// Words.
    #[n(1)]
    pub lexical: LexicalView,
    /// Conversations.
    #[n(2)]
    pub sessions: SessionsView,
    #[n(3)]
    authorities: Vec<Authority>,
    /// What each text claims.
    #[n(4)]
    pub claims: ClaimsView,
    /// What detectors find in each content in which they find anything.
    #[n(5)]
    classes: BTreeMap<Row, Classes>,
    /// What relations tie together.
    #[n(6)]
    pub relations: RelationsView,
}

impl Index {
    /// The position up to which entries are folded in.
    #[must_use]
    pub const fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Folds in one entry; an entry that is already in changes nothing. The items may be ahead, never behind.
    pub fn apply(&mut self, entry: &Entry, passage: Option<&Passage>, items: &ItemsView) {
        if entry.lsn <= self.lsn {
            return;
        }
        self.lexical.apply(entry, passage.map(|passage| &passage.fields), items);
        if let Event::VersionWritten(written) = &entry.event {
            let (nothing, nowhere) = (Said::default(), String::new());
            let said = passage.map_or(&nothing, |passage| &passage.said);
            let namespace = passage.map_or(&nowhere, |passage| &passage.namespace);
            for parent in written.parents.iter().filter_map(|parent| items.row_of(*parent)) {
                self.claims.forget(parent);
                self.relations.forget(parent);
            }
            if let Some(tie) = passage.and_then(|passage| passage.tie.as_ref()) {
                self.relations.write(self.claims.len() as Row, tie);
            }
            let claim = passage.map(|passage| passage.claim.clone()).unwrap_or_default();
            let said_at = written.said_at.unwrap_or(entry.time);
            self.claims.push(claim.stored(written.owner, said_at, written.layer));
            if let Some(passage) = passage.filter(|passage| !passage.classes.is_empty()) {
                self.classes.insert(self.authorities.len() as Row, passage.classes);
            }
            self.authorities.push(passage.map_or_else(Authority::default, |passage| passage.authority));
            self.sessions.write((written.owner, namespace), said, (said_at, &written.parents), items);
        }
        if let Event::VersionRetracted { version, .. } | Event::VersionExpired { version, .. } = &entry.event
            && let Some(row) = items.row_of(*version)
        {
            self.claims.forget(row);
            self.relations.forget(row);
        }
        self.lsn = entry.lsn;
    }

    /// Whether something in a version is redacted for whoever these classes are redacted for, or that is not known yet.
    /// Such a version is compared with nothing that they say: the comparison would tell what the redaction hides (SHARE-21).
    #[must_use]
    pub fn redacts(&self, row: Row, redacted: Classes) -> bool {
        let known = (row as usize) < self.authorities.len();
        let classes = self.classes.get(&row).copied().unwrap_or_default();
        !redacted.is_empty() && (!known || classes.meets(redacted))
    }

    /// Whether a relation may be walked: it is in scope, nothing in it is redacted for the caller, and the items that it ties
    /// are there for them too (SHARE-46).
    #[must_use]
    pub fn may_walk(&self, items: &ItemsView, scope: &Scope<'_>, row: Row) -> bool {
        let is_there = |node| {
            let item = self.relations.item(node);
            item.is_none_or(|item| items.visible_head(item, scope.predicate, scope.at).is_some())
        };
        let ends = self.relations.ends(row);
        scope.admits_row(items, row)
            && !self.redacts(row, scope.redacted)
            && ends.is_some_and(|(subject, object)| is_there(subject) && is_there(object))
    }

    /// How far a version could be relied on when it was written, given what its writer claims. Evidence that nobody has
    /// compared with the statement supports it as far as its authority goes.
    #[must_use]
    pub fn standing(&self, row: Row, confidence: f64) -> Standing {
        let authority = self.authorities.get(row as usize).copied().unwrap_or_default();
        let mean = f64::from(authority.mean);
        let authority_max = f64::from(authority.most);
        let fact = authority.fact.map_or(mean, f64::from);
        Standing { confidence, fact, authority: mean, authority_max, approved: authority.approved }
    }

    /// The bytes of a checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> Vec<u8> {
        to_checkpoint(CHECKPOINT_SHAPE, self)
    }

    /// The index of a checkpoint.
    ///
    /// # Errors
    /// When the bytes are none, or of another shape.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Self, NotACheckpoint> {
        let mut index: Self = from_checkpoint(CHECKPOINT_SHAPE, bytes)?;
        index.lexical.shrink();
        index.relations.index();
        Ok(index)
    }

    /// One hash over everything: two indexes are the same if this is.
    #[must_use]
    pub fn fingerprint(&self) -> Hash {
        sha256(&self.checkpoint())
    }
}
