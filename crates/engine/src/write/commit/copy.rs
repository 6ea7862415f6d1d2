//! What others are given of what a user keeps, and the copies that they have.

use super::{Maker, facts, items_of, no_form, replaced_heads, sign};
use crate::sharing;
use tabellion_core::claim::Claim;
use tabellion_core::error::Refusal;
use tabellion_core::gate::Likeness;
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::item::{Content, Layer, Operation, Tier, TierWish};
use tabellion_core::log::{Payload, Prints, WrittenVersion};
use tabellion_core::text::Analyser;
use tabellion_core::view::{Class, Moment, Version};

/// What becomes of the copy for others.
pub(super) enum Copied {
    /// There is none.
    Nothing,
    /// It follows when a model has said it anew.
    Later,
    /// A version, and the heads that it takes the place of.
    Now(Box<(WrittenVersion, Payload)>, Vec<(ItemId, VersionId)>),
}

impl Maker<'_> {
    /// What others are given of what is written, and the head that it takes the place of: a version of its own, made in the
    /// same commit (SHARE-19). Nothing if they have it already, or may not be given it and it was not asked for.
    pub(super) fn copy(&self, kept: &[(WrittenVersion, Payload)]) -> Result<Copied, Refusal> {
        let (Some(copy), Some((kept, _))) = (&self.asked.copy, kept.last()) else {
            return Ok(Copied::Nothing);
        };
        let (content, class) = match self.for_others(copy, kept) {
            Ok(made) => made,
            Err(refusal) if self.admitted.request().tier == TierWish::Both => return Err(refusal),
            Err(_) => return Ok(Copied::Nothing),
        };
        // The copies of what is superseded give way as well.
        let ended = items_of(self.tenant, &self.admitted.superseded(None));
        let replaced = self.copies(std::iter::once(kept.item).chain(ended));
        if !self.is_for_others(kept, &replaced) {
            return Ok(Copied::Nothing);
        }
        let unfit = self.facts.weighing.as_ref().is_some_and(|one| one.of_copy && !one.admitted);
        if copy.lacks_model || unfit {
            return Ok(Copied::Later);
        }
        let canonical = content.canonical().map_err(|_| no_form())?;
        let prints = facts::prints(self.tenant, self.call, &content, &canonical, None, Tier::Shared);
        if self.is_known(&content, &prints, &class, kept) {
            return Ok(Copied::Nothing);
        }
        // One of another layer ends with it, and is continued by none.
        let is_of_layer = |head| self.place_of(head).is_some_and(|(_, layer)| layer == kept.layer);
        let first = replaced.iter().copied().find(|(_, head)| is_of_layer(*head));
        let displaced = replaced_heads(self.tenant, self.admitted.displaced());
        let replaced: Vec<(ItemId, VersionId)> = replaced.into_iter().chain(displaced).collect();
        let version = VersionId::from_bytes(self.tenant.entropy.bytes());
        let written = WrittenVersion {
            operation: match (first, replaced.is_empty()) {
                (Some(_), _) => Operation::Update,
                (None, false) => Operation::Supersede,
                (None, true) => Operation::Insert,
            },
            item: first.map_or_else(|| ItemId::from_bytes(self.tenant.entropy.bytes()), |(item, _)| item),
            version,
            parents: replaced.iter().map(|(_, head)| *head).collect(),
            tier: Tier::Shared,
            token: self.tenant.fingerprint(&[b"copy", version.as_bytes()]),
            request: None,
            prints,
            origin: Some(kept.item),
            ..kept.clone()
        };
        let mut record = self.record(&written, &canonical, copy.chain.evidence(&self.evidence()));
        record.agent_justification = record.agent_justification.map(|text| copy.chain.text(&text));
        let payload = self.admitted.payload(&canonical, sign(self.tenant, record)?);
        Ok(Copied::Now(Box::new((written, payload)), replaced))
    }

    /// Whether others are given a copy of a write that leaves the tier open. What takes the place of something that nobody else
    /// has stays private, and what contradicts what others share is not said to them without a decision.
    fn is_for_others(&self, kept: &WrittenVersion, copies: &[(ItemId, VersionId)]) -> bool {
        if self.admitted.request().tier != TierWish::Auto {
            return true;
        }
        let is_shared = |head: &VersionId| self.place_of(*head).is_some_and(|(tier, _)| tier == Tier::Shared);
        let stays_private =
            !kept.parents.is_empty() && copies.is_empty() && !kept.parents.iter().any(is_shared);
        let is_decided = self.facts.on_conflict.is_some() || self.facts.approval.is_some();
        let against = &self.admitted.assessment().against;
        !stays_private && (is_decided || !against.iter().any(|one| one.is_of_another(self.facts)))
    }

    fn place_of(&self, version: VersionId) -> Option<(Tier, Layer)> {
        let views = self.tenant.shared.views.read();
        views.items.find_version(version).map(|version| (version.tier, version.layer))
    }

    /// Whether others know already what they would be given.
    fn is_known(&self, content: &Content, prints: &Prints, class: &Class, kept: &WrittenVersion) -> bool {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let said_at = kept.said_at.unwrap_or(self.now);
        let claim = Claim::of(content, &mut Analyser::default()).stored(kept.owner, said_at, kept.layer);
        let index = self.tenant.shared.index.read();
        let known = |twin: &Version, likeness| {
            let old = views.items.row_of(twin.id).and_then(|row| index.claims.get(row));
            let is_of_another_day = old.is_some_and(|old| old.is_record_of_another_day(&claim));
            facts::may_be_twin(&views, twin, class) && !(likeness == Likeness::Exact && is_of_another_day)
        };
        views.items.twin(prints, &self.admitted.request().namespace, kept.layer, at, known).is_some()
    }

    /// The heads of the copies that others have of these items.
    pub(super) fn copies(&self, items: impl Iterator<Item = ItemId>) -> Vec<(ItemId, VersionId)> {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let mut copies = Vec::new();
        for item in items {
            let copy = views.items.copy_of(item).filter(|copy| !copy.is_quarantined_at(at.lsn));
            let head = copy.and_then(|copy| Some((copy.id, views.items.head_at(copy, at)?.id)));
            copies.extend(head.filter(|head| !copies.contains(head)));
        }
        copies
    }

    /// What others are given, together with the twin where it is one with it, and its class.
    fn for_others(&self, copy: &sharing::Copy, kept: &WrittenVersion) -> Result<(Content, Class), Refusal> {
        let content = match self.admitted.merged() {
            None => copy.content.clone(),
            // Nobody said the two together anew: others keep what they have.
            Some(_) if copy.chain.asks().is_some_and(|asks| asks.required) => {
                return Err(sharing::not_shared());
            }
            Some(merged) => {
                let merged = serde_json::from_slice(&merged.content).map_err(|_| no_form())?;
                copy.chain.written(&merged).ok_or_else(sharing::not_shared)?
            }
        };
        let class = Class { tier: Tier::Shared, ..Class::to_be(kept, &content) };
        self.permitted(&class)?;
        Ok((content, class))
    }
}
