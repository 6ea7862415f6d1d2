//! A second look at one version: its evidence as it was and is, what it rests on, and what was said since.
//!
//! Invariant (a flag tells nothing new): later items are compared with only if whoever sees the version sees them too.

use super::is_gone;
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::{borne_out, denies, standing};
use std::collections::HashSet;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::error::Refusal;
use tabellion_core::gate::{
    GateFacts, Known, Neighbour, Reweighed, SUPPORT_UNSEEN, Weighed, recheck, reliance,
};
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::item::{Content, Layer, Status, Tier};
use tabellion_core::log::{Lsn, Recheck};
use tabellion_core::provenance::{Evidence, SourceType};
use tabellion_core::rank::{Standing, freshness};
use tabellion_core::text::{Analyser, words};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Index, Moment, Row, Version, Views};

/// Later items that a version is held against.
const NEIGHBOURS_MAX: usize = 50;
/// Versions behind a version that are looked at for what was taken back.
const ANCESTORS_MAX: usize = 1_000;

/// What is found of a version now; nothing if its content is gone or there is nothing to go by.
pub(super) fn examine(
    tenant: &Tenant,
    version: &Version,
    now: Timestamp,
) -> Result<Option<Recheck>, Refusal> {
    let (content, record) = match content(tenant, version.lsn) {
        Ok(found) => found,
        Err(refusal) if is_gone(&refusal) => return Ok(None),
        Err(refusal) => return Err(refusal),
    };
    let look = Look {
        tenant,
        version,
        claim: Claim::of(&content, &mut Analyser::default()).stored(
            version.owner,
            version.said_at(),
            version.layer,
        ),
        statement: words(&content.text),
        content: &content,
        now,
    };
    let weighed: Vec<(Weighed, Weighed)> = record.evidence_refs.iter().map(|one| look.weigh(one)).collect();
    let (then, today) = weighed.into_iter().unzip();
    Ok(recheck(&Reweighed {
        layer: version.layer,
        recorded: record.fact_score,
        then,
        now: today,
        withdrawn: look.is_withdrawn(),
        denied: denies(tenant, &content),
        later: look.later(),
    }))
}

struct Look<'a> {
    tenant: &'a Tenant,
    version: &'a Version,
    content: &'a Content,
    claim: Claim,
    statement: Vec<String>,
    now: Timestamp,
}

impl Look<'_> {
    /// One source as it was when the version was written, and as it is now.
    fn weigh(&self, evidence: &Evidence) -> (Weighed, Weighed) {
        let read = evidence.accessed_at.parse().unwrap_or(self.version.time);
        let plain = |at: Timestamp| Weighed {
            authority: evidence.authority,
            support: evidence.excerpt.as_deref().map_or(SUPPORT_UNSEEN, |text| self.support(text)),
            freshness: freshness(self.version.layer, at.since(read)),
            own: false,
            circular: false,
            missing: false,
        };
        let (then, today) = (plain(self.version.time), plain(self.now));
        if evidence.source_type != SourceType::MemoryItem {
            return (then, today);
        }
        let Some((was, is)) = self.cited(evidence) else { return (then, today) };
        let support_then = match &evidence.excerpt {
            Some(_) => then.support,
            None => self.support_of(was.lsn),
        };
        let support_now = if was.lsn == is.lsn { support_then } else { self.support_of(is.lsn) };
        let capped = |weighed: Weighed, support: f64, source: Source| Weighed {
            authority: weighed.authority.min(source.confidence),
            support,
            ..weighed
        };
        (capped(then, support_then, was), capped(today, support_now, is))
    }

    fn support(&self, text: &str) -> f64 {
        borne_out(&self.claim, &self.statement, text)
    }

    fn support_of(&self, lsn: Lsn) -> f64 {
        content(self.tenant, lsn).map_or(SUPPORT_UNSEEN, |(cited, _)| self.support(&cited.text))
    }

    /// What an evidence from memory cited when the version was written, and what stands there now.
    fn cited(&self, evidence: &Evidence) -> Option<(Source, Source)> {
        let views = self.tenant.shared.views.read();
        let index = self.tenant.shared.index.read();
        let id = evidence.source_item_id.as_deref().unwrap_or(&evidence.source_uri);
        let (was, is) = if let Ok(item) = id.parse::<ItemId>() {
            let item = views.items.find_item(item)?;
            let before = Moment { lsn: self.version.lsn, time: self.version.time };
            let was = views
                .items
                .versions_of(item)
                .rev()
                .find(|version| views.items.is_active_at(version, before))?;
            let at = Moment { lsn: views.lsn(), time: self.now };
            (was, views.items.head_at(item, at).unwrap_or(was))
        } else {
            let was = views.items.find_version(id.parse().ok()?)?;
            (was, was)
        };
        let source = |version: &Version, at: Timestamp| {
            let confidence =
                standing(&views, &index, version, at).map_or(0.0, |one| one.adjusted_confidence());
            Source { lsn: version.lsn, confidence }
        };
        Some((source(was, self.version.time), source(is, self.version.time.max(is.time))))
    }

    /// Whether anything it rests on, over however many steps, was retracted or is in quarantine.
    fn is_withdrawn(&self) -> bool {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        rests_on(&views, self.version, |source| {
            let item = views.items.item_of(source);
            views.items.status_at(source, at) == Some(Status::Retracted)
                || item.is_some_and(|item| item.is_quarantined_at(at.lsn))
        })
    }

    /// What was committed later on the same topic, speaks against it and is at least as well founded.
    fn later(&self) -> GateFacts {
        if is_utterance(self.version.layer, self.content) {
            return GateFacts::default();
        }
        let mut opposed = self.opposed();
        opposed.retain(|(_, lsn)| {
            content(self.tenant, *lsn).is_ok_and(|(said, _)| !is_utterance(self.version.layer, &said))
        });
        let neighbours = opposed.into_iter().map(|(neighbour, _)| neighbour).collect();
        GateFacts { neighbours, ..GateFacts::default() }
    }

    fn opposed(&self) -> Vec<(Neighbour, Lsn)> {
        let views = self.tenant.shared.views.read();
        let index = self.tenant.shared.index.read();
        let Some(row) = views.items.row_of(self.version.id) else { return Vec::new() };
        let own = self.reliance(&views, &index, self.version);
        let said = (self.version.said_at(), row);
        let admits = |other: Row| {
            let version = views.items.version(other).filter(|version| (version.said_at(), other) > said);
            version.is_some_and(|version| self.is_beside(&views, version))
        };
        let rows = index.claims.about(&self.claim, NEIGHBOURS_MAX, SIGMA_TOPIC, admits);
        let neighbour = |(other, similarity): (Row, f64)| {
            let found = contradiction(&self.claim, index.claims.get(other)?, SIGMA_TOPIC)?;
            let version = views.items.version(other)?;
            let reliance = self.reliance(&views, &index, version);
            let known = Known { item: views.items.item_of(version)?.id, version: version.id };
            let neighbour = Neighbour {
                known,
                similarity,
                contradiction: Some(found),
                reliance,
                approved: version.review.is_some(),
                own: true,
                private: version.tier == Tier::Private,
                of_another: false,
                replaceable: false,
                newer: false,
                said_since: false,
                says_more: false,
                dominated: true,
            };
            (reliance >= own).then_some((neighbour, version.lsn))
        };
        rows.into_iter().filter_map(neighbour).collect()
    }

    /// Whether another version stands in the same place, and whoever sees this one sees that one.
    fn is_beside(&self, views: &Views, other: &Version) -> bool {
        let (own, at) = (self.version, Moment { lsn: views.lsn(), time: self.now });
        let (Some(mine), Some(theirs)) = (views.items.class_of(own), views.items.class_of(other)) else {
            return false;
        };
        let quarantined = views.items.item_of(other).is_none_or(|item| item.is_quarantined_at(at.lsn));
        (other.owner, other.tier, other.layer) == (own.owner, own.tier, own.layer)
            && views.items.namespace_of(other) == views.items.namespace_of(own)
            && views.items.is_active_at(other, at)
            && !quarantined
            && theirs.agents.iter().all(|agent| mine.agents.contains(agent))
            && theirs.resources.iter().all(|resource| mine.resources.contains(resource))
    }

    fn reliance(&self, views: &Views, index: &Index, version: &Version) -> f64 {
        let found = standing(views, index, version, self.now);
        found.map_or(0.0, |one| reliance(Standing { approved: false, ..one }.adjusted_confidence()))
    }
}

/// Whether a version rests on any that is so, over however many steps.
pub(crate) fn rests_on(views: &Views, version: &Version, is_so: impl Fn(&Version) -> bool) -> bool {
    let mut seen: HashSet<VersionId> = HashSet::new();
    let mut open: Vec<&Version> = views.items.sources_of(version).collect();
    while let Some(source) = open.pop() {
        if seen.len() >= ANCESTORS_MAX || !seen.insert(source.id) {
            continue;
        }
        if is_so(source) {
            return true;
        }
        open.extend(views.items.sources_of(source));
    }
    false
}

/// Whether a version rests on private items.
pub(super) fn rests_on_private(views: &Views, version: &Version) -> bool {
    rests_on(views, version, |source| source.tier == Tier::Private)
}

/// A cited version: where it is, and how far it can be relied on.
#[derive(Clone, Copy)]
struct Source {
    lsn: Lsn,
    confidence: f64,
}

/// Whether this is something said in a conversation: it stays true that it was said.
fn is_utterance(layer: Layer, content: &Content) -> bool {
    layer == Layer::Episodic && content.fields.contains_key("speaker")
}
