//! What the gates are told: gathered under the caller's predicate, so that a verdict says nothing about what is hidden.

mod evidence;
mod meaning;
mod moderated;

use evidence::cited;
pub(crate) use evidence::{OWN_WORDS, borne_out};
pub(super) use meaning::{goes_by_meaning, understand};

pub(crate) use moderated::repeats_moderated;

use super::Asked;
use crate::calibration::{self, Session};
use crate::read::{content, unless_destroyed};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, anomaly, rights};
use std::cell::RefCell;
use std::time::Duration;
use tabellion_core::access::{Deed, Predicate, tells_tiers_apart};
use tabellion_core::canonical::{Hash, sha256};
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{
    Against, Force, GateFacts, Known, Likeness, Neighbour, SEMANTIC_MIN, Strictness, Twin, Weighing,
    WriteRequest, contradictions, reliance,
};
use tabellion_core::id::VersionId;
use tabellion_core::item::{Content, Layer, RELATION, Tier};
use tabellion_core::log::{Lsn, Prints};
use tabellion_core::policy::{Classes, classes_in};
use tabellion_core::provenance::SourceType;
use tabellion_core::rank::{Standing, freshness};
use tabellion_core::schema::{Delta, delta};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Class, Index, Moment, Row, Scope, Version, Views};

/// Neighbours that a write is held against (GOV-2.8).
const NEIGHBOURS_MAX: usize = 50;
/// How long a write waits for the texts before it to be taken apart.
const INDEX_WAIT: Duration = Duration::from_secs(2);

/// Waits until everything committed so far can be compared with.
pub(crate) async fn caught_up(tenant: &Tenant, strictness: Strictness, layer: Layer) -> Result<(), Refusal> {
    if strictness.rules(layer).contradiction == Force::Off {
        return Ok(());
    }
    if is_caught_up(tenant).await {
        return Ok(());
    }
    let behind = "the words of earlier writes are still being taken apart; try again shortly";
    Err(Refusal::new(Code::Overloaded, behind).retry_after(tabellion_core::time::Period::from_secs(1)))
}

/// Whether everything committed so far can be compared with, after a short wait.
pub(crate) async fn is_caught_up(tenant: &Tenant) -> bool {
    let lsn = tenant.shared.views.read().lsn();
    tenant.shared.index.read().lsn() >= lsn || tenant.shared.index.reached(lsn, INDEX_WAIT).await
}

/// What a content is recognised by, for its owner.
pub(super) fn prints(
    tenant: &Tenant,
    call: &Call,
    content: &Content,
    canonical: &[u8],
    session: Option<Hash>,
    tier: Tier,
) -> Prints {
    let owner = call.caller.user();
    let of = |what: &[u8], hash: &Hash| match tier {
        Tier::Private => tenant.fingerprint(&[what, owner.as_bytes(), hash]),
        Tier::Shared => tenant.fingerprint(&[what, owner.as_bytes(), hash, b"shared"]),
    };
    Prints {
        content: of(b"content", &sha256(canonical)),
        triple: Claim::fingerprint(content).map(|triple| of(b"triple", &triple)),
        session,
    }
}

/// Everything the gates need to know about a write.
pub(super) struct Gathering<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) call: &'a Call,
    pub(super) asked: &'a Asked,
    pub(super) now: Timestamp,
    /// What is redacted for the writer: what they say is not compared with it.
    pub(super) redacted: Classes,
}

impl Gathering<'_> {
    /// What the gates are told, and how the write was scored if its turn has come.
    pub(super) fn facts(&self) -> Result<GateFacts, Refusal> {
        let facts = self.gathered()?;
        let weighing = self.asked.session.as_ref().and_then(|session| self.weighed(session, &facts));
        Ok(GateFacts { weighing, ..facts })
    }

    fn weighed(&self, session: &Session, facts: &GateFacts) -> Option<Weighing> {
        let (tier, content) = calibration::subject(self.asked);
        let class = facts.class(self.call.caller.agent(), &self.asked.request, tier);
        calibration::score(self.tenant, self.call, (&self.asked.request.namespace, content), session, &class)
    }

    /// What speaks against the write, as a person's yes would find it.
    pub(super) fn against(&self) -> Result<Vec<Against>, Refusal> {
        let predicate = predicate(self.tenant, &self.call.caller, &self.tenant.shared.views.read());
        let mut facts = self.founded(&predicate)?;
        facts.neighbours = self.compare(&predicate, &self.class(&facts)).neighbours;
        if let Some(counsel) = &self.asked.counsel {
            counsel.oppose(&mut facts.neighbours);
        }
        Ok(contradictions(&facts))
    }

    /// Where the write comes from, and the head that it replaces.
    fn founded(&self, predicate: &Predicate) -> Result<GateFacts, Refusal> {
        let request = &self.asked.request;
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let mut facts = super::gather(self.tenant, self.call, &views, request, predicate);
        facts.proposes = rights::proposes(&views, &self.call.caller, request.layer, at)?;
        facts.replaced = super::replaced(&views, request, predicate, at)?.cloned();
        self.still_meant(facts.replaced.as_ref())?;
        facts.replaced_in =
            facts.replaced.as_ref().map(|version| views.items.namespace_of(version).to_owned());
        super::inherit(&views, facts.replaced.clone().as_ref(), &mut facts);
        let origin = self.asked.owed.and_then(|owed| views.items.find_version(owed.version));
        super::inherit(&views, origin, &mut facts);
        // What was kept apart was scored as the work of all of a round, which may be over by now.
        let staged = self.asked.review().and_then(|review| views.trust.staged(review));
        if let Some(space) = staged.and_then(|staged| views.trust.space(staged.standing.space)) {
            facts.inherited.0.extend(&space.agents);
            facts.inherited.1.extend(&space.resources);
        }
        Ok(facts)
    }

    fn gathered(&self) -> Result<GateFacts, Refusal> {
        let request = &self.asked.request;
        let predicate = predicate(self.tenant, &self.call.caller, &self.tenant.shared.views.read());
        let rules = self.asked.strictness.rules(request.layer);
        let mut facts = self.founded(&predicate)?;
        facts.strictness = self.asked.strictness;
        facts.anomaly = anomaly::held_because(self.tenant, self.call, self.asked.strictness);
        facts.faults =
            self.tenant.schema(request).map_or_else(Vec::new, |schema| schema.check(&request.content));
        facts.approval.clone_from(&self.asked.approval);
        facts.submitted = self.asked.submitted;
        facts.on_conflict = self.asked.on_conflict();
        facts.on_conflict_policy = self.asked.on_conflict_policy;
        facts.runners = self.runners();
        facts.own_word = self.carries_own_approval(&facts);
        facts.is_copied = self.asked.copy.is_some();
        facts.moderated = repeats_moderated(self.tenant, self.call, self.asked);
        if rules.factual > Force::Off {
            facts.evidence = self.weigh(&predicate, facts.replaced.as_ref())?;
        }
        if rules.factual == Force::Stops && facts.own_word {
            self.add_own_words(&mut facts);
        }
        if let Some(counsel) = &self.asked.counsel {
            counsel.tell(request, &mut facts);
        }
        if rules.factual > Force::Off {
            self.consult(&mut facts);
        }
        let found = match (rules.contradiction, rules.dedup) {
            (Force::Off, Force::Off) => return Ok(facts),
            (Force::Off, _) => self.recognised(&predicate, &self.class(&facts)),
            _ => self.compare(&predicate, &self.class(&facts)),
        };
        facts.impossible = self.asked.claim.is_impossible();
        facts.neighbours = found.neighbours;
        if let Some(counsel) = &self.asked.counsel {
            counsel.oppose(&mut facts.neighbours);
        }
        self.mark_replaceable(&mut facts.neighbours);
        facts.retracted = found.retracted;
        facts.twins = found.twins;
        if rules.risk > Force::Off {
            facts.reputation =
                self.tenant.reputation(self.call.caller.user(), self.call.caller.agent(), self.now);
            facts.consumers = self.tenant.readers(&self.call.caller, self.now) + found.dependents;
        }
        let class = self.class(&facts);
        // What was destroyed is no twin: nothing can be compared with it or merged into it.
        let twin = found.twin.map(|twin| unless_destroyed(self.twin(twin, &class))).transpose()?;
        facts.twin = twin.flatten();
        if facts.twin.is_none() {
            let replaced = facts.replaced.as_ref().map(|version| version.id);
            facts.twin = self.paraphrased(&predicate, &self.class(&facts), replaced);
        }
        Ok(facts)
    }

    /// Refuses a write that waited for its turn and takes the place of a version that was said since, which its writer did not know
    /// (AM-3). Where a person consents, they decide on that.
    fn still_meant(&self, replaced: Option<&Version>) -> Result<(), Refusal> {
        let asked = self.asked;
        let names_none = asked.request.expected_version.is_none() && asked.owed.is_none();
        let is_newer = replaced.is_some_and(|version| asked.was_said_before(version));
        match names_none && asked.approval.is_none() && is_newer {
            true => Err(super::version_conflict()),
            false => Ok(()),
        }
    }

    /// The key of the runner of each test report.
    fn runners(&self) -> Vec<Option<Hash>> {
        let reports = &self.asked.request.test_reports;
        if reports.is_empty() {
            return Vec::new();
        }
        let views = self.tenant.shared.views.read();
        reports.iter().map(|report| views.policies.runner(&report.runner)).collect()
    }

    /// What is known with the same content or the same triple.
    fn recognised(&self, predicate: &Predicate, class: &Class) -> Compared {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let index = self.tenant.shared.index.read();
        let is_suspect = |version: &Version| {
            views.items.item_of(version).is_some_and(|item| item.is_quarantined_at(at.lsn))
        };
        let seen = |version: &Version, _| {
            predicate.admits(version) && !is_suspect(version) && may_be_twin(&views, version, class)
        };
        let twin = |alike| self.twin_among(&views, (class, alike), at, seen);
        let twin = twin(true).or_else(|| twin(false));
        let twin = twin.filter(|twin| self.may_tell(&views, &index, *twin));
        let known = |(version, likeness): (&Version, Likeness)| {
            Some((known(&views, version)?, likeness, version.lsn))
        };
        Compared { twin: twin.and_then(known), twins: self.all_twins(&views, at), ..Compared::default() }
    }

    /// What is known that says the same, or is about the same.
    fn compare(&self, predicate: &Predicate, class: &Class) -> Compared {
        let claim = &self.asked.claim;
        let request = &self.asked.request;
        let views = self.tenant.shared.views.read();
        let index = self.tenant.shared.index.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let layers = self.compared_layers();
        let redacted = self.redacted;
        let namespace = Some(request.namespace.as_str());
        let scope = Scope { predicate, at, tier: None, layers, namespace, redacted };
        // Of another layer only what concerns nobody else.
        let concerns = |version: &Version| {
            version.layer == request.layer || (version.tier == Tier::Private && self.is_of_same_user(version))
        };
        let rows = index.claims.about(claim, NEIGHBOURS_MAX, SIGMA_TOPIC, |row| {
            !index.redacts(row, redacted)
                && scope.admits_row(&views.items, row)
                && views.items.version(row).is_some_and(concerns)
        });
        let seen = |version: &Version, likeness: Likeness| {
            scope.admits(&views.items, version)
                && may_be_twin(&views, version, class)
                && !self.redacts(&views, &index, version)
                && !(likeness == Likeness::Exact && self.is_of_another_day(&views, &index, version))
        };
        let exact = |alike| self.twin_among(&views, (class, alike), at, seen);
        let semantic = |alike: bool| {
            rows.iter()
                .take_while(|(_, similarity)| *similarity >= SEMANTIC_MIN)
                .filter(|(row, _)| index.claims.get(*row).is_some_and(|known| known.says_the_same(claim)))
                .filter_map(|(row, _)| views.items.version(*row))
                .filter(|version| version.layer == request.layer && self.is_own(version))
                .find(|version| {
                    may_be_twin(&views, version, class) && (!alike || is_alike(&views, version, class))
                })
                .map(|version| (version, Likeness::Semantic))
        };
        let by_words = self.asked.strictness.rules(request.layer).contradiction == Force::Stops;
        let twin = |alike| exact(alike).or_else(|| if by_words { semantic(alike) } else { None });
        // First among those of the write's class, which it may become one with.
        let twin = twin(true).or_else(|| twin(false));
        Compared {
            twins: self.all_twins(&views, at),
            retracted: views.items.was_retracted(&self.asked.prints.content) && !self.says_redacted(),
            dependents: self.dependents(&views, predicate),
            neighbours: rows
                .iter()
                .filter_map(|(row, similarity)| {
                    let version = views.items.version(*row)?;
                    let known = self.neighbour(&views, &index, (*row, version), *similarity)?;
                    Some(Neighbour {
                        own: self.is_of_same_user(version),
                        private: version.tier == Tier::Private,
                        of_another: version.tier == Tier::Shared && version.owner != self.call.caller.user(),
                        dominated: self.dominates(&views, version, class),
                        ..known
                    })
                })
                .collect(),
            twin: twin.and_then(|(version, likeness)| Some((known(&views, version)?, likeness, version.lsn))),
        }
    }

    /// What is known about the same topic, held against the write.
    fn neighbour(
        &self,
        views: &Views,
        index: &Index,
        (row, version): (Row, &Version),
        similarity: f64,
    ) -> Option<Neighbour> {
        let claim = &self.asked.claim;
        let standing = standing(views, index, version, self.now)?;
        let unapproved = Standing { approved: false, ..standing }.adjusted_confidence();
        let old = index.claims.get(row)?;
        let contradiction = contradiction(old, claim, SIGMA_TOPIC);
        let was_said_first = self.asked.was_said_before(version);
        let newer = claim.is_older_than(old, was_said_first);
        Some(Neighbour {
            known: known(views, version)?,
            similarity,
            says_more: contradiction.is_some() && old.says_more_than(claim),
            contradiction,
            newer,
            said_since: newer && was_said_first,
            reliance: reliance(unapproved),
            approved: standing.approved,
            own: false,
            private: false,
            of_another: false,
            replaceable: false,
            dominated: false,
        })
    }

    /// Whether a version with the very same words is a record of another day, which the write does not repeat (AM-2).
    fn is_of_another_day(&self, views: &Views, index: &Index, version: &Version) -> bool {
        let known = views.items.row_of(version.id).and_then(|row| index.claims.get(row));
        known.is_some_and(|known| known.is_record_of_another_day(&self.asked.claim))
    }

    /// Every active version with the same content or triple, whoever may see it.
    fn all_twins(&self, views: &Views, at: Moment) -> Vec<VersionId> {
        let (request, twins) = (&self.asked.request, RefCell::new(Vec::new()));
        let note = |twin: &Version, _| {
            twins.borrow_mut().push(twin.id);
            false
        };
        // None is found: each was only to be noted.
        let none = views.items.twin(&self.asked.prints, &request.namespace, request.layer, at, note);
        debug_assert!(none.is_none());
        twins.into_inner()
    }

    /// The newest version with the same content or triple among those that are seen, or `alike` among those of the write's class.
    fn twin_among<'v>(
        &self,
        views: &'v Views,
        (class, alike): (&Class, bool),
        at: Moment,
        seen: impl Fn(&Version, Likeness) -> bool,
    ) -> Option<(&'v Version, Likeness)> {
        let request = &self.asked.request;
        let wanted = |version: &Version, likeness| {
            (!alike || is_alike(views, version, class)) && seen(version, likeness)
        };
        views.items.twin(&self.asked.prints, &request.namespace, request.layer, at, wanted)
    }

    /// The layers whose statements speak against the write: its own, and for a lasting fact what its user keeps of episodes.
    fn compared_layers(&self) -> &[Layer] {
        let is_strict = self.asked.strictness == Strictness::Strict;
        match &self.asked.request.layer {
            Layer::Semantic if !is_strict => &[Layer::Episodic, Layer::Semantic],
            layer => std::slice::from_ref(layer),
        }
    }

    /// Whether the writer may be told of a twin: not if that confirms what is redacted for them (SHARE-21).
    fn may_tell(&self, views: &Views, index: &Index, (version, likeness): (&Version, Likeness)) -> bool {
        match likeness {
            // Who says the very same says what is redacted in it.
            Likeness::Exact => !self.says_redacted(),
            Likeness::Structural | Likeness::Semantic => !self.redacts(views, index, version),
        }
    }

    /// Whether something in a version is redacted for the writer.
    fn redacts(&self, views: &Views, index: &Index, version: &Version) -> bool {
        views.items.row_of(version.id).is_some_and(|row| index.redacts(row, self.redacted))
    }

    /// Whether the write itself says something that would be redacted for the writer.
    fn says_redacted(&self) -> bool {
        !self.redacted.is_empty() && classes_in(&self.asked.request.content).meets(self.redacted)
    }

    /// The class that the write is of.
    fn class(&self, facts: &GateFacts) -> Class {
        facts.class(self.call.caller.agent(), &self.asked.request, self.asked.tier)
    }

    /// Whether a version is of the same user.
    fn is_of_same_user(&self, version: &Version) -> bool {
        version.owner == self.call.caller.user()
    }

    /// Whether a version is of the same user and tier.
    fn is_own(&self, version: &Version) -> bool {
        self.is_of_same_user(version) && version.tier == self.asked.tier
    }

    /// Marks the contradicted versions that the write may replace.
    fn mark_replaceable(&self, neighbours: &mut [Neighbour]) {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        for neighbour in neighbours.iter_mut().filter(|one| one.contradiction.is_some()) {
            let version = views.items.find_version(neighbour.known.version);
            neighbour.replaceable = version.is_some_and(|version| self.may_replace(&views, version, at));
        }
    }

    /// Whether the write may replace this version without a person: it is the writer's own, the agent may write to its class,
    /// and what takes its place is kept no less secret.
    fn may_replace(&self, views: &Views, version: &Version, at: Moment) -> bool {
        let Some(class) = views.items.class_of(version).filter(|_| self.is_of_same_user(version)) else {
            return false;
        };
        let secrecy = &self.asked.request.content.secrecy;
        let as_secret = secrecy.classification >= class.secrecy.classification
            && class.secrecy.domains.is_subset(&secrecy.domains);
        // How secret a person's own statement is, is theirs to say.
        let as_secret = as_secret || self.tenant.is_person(&self.call.caller);
        as_secret && rights::may_write(views, &self.call.caller, class, at).is_ok()
    }

    /// Whether whoever will see the write sees this version (SHARE-39). Where Cedar has a say in reading, nothing short of the
    /// same class tells.
    fn dominates(&self, views: &Views, version: &Version, class: &Class) -> bool {
        let reaches = version.tier == Tier::Shared || self.is_own(version);
        let Some(known) = views.items.class_of(version).filter(|_| reaches) else { return false };
        if views.cedar.rules().concern(Deed::Read) {
            return known == class;
        }
        let alike = known.tier == class.tier || !tells_tiers_apart(known.layer);
        alike
            && known.agents.iter().all(|one| class.agents.contains(one))
            && known.resources.iter().all(|one| class.resources.contains(one))
    }

    fn dependents(&self, views: &Views, predicate: &Predicate) -> u64 {
        let replaced = self.asked.request.replaces.and_then(|replaces| match replaces {
            tabellion_core::gate::Replaces::Item(item) | tabellion_core::gate::Replaces::Superseded(item) => {
                views.items.find_item(item)
            }
            tabellion_core::gate::Replaces::SupersededVersion(version) => {
                views.items.find_version(version).and_then(|version| views.items.item_of(version))
            }
        });
        // What others made of it in private is none of the writer's business (SHARE-43).
        let seen = |dependent: &&Version| predicate.admits(dependent);
        let count = |version: &Version| views.items.dependents_of(version.id).filter(seen).count();
        replaced.map_or(0, |item| views.items.versions_of(item).map(count).sum::<usize>()) as u64
    }

    /// What the write adds to its twin; the twin's text is read only now.
    fn twin(&self, (known, likeness, lsn): (Known, Likeness, Lsn), class: &Class) -> Result<Twin, Refusal> {
        let delta = match likeness {
            Likeness::Exact => Delta::Empty,
            Likeness::Structural | Likeness::Semantic => {
                let (existing, _) = content(self.tenant, lsn)?;
                let schema = self.tenant.schema(&self.asked.request);
                let merge = schema.map(|schema| schema.schema().merge.clone()).unwrap_or_default();
                delta(&existing, &self.asked.request.content, &merge)
            }
        };
        let (replaceable, same_class) = {
            let views = self.tenant.shared.views.read();
            let at = Moment { lsn: views.lsn(), time: self.now };
            let version = views.items.find_version(known.version);
            (
                version.is_some_and(|version| {
                    self.may_replace(&views, version, at) && !self.asked.was_said_before(version)
                }),
                version.is_some_and(|version| is_alike(&views, version, class)),
            )
        };
        Ok(Twin { known, likeness, delta, replaceable, same_class })
    }
}

/// Whether a version that says the same may stand for a write of this class. In the shared pool only one that is seen by whoever
/// would see the write does: else others would learn from its absence what is hidden from them (SHARE-42).
pub(super) fn may_be_twin(views: &Views, version: &Version, class: &Class) -> bool {
    let known = views.items.class_of(version);
    // A relation and a note may say the same: one is walked, the other is read.
    let alike = known.is_some_and(|known| (known.kind == RELATION) == (class.kind == RELATION));
    alike && (version.tier == Tier::Private || known == Some(class))
}

/// Whether a version carries the same agents, resources and labels as a class, so that whoever sees one sees the other (AM-16).
fn is_alike(views: &Views, version: &Version, class: &Class) -> bool {
    let carries = |known: &Class| {
        known.agents == class.agents
            && known.resources == class.resources
            && known.labels == class.labels
            && known.secrecy == class.secrecy
    };
    views.items.class_of(version).is_some_and(carries)
}

/// What was found when a write was compared with what is known.
#[derive(Default)]
struct Compared {
    /// All that is recognised as the same, whether it counts for the writer or not.
    twins: Vec<VersionId>,
    neighbours: Vec<Neighbour>,
    twin: Option<(Known, Likeness, Lsn)>,
    retracted: bool,
    dependents: u64,
}

fn known(views: &Views, version: &Version) -> Option<Known> {
    Some(Known { item: views.items.item_of(version)?.id, version: version.id })
}

/// How far a version can be relied on today: its evidence has aged since it was written.
pub(crate) fn standing(views: &Views, index: &Index, version: &Version, now: Timestamp) -> Option<Standing> {
    let row = views.items.row_of(version.id)?;
    let written = index.standing(row, version.confidence);
    let aged = freshness(version.layer, now.since(version.time));
    Some(Standing { fact: written.fact * aged, ..written })
}

/// The versions that a write's evidence cites and that it says it derives from.
pub(super) fn sources(
    views: &Views,
    request: &WriteRequest,
    facts: &GateFacts,
    predicate: &Predicate,
    at: Moment,
) -> Vec<VersionId> {
    let cites =
        request.evidence.iter().filter(|one| one.source_type == SourceType::MemoryItem).filter_map(|one| {
            let id = one.source_item_id.as_deref().unwrap_or(&one.source_uri);
            cited(views, id, predicate, at).map(|version| version.id)
        });
    let derived = facts.derived_from.iter().filter_map(|found| found.as_ref().ok().copied());
    let ends = facts.ends.iter().filter_map(|found| found.ok());
    let mut all: Vec<VersionId> = derived.chain(ends).chain(cites).collect();
    all.sort_unstable();
    all.dedup();
    all
}
