//! Write: one path for every item, from draft to durable version.

use crate::reply::{TrustBand, WriteStatus, Written};
use crate::sequencer::{Committed, Objection, Proposal, Touch};
use crate::tenant::Tenant;
use crate::{Call, working};
use tabellion_core::access::{Predicate, visible_to};
use tabellion_core::canonical::{Hash, hex, idempotency_token, sha256};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{Admitted, GateFacts, GateName, Replaces, WriteDraft, WriteRequest, judge};
use tabellion_core::id::{ItemId, ProvenanceId, VersionId};
use tabellion_core::item::Layer;
use tabellion_core::log::{Event, Payload, WrittenVersion};
use tabellion_core::provenance::{ApprovalState, EvidenceQuality, PROVENANCE_KEY, Provenance};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Version, Views};

/// How often a write is prepared again when the head it replaces has moved under it.
const ATTEMPTS_MAX: usize = 16;

/// The name of this operation on the trail.
pub(crate) const ACTION: &str = "write";

pub(crate) async fn write(tenant: &Tenant, call: &Call, draft: WriteDraft) -> Result<Written, Refusal> {
    let trace = trace(tenant, draft.trace_id.as_deref());
    let result = match working::claim(tenant, call, draft).check() {
        Ok(request) if request.layer == Layer::Working => {
            working::write(tenant, call, request, trace).await.map_err(Failed::Early)
        }
        Ok(request) => write_logged(tenant, call, request).await,
        Err(refusal) => Err(Failed::Early(refusal)),
    };
    let count =
        |status: &'static str| metrics::counter!("tabellion_writes_total", "status" => status).increment(1);
    match result {
        Ok(written) => {
            count(written.status.as_str());
            Ok(written)
        }
        Err(failed) => {
            count("rejected");
            Err(match failed {
                Failed::Recorded(refusal) => refusal,
                Failed::Early(refusal) => {
                    let mut row = tenant.row(call, ACTION, refusal.code.as_str(), Vec::new());
                    row.record.trace = trace;
                    tenant.sequencer.trail_now(row).await.err().unwrap_or(refusal)
                }
            })
        }
    }
}

/// What the trail keeps of a trace: enough to find its rows again for whoever knows it.
fn trace(tenant: &Tenant, trace: Option<&str>) -> Option<Hash> {
    trace.map(|trace| tenant.fingerprint(&[b"trace", trace.as_bytes()]))
}

/// A refusal, and whether the trail has it already.
enum Failed {
    Recorded(Refusal),
    Early(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Early(refusal)
    }
}

async fn write_logged(tenant: &Tenant, call: &Call, request: WriteRequest) -> Result<Written, Failed> {
    for _ in 0..ATTEMPTS_MAX {
        let prepared = prepare(tenant, call, request.clone())?;
        let (item, version) = (prepared.written.item, prepared.written.version);
        match tenant.sequencer.propose(prepared.proposal(tenant, call)?).await {
            Ok(committed) => return Ok(committed_reply(tenant, call, item, version, committed)),
            Err(Objection::Replayed(version)) => {
                return replayed_reply(tenant, call, version).map_err(Failed::Recorded);
            }
            Err(Objection::Refused(refusal)) => return Err(Failed::Recorded(refusal)),
            Err(Objection::Stale) => {}
        }
    }
    Err(Refusal::new(
        Code::VersionConflict,
        "the item keeps changing; read it and try again with expected_version",
    )
    .into())
}

fn committed_reply(
    tenant: &Tenant,
    call: &Call,
    id: ItemId,
    version: VersionId,
    committed: Committed,
) -> Written {
    let token = tenant.token(&call.caller, committed.lsn);
    Written { status: WriteStatus::Committed, id, version, trust: TrustBand::Medium, token }
}

fn replayed_reply(tenant: &Tenant, call: &Call, version: VersionId) -> Result<Written, Refusal> {
    let views = tenant.shared.views.read();
    let known = views.items.find_version(version).ok_or_else(Refusal::not_found)?;
    let item = views.items.item_of(known).ok_or_else(Refusal::not_found)?;
    Ok(Written {
        status: WriteStatus::AlreadyCommitted,
        id: item.id,
        version,
        trust: TrustBand::Medium,
        token: tenant.token(&call.caller, known.lsn),
    })
}

/// A write that needs nothing but its place in the log.
struct Prepared {
    written: WrittenVersion,
    payload: Payload,
    deadline: Option<Timestamp>,
    replaced: Option<VersionId>,
    trace: Option<Hash>,
}

fn prepare(tenant: &Tenant, call: &Call, request: WriteRequest) -> Result<Prepared, Refusal> {
    let now = tenant.now();
    let facts = {
        let views = tenant.shared.views.read();
        let at = Moment { lsn: views.lsn(), time: now };
        let predicate = visible_to(&call.caller);
        GateFacts {
            replaced: replaced(&views, &request, &predicate, at)?.cloned(),
            ..gather(&views, &request, &predicate)
        }
    };
    let facts = inheriting(tenant, facts);
    let item = match (&facts.replaced, &request.replaces) {
        (Some(replaced), _) => item_of(tenant, replaced)?,
        (None, _) => ItemId::from_bytes(tenant.entropy.bytes()),
    };
    let admitted = judge(request, &call.caller, &facts)?;
    let request = admitted.request();
    let token = idempotency_token(admitted.content(), &call.caller.agent(), request.layer);
    check_token(request, &token)?;
    let version = VersionId::from_bytes(tenant.entropy.bytes());
    let provenance = provenance(tenant, call, &admitted, (item, version), now)?;
    let written = WrittenVersion {
        operation: admitted.operation(),
        item,
        version,
        parents: admitted.parents().to_vec(),
        layer: request.layer,
        tier: admitted.tier(),
        owner: call.caller.user(),
        agents: admitted.agents().to_vec(),
        resources: admitted.resources().to_vec(),
        confidence: request.confidence,
        token: scoped_token(tenant, call, &admitted, &token),
        request: request.request_id.map(|id| {
            tenant.fingerprint(&[
                b"request",
                call.caller.user().as_bytes(),
                call.caller.agent().as_bytes(),
                &id,
            ])
        }),
        expires_at: request.expires_at(now),
    };
    Ok(Prepared {
        written,
        payload: admitted.payload(provenance),
        deadline: request.deadline,
        replaced: facts.replaced.map(|version| version.id),
        trace: trace(tenant, request.trace_id.as_deref()),
    })
}

/// What the gates may know of what a write names, under the caller's predicate.
pub(crate) fn gather(views: &Views, request: &WriteRequest, predicate: &Predicate) -> GateFacts {
    let mut facts = GateFacts::default();
    for (place, name) in request.resources.iter().enumerate() {
        facts.resources.push(views.identity.find_resource(name).map(|resource| resource.id).ok_or(place));
    }
    for (place, id) in request.derived_from.iter().enumerate() {
        let visible = |version: &&Version| predicate.admits(version.owner, version.tier);
        let parent = id.parse().ok().and_then(|id| views.items.find_version(id)).filter(visible);
        facts.derived_from.push(parent.map(|version| version.id).ok_or(place));
        inherit(views, parent, &mut facts);
    }
    facts
}

/// The facts with what the replaced head hands down.
fn inheriting(tenant: &Tenant, mut facts: GateFacts) -> GateFacts {
    let replaced = facts.replaced.clone();
    inherit(&tenant.shared.views.read(), replaced.as_ref(), &mut facts);
    facts
}

/// A derivation carries the agents and resources of what it derives from: rewriting launders nothing.
fn inherit(views: &Views, parent: Option<&Version>, facts: &mut GateFacts) {
    if let Some(class) = parent.and_then(|parent| views.items.class_of(parent)) {
        facts.inherited.0.extend(&class.agents);
        facts.inherited.1.extend(&class.resources);
    }
}

/// The head that a write replaces: visible, and the one that the writer expects.
fn replaced<'a>(
    views: &'a Views,
    request: &WriteRequest,
    predicate: &Predicate,
    at: Moment,
) -> Result<Option<&'a Version>, Refusal> {
    let head_of = |item: ItemId| {
        views.items.visible_head(item, predicate, at).map(|(_, head)| head).ok_or_else(Refusal::not_found)
    };
    let head = match request.replaces {
        None => match request.expected_version {
            None => return Ok(None),
            Some(expected) => head_with(views, expected, predicate, at)?,
        },
        Some(Replaces::Item(item) | Replaces::Superseded(item)) => head_of(item)?,
        Some(Replaces::SupersededVersion(version)) => head_with(views, version, predicate, at)?,
    };
    match request.expected_version {
        Some(expected) if expected != head.id => Err(version_conflict()),
        _ => Ok(Some(head)),
    }
}

/// A version that must be visible and a head.
fn head_with<'a>(
    views: &'a Views,
    id: VersionId,
    predicate: &Predicate,
    at: Moment,
) -> Result<&'a Version, Refusal> {
    let visible = |version: &&Version| predicate.admits(version.owner, version.tier);
    let version = views.items.find_version(id).filter(visible).ok_or_else(Refusal::not_found)?;
    let item = views.items.item_of(version).ok_or_else(Refusal::not_found)?;
    match views.items.head_at(item, at) {
        Some(head) if head.id == id => Ok(head),
        _ => Err(version_conflict()),
    }
}

pub(crate) fn version_conflict() -> Refusal {
    let fault = Fault::new("/expected_version", Code::VersionConflict, "the item's head: read it again");
    Refusal::new(Code::VersionConflict, "the version named is not the item's head any more").with(vec![fault])
}

fn item_of(tenant: &Tenant, version: &Version) -> Result<ItemId, Refusal> {
    let views = tenant.shared.views.read();
    views.items.item_of(version).map(|item| item.id).ok_or_else(Refusal::not_found)
}

pub(crate) fn check_token(request: &WriteRequest, token: &Hash) -> Result<(), Refusal> {
    match request.idempotency_token {
        Some(claimed) if claimed != *token => {
            let fault = Fault::new("/idempotency_token", Code::TokenMismatch, hex(token));
            let message = "the idempotency token is not that of this content, agent and layer; leave it out or correct it";
            Err(Refusal::new(Code::TokenMismatch, message).at(GateName::Preflight).with(vec![fault]))
        }
        _ => Ok(()),
    }
}

/// What makes two writes the same: the token, and everything that decides where it would land.
fn scoped_token(tenant: &Tenant, call: &Call, admitted: &Admitted, token: &Hash) -> Hash {
    let request = admitted.request();
    let target: Vec<u8> = match request.replaces {
        None => Vec::new(),
        Some(Replaces::Item(item)) => [b"u".as_slice(), item.as_bytes()].concat(),
        Some(Replaces::Superseded(item)) => [b"s".as_slice(), item.as_bytes()].concat(),
        Some(Replaces::SupersededVersion(version)) => [b"v".as_slice(), version.as_bytes()].concat(),
    };
    let expected: &[u8] = request.expected_version.as_ref().map_or(&[], |version| version.as_bytes());
    let (user, tier) = (call.caller.user(), admitted.tier().as_str());
    tenant.fingerprint(&[
        b"token",
        token,
        user.as_bytes(),
        request.namespace.as_bytes(),
        tier.as_bytes(),
        &target,
        expected,
    ])
}

fn provenance(
    tenant: &Tenant,
    call: &Call,
    admitted: &Admitted,
    ids: (ItemId, VersionId),
    now: Timestamp,
) -> Result<(Vec<u8>, Hash), Refusal> {
    let request = admitted.request();
    let record = Provenance {
        provenance_id: ProvenanceId::from_bytes(tenant.entropy.bytes()).to_string(),
        memory_item_id: ids.0.to_string(),
        version_id: ids.1.to_string(),
        source_user_id: call.caller.user().to_string(),
        source_agent_id: call.caller.agent().to_string(),
        source_agent_version: request.agent_version.clone(),
        source_task_id: request.task_id.clone(),
        source_session_id: request.session_id.clone(),
        trace_id: request.trace_id.clone(),
        evidence_quality: EvidenceQuality::of(&request.evidence),
        evidence_refs: request.evidence.clone(),
        derived_from: request.derived_from.clone(),
        retrieval_query: None,
        retrieval_scores: Vec::new(),
        agent_confidence: request.confidence,
        validation_score: None,
        verified_by_models: Vec::new(),
        human_approval_state: ApprovalState::NotRequired,
        approver_id: None,
        approval_timestamp: None,
        approval_justification: None,
        agent_justification: request.justification.clone(),
        created_at: now.to_string(),
        updated_at: now.to_string(),
        supersedes: admitted.parents().first().map(ToString::to_string),
        superseded_by: None,
        content_hash: hex(&sha256(admitted.content())),
        key_id: PROVENANCE_KEY.to_owned(),
        provenance_signature: String::new(),
    };
    sign(tenant, record)
}

/// A record as canonical JSON, and our signature over it.
pub(crate) fn sign(tenant: &Tenant, record: Provenance) -> Result<(Vec<u8>, Hash), Refusal> {
    let no_form = |_| Refusal::new(Code::SchemaInvalid, "the provenance record has no canonical form");
    record.sign(tenant.provenance_key.as_bytes()).map_err(no_form)
}

impl Prepared {
    fn proposal(self, tenant: &Tenant, call: &Call) -> Result<Proposal, Refusal> {
        let Self { written, payload, deadline, replaced, trace } = self;
        let (token, request, item) = (written.token, written.request, written.item);
        let mut touches = vec![Touch::Token(token), Touch::Item(item)];
        touches.extend(request.map(Touch::Request));
        let mut trail =
            tenant.row(call, ACTION, "committed", vec![item.to_string(), written.version.to_string()]);
        trail.record.trace = trace;
        let draft = tenant.draft(call.caller.actor(), Event::VersionWritten(written), Some(&payload))?;
        let check = move |views: &Views, now: Timestamp| {
            known(views, &token, request.as_ref(), now)?;
            in_time(deadline, now)?;
            still_head(views, item, replaced, now)
        };
        Ok(Proposal { drafts: vec![draft], touches, check: Box::new(check), trail })
    }
}

/// Step 1 of GOV-1.7: a known token is a replay, and a known request id must come with the same content.
fn known(views: &Views, token: &Hash, request: Option<&Hash>, now: Timestamp) -> Result<(), Objection> {
    if let Some((version, first)) = request.and_then(|request| views.items.requested(request, now)) {
        if first != token {
            let fault = Fault::new("/request_id", Code::RequestIdReused, "a fresh UUID for other content");
            let refusal =
                Refusal::new(Code::RequestIdReused, "this request id came with other content before");
            return Err(refusal.at(GateName::Preflight).with(vec![fault]).into());
        }
        return Err(Objection::Replayed(version.id));
    }
    match views.items.replayed(token, now) {
        Some(version) => Err(Objection::Replayed(version.id)),
        None => Ok(()),
    }
}

/// Step 2 of GOV-1.7: past its deadline a write leaves nothing.
pub(crate) fn in_time(deadline: Option<Timestamp>, now: Timestamp) -> Result<(), Objection> {
    match deadline {
        Some(deadline) if deadline <= now => {
            let refusal = Refusal::new(
                Code::DeadlineExceeded,
                "the deadline passed before the commit; nothing was written",
            );
            Err(refusal.at(GateName::Preflight).into())
        }
        _ => Ok(()),
    }
}

/// The head must be the one that the write was prepared against.
fn still_head(
    views: &Views,
    item: ItemId,
    replaced: Option<VersionId>,
    now: Timestamp,
) -> Result<(), Objection> {
    let Some(replaced) = replaced else { return Ok(()) };
    let at = Moment { lsn: views.lsn(), time: now };
    let head = views.items.find_item(item).and_then(|item| views.items.head_at(item, at));
    if head.is_some_and(|head| head.id == replaced) { Ok(()) } else { Err(Objection::Stale) }
}
