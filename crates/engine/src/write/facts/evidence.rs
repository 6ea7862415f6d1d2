//! What the cited sources are worth: how far each bears the statement out, how much it counts, whether it runs in a circle.

use super::super::knowledge;
use super::{Gathering, standing};
use crate::read::content;
use std::collections::HashSet;
use tabellion_core::access::Predicate;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::error::Refusal;
use tabellion_core::gate::{
    GateFacts, SEMANTIC_MIN, SUPPORT_UNSEEN, Strictness, Weighed, fact_score, support,
};
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::item::Content;
use tabellion_core::provenance::{Evidence, SourceType};
use tabellion_core::rank::freshness;
use tabellion_core::text::{Analyser, words};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Index, Moment, Version, Views};

/// Versions that a search for circles in the evidence visits at most.
const ANCESTORS_MAX: usize = 10_000;
/// The beginning of the address of a person's own words as evidence.
pub(crate) const OWN_WORDS: &str = "user:";

impl Gathering<'_> {
    /// Adds what a knowledge base says, as a source.
    pub(super) fn consult(&self, facts: &mut GateFacts) {
        let asked = knowledge::ask(self.tenant, &self.asked.request, self.now);
        if let Some((word, weighed)) = asked.filter(|(word, one)| word.denies || helps(&facts.evidence, one))
        {
            facts.evidence.push(weighed);
            facts.knowledge = Some(word);
        }
    }

    /// Whether the write carries its author's own approval: a person's, where no policy asks for somebody else's (AM-4).
    pub(super) fn carries_own_approval(&self, facts: &GateFacts) -> bool {
        let one_is_enough = self.tenant.shared.views.read().policies.approvals() == 1;
        let lenient = facts.strictness < Strictness::Strict && one_is_enough && !facts.proposes;
        lenient && self.tenant.is_person(&self.call.caller)
    }

    /// Adds a person's own words as evidence, unless they cite what a person said.
    pub(super) fn add_own_words(&self, facts: &mut GateFacts) {
        let said = |one: &Evidence| one.source_type == SourceType::HumanInput;
        if self.asked.request.evidence.iter().any(said) {
            return;
        }
        let authority = SourceType::HumanInput.authority_max();
        facts.evidence.push(Weighed {
            authority,
            support: 1.0,
            freshness: 1.0,
            own: false,
            circular: false,
            missing: false,
        });
        facts.own_evidence = Some(Evidence {
            source_type: SourceType::HumanInput,
            source_uri: format!("{OWN_WORDS}{}", self.call.caller.user()),
            source_version: None,
            accessed_at: self.now.to_string(),
            authority,
            excerpt: None,
            excerpt_hash: None,
            source_item_id: None,
        });
    }

    pub(super) fn weigh(
        &self,
        predicate: &Predicate,
        replaced: Option<&Version>,
    ) -> Result<Vec<Weighed>, Refusal> {
        let request = &self.asked.request;
        if request.evidence.is_empty() {
            return Ok(Vec::new());
        }
        let claim = &Claim::of(&request.content, &mut Analyser::default());
        let statement = words(&request.content.text);
        request
            .evidence
            .iter()
            .map(|one| self.weigh_one(one, predicate, claim, &statement, replaced))
            .collect()
    }

    fn weigh_one(
        &self,
        evidence: &Evidence,
        predicate: &Predicate,
        claim: &Claim,
        statement: &[String],
        replaced: Option<&Version>,
    ) -> Result<Weighed, Refusal> {
        let age = evidence.accessed_at.parse().map_or(self.now, |read: Timestamp| read);
        let fresh = freshness(self.asked.request.layer, self.now.since(age));
        let plain = Weighed {
            authority: evidence.authority.min(evidence.source_type.authority_max()),
            support: 0.0,
            freshness: fresh,
            own: false,
            circular: false,
            missing: false,
        };
        if evidence.source_type == SourceType::MemoryItem {
            return self.weigh_item(evidence, predicate, claim, statement, replaced, plain);
        }
        let official = evidence.source_type == SourceType::Document && self.is_official(&evidence.source_uri);
        let authority = if official {
            evidence.authority.min(evidence.source_type.authority_official())
        } else {
            plain.authority
        };
        let direct = self.tenant.is_person(&self.call.caller);
        let support = match &evidence.excerpt {
            Some(excerpt) => borne_out(claim, statement, excerpt),
            None if direct && evidence.source_type == SourceType::HumanInput => 1.0,
            None => SUPPORT_UNSEEN,
        };
        Ok(Weighed { authority, support, ..plain })
    }

    fn is_official(&self, uri: &str) -> bool {
        let set = &self.tenant.governance.official_sources;
        set.iter().any(|prefix| uri.starts_with(prefix.as_str()))
            || self.tenant.shared.views.read().policies.is_official(uri)
    }

    /// An item as evidence counts as far as it can itself be relied on, and not at all if it rests on the statement.
    fn weigh_item(
        &self,
        evidence: &Evidence,
        predicate: &Predicate,
        claim: &Claim,
        statement: &[String],
        replaced: Option<&Version>,
        plain: Weighed,
    ) -> Result<Weighed, Refusal> {
        let id = evidence.source_item_id.as_deref().unwrap_or(&evidence.source_uri);
        let cited = {
            let views = self.tenant.shared.views.read();
            let index = self.tenant.shared.index.read();
            let at = Moment { lsn: views.lsn(), time: self.now };
            cited(&views, id, predicate, at).map(|version| {
                let standing = standing(&views, &index, version, self.now);
                let circular = self.is_circular(&views, &index, version, claim, replaced);
                (version.lsn, version.agent, standing.map_or(0.0, |one| one.adjusted_confidence()), circular)
            })
        };
        let Some((lsn, agent, confidence, circular)) = cited else {
            return Ok(Weighed { authority: 0.0, missing: true, ..plain });
        };
        let support = match &evidence.excerpt {
            Some(excerpt) => borne_out(claim, statement, excerpt),
            None => borne_out(claim, statement, &self.redacted.redact(&content(self.tenant, lsn)?.0.text)),
        };
        Ok(Weighed {
            authority: plain.authority.min(confidence),
            support,
            own: agent == Some(self.call.caller.agent()),
            circular,
            ..plain
        })
    }

    /// Whether what a version rests on says, somewhere, what the write says (GOV-11.5, D17).
    fn is_circular(
        &self,
        views: &Views,
        index: &Index,
        from: &Version,
        claim: &Claim,
        replaced: Option<&Version>,
    ) -> bool {
        let target = replaced.and_then(|version| views.items.item_of(version)).map(|item| item.id);
        let prints = &self.asked.prints;
        let is_it = |version: &Version| {
            let same_item = views.items.item_of(version).is_some_and(|item| Some(item.id) == target);
            let same_print = version.prints.content == prints.content
                || (prints.triple.is_some() && version.prints.triple == prints.triple);
            let row = views.items.row_of(version.id);
            let alike = || {
                row.and_then(|row| index.claims.get(row))
                    .is_some_and(|known| known.similarity(claim) > SEMANTIC_MIN)
            };
            same_item || (!self.redacts(views, index, version) && (same_print || alike()))
        };
        let mut seen: HashSet<VersionId> = HashSet::new();
        let mut open: Vec<&Version> = views.items.sources_of(from).collect();
        // A source may be cited for what it says itself; only what lies behind it closes a circle.
        let own_item = views.items.item_of(from).is_some_and(|item| Some(item.id) == target);
        if own_item {
            return true;
        }
        while let Some(version) = open.pop() {
            if !seen.insert(version.id) || seen.len() > ANCESTORS_MAX {
                continue;
            }
            if is_it(version) {
                return true;
            }
            open.extend(views.items.sources_of(version));
        }
        false
    }
}

/// Whether one more source raises what all bear out together.
fn helps(evidence: &[Weighed], one: &Weighed) -> bool {
    fact_score(std::slice::from_ref(one)) >= fact_score(evidence)
}

/// The head of the item that an evidence cites.
pub(super) fn cited<'a>(
    views: &'a Views,
    id: &str,
    predicate: &Predicate,
    at: Moment,
) -> Option<&'a Version> {
    if let Ok(item) = id.parse::<ItemId>() {
        return views.items.visible_head(item, predicate, at).map(|(_, head)| head);
    }
    let version = views.items.find_version(id.parse().ok()?)?;
    predicate.admits(version).then_some(version)
}

/// How far an excerpt bears a statement out: not at all if it says the opposite.
pub(crate) fn borne_out(claim: &Claim, statement: &[String], excerpt: &str) -> f64 {
    let content = Content::plain("note", excerpt);
    let quoted = Claim::of(&content, &mut Analyser::default());
    if contradiction(&quoted, claim, SIGMA_TOPIC).is_some() {
        return 0.0;
    }
    support(statement, &words(excerpt))
}
