//! From an admitted write to entries: versions, their provenance, and what must still hold when they are committed.

mod copy;

use copy::Copied;

use super::{Asked, Landed, Replay, facts, in_time, still_head, trace};
use crate::owed::Owed;
use crate::read::content;
use crate::reply::{Deferral, WriteStatus};
use crate::sequencer::{Draft, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::trace::Seen;
use crate::visibility::predicate;
use crate::{Call, review, rights, scribing};
use tabellion_core::access::{Caller, visible_to};
use tabellion_core::canonical::{Hash, hex, sha256};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Admitted, Against, Force, GateFacts, Merged};
use tabellion_core::id::{ItemId, ProvenanceId, ReviewId, VersionId};
use tabellion_core::item::{Content, Layer, Operation, Tier};
use tabellion_core::log::{Calibration, Event, Payload, Prints, Shaped, Weighed, WrittenVersion};
use tabellion_core::provenance::{ApprovalState, Evidence, EvidenceQuality, PROVENANCE_KEY, Provenance};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Class, Moment, Version, Views};

/// A write that needs nothing but its place in the log.
pub(crate) struct Commit {
    versions: Vec<(WrittenVersion, Payload)>,
    status: WriteStatus,
    against: Vec<Against>,
    /// The statements whose place it takes.
    superseded: Vec<VersionId>,
    /// The head that the write itself names.
    named: Option<VersionId>,
    must: Must,
    trace: Option<Hash>,
    layer: Layer,
    /// Whether others are owed a copy, which follows.
    owes: bool,
    rests_on_private: bool,
    shaped: Shaped,
    /// How what others see of it was scored, where somebody audits it.
    calibration: Option<Calibration>,
}

/// What must hold at the moment of the commit.
#[derive(Clone)]
pub(crate) struct Must {
    replay: Replay,
    deadline: Option<Timestamp>,
    /// Heads that it was prepared against.
    heads: Vec<(ItemId, VersionId)>,
    /// What it is recognised by, where no twin may have come in between; and the twins that are known of.
    twins: Option<(Prints, String, Layer, Vec<VersionId>)>,
    /// Where it comes from.
    class: Class,
    /// Who writes: a twin that is hidden from them is none (SHARE-42).
    author: Caller,
}

impl Must {
    pub(crate) fn hold(&self, views: &Views, now: Timestamp) -> Result<(), Objection> {
        self.replay.known(views, now)?;
        in_time(self.deadline, now)?;
        for (item, head) in &self.heads {
            still_head(views, *item, *head, now)?;
        }
        let Some((prints, namespace, layer, expected)) = &self.twins else { return Ok(()) };
        let at = Moment { lsn: views.lsn(), time: now };
        // Most writes have no twin at all, and who sees what is worked out only for one that has.
        let predicate = std::cell::OnceCell::new();
        let seen = |twin: &Version, _| {
            let known = expected.contains(&twin.id) || !facts::may_be_twin(views, twin, &self.class);
            !known && predicate.get_or_init(|| visible_to(&self.author, views, at)).admits(twin)
        };
        match views.items.twin(prints, namespace, *layer, at, seen) {
            Some(_) => Err(Objection::Stale),
            None => Ok(()),
        }
    }
}

/// The entries of an admitted write.
pub(super) fn commit(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    admitted: &Admitted,
    facts: &GateFacts,
    now: Timestamp,
) -> Result<Commit, Refusal> {
    if asked.lacks_model || !asked.wishes.is_empty() {
        return Err(scribing::silent());
    }
    let named = facts.replaced.as_ref().map(|version| version.id);
    let mut replaced = replaced_heads(tenant, admitted.parents());
    let own = own_head(tenant, call, &replaced, (named, admitted));
    // What it continues comes first: a rollback goes back to that.
    replaced.sort_by_key(|head| Some(head.0) != own);
    let item = match (admitted.merged(), own) {
        (Some(merged), _) => merged.into.item,
        (None, Some(item)) => item,
        // What waited has had its id since then.
        (None, None) => match asked.review() {
            Some(review) => ItemId::from_bytes(*review.as_bytes()),
            None => ItemId::from_bytes(tenant.entropy.bytes()),
        },
    };
    let parents = replaced.iter().map(|(_, version)| *version).collect();
    let maker = Maker { tenant, call, asked, admitted, facts, now, item, parents };
    let mut heads = replaced;
    let (mut versions, status) = match admitted.merged() {
        None => (vec![maker.version()?], WriteStatus::Committed),
        Some(merged) => {
            heads.push((merged.into.item, merged.into.version));
            (maker.merge(merged)?, WriteStatus::Merged)
        }
    };
    // First, so that what the writer keeps is the last of it.
    let copied = maker.copy(&versions)?;
    let owes = matches!(copied, Copied::Later);
    match copied {
        // Others are not left with what its user replaced, unless a copy of that very item follows.
        Copied::Nothing | Copied::Later => {
            let ended = items_of(tenant, &admitted.superseded(named)).into_iter();
            let copies = maker.copies(ended.filter(|ended| !owes || *ended != item));
            if let Some((kept, _)) = versions.last_mut() {
                kept.parents.extend(copies.iter().map(|(_, head)| *head));
            }
            heads.extend(copies);
        }
        Copied::Now(copy, replaced) => {
            heads.extend(replaced);
            versions.insert(0, *copy);
        }
    }
    heads.extend(asked.owed.map(|owed| (owed.item, owed.version)));
    let calibration = calibration(facts, &versions);
    let mut expected: Vec<VersionId> = heads.iter().map(|(_, version)| *version).collect();
    expected.extend(facts.twin.as_ref().map(|twin| twin.known.version));
    let request = admitted.request();
    expected.extend(&facts.twins);
    let twins = (asked.strictness.rules(request.layer).dedup == Force::Stops)
        .then(|| (asked.prints, request.namespace.clone(), request.layer, expected));
    let mut superseded = admitted.superseded(named);
    let displaced = admitted.displaced().iter().filter(|one| heads.iter().any(|(_, head)| head == *one));
    superseded.extend(displaced);
    Ok(Commit {
        versions,
        status,
        superseded,
        named,
        against: admitted.assessment().against.clone(),
        must: Must {
            replay: asked.replay(),
            deadline: request.deadline.filter(|_| asked.approval.is_none()),
            heads,
            twins,
            class: facts.class(call.caller.agent(), request, admitted.tier()),
            author: call.caller.clone(),
        },
        trace: trace(tenant, call, request.trace_id.as_deref()),
        layer: request.layer,
        owes,
        rests_on_private: asked.rests_on_private,
        shaped: asked.shaped.clone(),
        calibration,
    })
}

/// What is logged of the score of what others see: the shared version, or the only one.
fn calibration(facts: &GateFacts, versions: &[(WrittenVersion, Payload)]) -> Option<Calibration> {
    let weighing = facts.weighing.as_ref()?;
    // Of a write and what it becomes together with its twin, the one that holds from now on.
    let shared = versions.iter().rev().find(|(written, _)| written.tier == weighing.calibration.space.tier);
    let (written, _) = shared.filter(|_| weighing.admitted)?;
    Some(Calibration { weighed: Weighed::Version(written.version), ..weighing.calibration.clone() })
}

/// The item that the write becomes a version of: what it names, else a pinned one, else the first of those that it replaces of its
/// own user in its own tier and layer. What takes the place of anything else is an item of its own.
fn own_head(
    tenant: &Tenant,
    call: &Call,
    heads: &[(ItemId, VersionId)],
    (named, admitted): (Option<VersionId>, &Admitted),
) -> Option<ItemId> {
    let views = tenant.shared.views.read();
    let place = (call.caller.user(), admitted.tier(), admitted.request().layer);
    let is_own = |id: VersionId| {
        let version = views.items.find_version(id);
        Some(id) == named || version.is_some_and(|one| (one.owner, one.tier, one.layer) == place)
    };
    let is_pinned = |id| views.items.find_item(id).is_some_and(|item| item.is_pinned_at(views.lsn()));
    let own = heads.iter().filter(|(_, version)| is_own(*version));
    own.min_by_key(|(item, version)| (Some(*version) != named, !is_pinned(*item))).map(|(item, _)| *item)
}

/// The heads that a write takes the place of, each with its item.
fn replaced_heads(tenant: &Tenant, replaced: &[VersionId]) -> Vec<(ItemId, VersionId)> {
    let views = tenant.shared.views.read();
    let item_of = |version: &VersionId| {
        let found = views.items.find_version(*version)?;
        Some((views.items.item_of(found)?.id, *version))
    };
    replaced.iter().filter_map(item_of).collect()
}

/// The items of these versions.
fn items_of(tenant: &Tenant, versions: &[VersionId]) -> Vec<ItemId> {
    replaced_heads(tenant, versions).into_iter().map(|(item, _)| item).collect()
}

impl Commit {
    /// Where it lands.
    pub(crate) fn landed(&self) -> Landed {
        let last = self.versions.last().map(|(written, _)| (written.item, written.version));
        let (item, version) = last.unwrap_or((ItemId::from_bytes([0; 16]), VersionId::from_bytes([0; 16])));
        let stays = |one: &&Against| !self.superseded.contains(&one.known.version);
        let copy = self.versions.iter().find(|(written, _)| written.origin == Some(item));
        Landed {
            status: self.status,
            item,
            version,
            against: self.against.iter().filter(stays).cloned().collect(),
            superseded: self.superseded.clone(),
            layer: self.layer,
            shared: copy.map(|(written, _)| written.item),
        }
    }

    /// Whether others see something of it, at once or when a model has said it anew.
    pub(crate) fn reaches_others(&self) -> bool {
        self.owes || self.versions.iter().any(|(written, _)| written.tier == Tier::Shared)
    }

    /// The statements whose place it takes without naming them: what it was found to contradict.
    pub(crate) fn found_to_replace(&self) -> impl Iterator<Item = VersionId> {
        self.superseded.iter().copied().filter(|one| Some(*one) != self.named)
    }

    /// The versions that it speaks against, and the class that it has itself.
    pub(crate) fn opposes(&self) -> (Vec<VersionId>, &Class) {
        (self.against.iter().map(|one| one.known.version).collect(), &self.must.class)
    }

    /// The copy that others are owed, if they are.
    pub(crate) fn owes(&self) -> Option<Owed> {
        let (written, _) = self.versions.last().filter(|_| self.owes)?;
        let (item, version) = (written.item, written.version);
        Some(Owed { item, version, rests_on_private: self.rests_on_private })
    }

    pub(super) fn proposal(
        self,
        tenant: &Tenant,
        call: &Call,
        owed: Option<&Deferral>,
    ) -> Result<Proposal, Refusal> {
        let (drafts, touches, must) = self.parts(tenant, call)?;
        let mut ids = drafts_ids(&drafts);
        ids.extend(self.must.replay.edits.map(|id| id.to_string()));
        ids.extend(owed.map(|owed| owed.pending_id.clone()));
        let mut trail = tenant.row(call, super::ACTION, self.status.as_str(), ids);
        trail.record.trace = self.trace;
        trail.record.shaped = self.shaped.noted();
        let check = move |views: &Views, now: Timestamp| must.hold(views, now);
        Ok(Proposal { drafts, touches, check: Box::new(check), trail })
    }

    /// The same as parts of a larger proposal: entries, what they touch, and what must hold.
    pub(crate) fn parts(
        &self,
        tenant: &Tenant,
        author: &Call,
    ) -> Result<(Vec<Draft>, Vec<Touch>, Must), Refusal> {
        let must = self.must.clone();
        let mut touches = must.replay.touches();
        touches.extend(must.heads.iter().map(|(item, _)| Touch::Item(*item)));
        if let Some((prints, ..)) = &must.twins {
            touches.push(Touch::Print(prints.content));
            touches.extend(prints.triple.map(Touch::Print));
        }
        let draft = |(written, payload): &(WrittenVersion, Payload)| {
            tenant.draft(author.caller.actor(), Event::VersionWritten(written.clone()), Some(payload))
        };
        let edited = must.replay.edits.map(|id| review::ending(tenant, author, id));
        let scored = self.calibration.iter().map(|calibration| {
            tenant.draft(author.caller.actor(), Event::Calibrated(calibration.clone()), None)
        });
        let drafts = edited.into_iter().chain(self.versions.iter().map(draft)).chain(scored);
        Ok((drafts.collect::<Result<Vec<_>, _>>()?, touches, must))
    }
}

fn drafts_ids(drafts: &[Draft]) -> Vec<String> {
    let last = drafts.iter().rev().find_map(|draft| {
        let Event::VersionWritten(written) = &draft.event else { return None };
        Some(vec![written.item.to_string(), written.version.to_string()])
    });
    last.unwrap_or_default()
}

/// Makes the versions of one write.
struct Maker<'a> {
    tenant: &'a Tenant,
    call: &'a Call,
    asked: &'a Asked,
    admitted: &'a Admitted,
    facts: &'a GateFacts,
    now: Timestamp,
    item: ItemId,
    /// What it replaces, that of its own item first.
    parents: Vec<VersionId>,
}

impl Maker<'_> {
    fn version(&self) -> Result<(WrittenVersion, Payload), Refusal> {
        let written = self.written(self.admitted.operation(), self.parents.clone());
        let record = self.record(&written, self.admitted.content(), self.evidence());
        let payload = self.admitted.payload(self.admitted.content(), sign(self.tenant, record)?);
        Ok((written, payload))
    }

    /// The write as it came, and what it becomes together with its twin: a version with both as parents (GOV-3.6).
    fn merge(&self, merged: &Merged) -> Result<Vec<(WrittenVersion, Payload)>, Refusal> {
        let (twin, class) = {
            let views = self.tenant.shared.views.read();
            let twin = views.items.find_version(merged.into.version).ok_or_else(Refusal::not_found)?;
            (twin.clone(), views.items.class_of(twin).cloned())
        };
        let (_, before) = content(self.tenant, twin.lsn)?;
        let came = self.written(Operation::Insert, Vec::new());
        let record = self.record(&came, self.admitted.content(), self.evidence());
        let came_payload = self.admitted.payload(self.admitted.content(), sign(self.tenant, record)?);
        let mut parents = vec![merged.into.version, came.version];
        parents.extend(self.admitted.superseded(self.facts.replaced.as_ref().map(|version| version.id)));
        let mut both = self.written(Operation::Update, parents);
        both.token = self.tenant.fingerprint(&[b"merge", both.version.as_bytes()]);
        both.request = None;
        both.prints = self.prints_of(&merged.content);
        both.confidence = came.confidence.max(twin.confidence);
        both.expires_at = match self.admitted.request().ttl {
            Some(_) => later_end(twin.expires_at, came.expires_at),
            None => twin.expires_at,
        };
        if let Some(class) = class {
            both.agents = united(&both.agents, &class.agents);
            both.resources = united(&both.resources, &class.resources);
        }
        let content: Content = serde_json::from_slice(&merged.content).map_err(|_| no_form())?;
        self.permitted(&Class::to_be(&both, &content))?;
        let mut evidence = self.evidence();
        for one in before.evidence_refs {
            if !evidence.contains(&one) {
                evidence.push(one);
            }
        }
        by_authority(&mut evidence);
        let mut record = self.record(&both, &merged.content, evidence);
        record.fact_score = [record.fact_score, before.fact_score].into_iter().flatten().reduce(f64::max);
        record.agent_confidence = both.confidence;
        let both_payload = self.admitted.payload(&merged.content, sign(self.tenant, record)?);
        Ok(vec![(came, came_payload), (both, both_payload)])
    }

    /// Refuses a version that Cedar forbids to write (SHARE-31).
    fn permitted(&self, class: &Class) -> Result<(), Refusal> {
        let views = self.tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        rights::may_write(&views, &self.call.caller, class, at)
    }

    fn prints_of(&self, canonical: &[u8]) -> Prints {
        let session = self.asked.prints.session;
        match serde_json::from_slice(canonical) {
            Ok(content) => {
                facts::prints(self.tenant, self.call, &content, canonical, session, self.asked.tier)
            }
            Err(_) => self.asked.prints,
        }
    }

    fn written(&self, operation: Operation, parents: Vec<VersionId>) -> WrittenVersion {
        let request = self.admitted.request();
        let sources = {
            let views = self.tenant.shared.views.read();
            let at = Moment { lsn: views.lsn(), time: self.now };
            facts::sources(
                &views,
                request,
                self.facts,
                &predicate(self.tenant, &self.call.caller, &views),
                at,
            )
        };
        WrittenVersion {
            operation,
            item: self.item,
            version: VersionId::from_bytes(self.tenant.entropy.bytes()),
            parents,
            layer: request.layer,
            tier: self.admitted.tier(),
            owner: self.call.caller.user(),
            agents: self.admitted.agents().to_vec(),
            resources: self.admitted.resources().to_vec(),
            confidence: request.confidence,
            token: self.asked.token,
            request: self.asked.request_print,
            expires_at: request.expires_at(self.now, self.asked.strictness),
            prints: self.asked.prints,
            sources,
            review: self.review(),
            against: u32::try_from(self.admitted.assessment().opposed).unwrap_or(u32::MAX),
            origin: self.origin(),
            said_at: self.asked.waited_since(),
        }
    }

    /// The first that a version replaces; what others are given names nothing private.
    fn supersedes(&self, written: &WrittenVersion) -> Option<VersionId> {
        let views = self.tenant.shared.views.read();
        let is_shared =
            |id: VersionId| views.items.find_version(id).is_some_and(|version| version.tier == Tier::Shared);
        written.parents.iter().copied().find(|id| written.tier == Tier::Private || is_shared(*id))
    }

    /// A copy that is itself written anew stays the copy of the same item.
    fn origin(&self) -> Option<ItemId> {
        if let Some(owed) = self.asked.owed {
            return Some(owed.item);
        }
        let views = self.tenant.shared.views.read();
        let item = views.items.find_item(self.item)?;
        views.items.versions_of(item).next_back()?.origin
    }

    fn review(&self) -> Option<ReviewId> {
        self.asked.review()
    }

    /// The evidence with the authority that it was found to have, the highest first.
    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = self.admitted.request().evidence.clone();
        for (place, one) in evidence.iter_mut().enumerate() {
            let found = self.facts.evidence.get(place).map(|weighed| weighed.authority);
            one.authority = found.unwrap_or(one.authority.min(one.source_type.authority_max()));
        }
        by_authority(&mut evidence);
        evidence
    }

    fn record(&self, written: &WrittenVersion, content: &[u8], evidence: Vec<Evidence>) -> Provenance {
        let request = self.admitted.request();
        let assessment = self.admitted.assessment();
        let approval = self.admitted.approval();
        let weighed = self.asked.strictness.rules(request.layer).factual > Force::Off;
        // What somebody looked for is theirs alone (SHARE-45).
        let seen = match written.tier {
            Tier::Private => self.tenant.seen(self.call, request.trace_id.as_deref()),
            Tier::Shared => Seen::default(),
        };
        Provenance {
            provenance_id: ProvenanceId::from_bytes(self.tenant.entropy.bytes()).to_string(),
            memory_item_id: written.item.to_string(),
            version_id: written.version.to_string(),
            source_user_id: self.call.caller.user().to_string(),
            source_agent_id: self.call.caller.agent().to_string(),
            source_agent_version: request.agent_version.clone(),
            source_task_id: request.task_id.clone(),
            source_session_id: request.session_id.clone(),
            trace_id: request.trace_id.clone(),
            evidence_quality: EvidenceQuality::of(&evidence),
            evidence_refs: evidence,
            derived_from: request.derived_from.clone(),
            retrieval_query: seen.query,
            retrieval_scores: seen.scores,
            agent_confidence: request.confidence,
            validation_score: weighed.then_some(assessment.composite),
            fact_score: weighed.then_some(assessment.fact),
            adjusted_confidence: weighed.then_some(assessment.confidence),
            verified_by_models: assessment.consensus.iter().flat_map(|one| one.supported.clone()).collect(),
            human_approval_state: match approval {
                Some(_) => ApprovalState::Approved,
                None => ApprovalState::NotRequired,
            },
            approver_id: approval.map(|approval| approval.approver.to_string()),
            approval_timestamp: approval.map(|approval| approval.at.to_string()),
            approval_justification: approval.map(|approval| approval.reason.clone()),
            agent_justification: request.justification.clone(),
            created_at: self.now.to_string(),
            updated_at: self.now.to_string(),
            supersedes: self.supersedes(written).map(|version| version.to_string()),
            superseded_by: None,
            content_hash: hex(&sha256(content)),
            key_id: PROVENANCE_KEY.to_owned(),
            provenance_signature: String::new(),
        }
    }
}

fn by_authority(evidence: &mut [Evidence]) {
    evidence.sort_by(|a, b| b.authority.total_cmp(&a.authority));
}

fn united<T: Ord + Copy>(a: &[T], b: &[T]) -> Vec<T> {
    let mut all: Vec<T> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The later of two ends of a lifetime; none is the latest (AM-1).
fn later_end(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    Some(one?.max(other?))
}

fn no_form() -> Refusal {
    Refusal::new(Code::SchemaInvalid, "what is to be written has no canonical form")
}

/// A record as canonical JSON, and our signature over it.
pub(crate) fn sign(tenant: &Tenant, record: Provenance) -> Result<(Vec<u8>, Hash), Refusal> {
    record.sign(tenant.provenance_key.as_bytes()).map_err(|_| no_form())
}
