//! What a write must pass before it becomes memory.
//!
//! Invariant (gates are pure): a gate is a function of the request, the gathered facts and the time. Invariant (admitted
//! means judged): an `Admitted` comes only from `judge`, and only an `Admitted` can be sealed.

mod bounds;
mod calibration;
mod conflict;
mod consensus;
mod contradiction;
mod dedup;
mod evidence;
mod facts;
mod factual;
mod knowledge;
mod policy;
mod procedure;
mod provenance;
mod read;
mod recheck;
mod relation;
mod remote;
mod request;
mod risk;
mod runner;
mod schema;
mod strictness;

pub use bounds::Bounds;
pub use conflict::OnConflict;
pub use consensus::Consensus;
pub use contradiction::{Against, contradictions};
pub use dedup::{SEMANTIC_MIN, duplicate, is_respelt};
pub use facts::{Approval, GateFacts, Known, Likeness, Neighbour, Twin, Weighed, Weighing};
pub use factual::{SUPPORT_UNSEEN, authority, fact_score, support, threshold};
pub use knowledge::KnowledgeWord;
pub use policy::says_low_reputation;
pub use read::{IDENTITY_FIELDS, JSON_DEPTH_MAX, read_write};
pub use recheck::{Reweighed, recheck};
pub use relation::{RELATIONS_MAX, read_relation, relation_refused};
pub use remote::{DEFERRAL_MAX, RemoteAnswer, RemoteFault, RemoteFinding};
pub use request::{EvidenceDraft, Replaces, TripleDraft, WriteDraft, WriteRequest};
pub use risk::{Hold, REPUTATION_MIN, Risk};
pub use runner::{ReportDraft, TestReport, is_public_key};
pub use schema::{KEY_CHARS_MAX, TEXT_BYTES_MAX};
pub use strictness::{Force, Rules, Strictness};

use crate::access::Caller;
use crate::error::{Code, Refusal};
use crate::id::{AgentId, ResourceId, VersionId};
use crate::item::{Content, Operation, Tier};
use crate::log::{Calibration, Payload};
use crate::rank::Standing;

/// The gates, in the order they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateName {
    /// Identity, size, rate.
    Preflight,
    /// Shape and ranges.
    Schema,
    /// Evidence supports it.
    Factual,
    /// Nothing known speaks against it.
    Contradiction,
    /// It is not known already.
    Dedup,
    /// Its record is complete.
    Provenance,
    /// It fits what the memory knows.
    Calibration,
    /// Policy and people agree.
    Policy,
}

impl GateName {
    /// Every gate, in the order they run.
    pub const ALL: [Self; 8] = [
        Self::Preflight,
        Self::Schema,
        Self::Factual,
        Self::Contradiction,
        Self::Dedup,
        Self::Provenance,
        Self::Calibration,
        Self::Policy,
    ];

    /// The word for it, the same everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Schema => "schema",
            Self::Factual => "factual",
            Self::Contradiction => "contradiction",
            Self::Dedup => "dedup",
            Self::Provenance => "provenance",
            Self::Calibration => "calibration",
            Self::Policy => "policy",
        }
    }
}

/// Why a person has to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The gate that asks for it.
    pub gate: GateName,
    /// Which row of the registry.
    pub code: Code,
    /// In words.
    pub message: String,
}

impl Cause {
    fn new(gate: GateName, code: Code, message: impl Into<String>) -> Self {
        Self { gate, code, message: message.into() }
    }
}

/// What a gate that does not refuse says.
#[derive(Debug, Clone, PartialEq)]
enum Finding {
    /// Go on.
    Nothing,
    /// A person decides; the other gates still run.
    Holds(Cause),
    /// Both together become one.
    Merges(Known, Box<Content>),
    /// The write takes its place.
    Replaces(Known),
}

/// How a write was found, whatever becomes of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assessment {
    /// V_fact.
    pub fact: f64,
    /// The mean authority of its evidence.
    pub authority: f64,
    /// c_adj, approval included.
    pub confidence: f64,
    /// V_composite.
    pub composite: f64,
    /// The factors of the risk.
    pub risk: Risk,
    /// What speaks against it.
    pub against: Vec<Against>,
    /// How many of those may leave a mark on what is stored.
    pub opposed: usize,
    /// What models say of its excerpts, where they were asked.
    pub consensus: Option<Consensus>,
}

impl Assessment {
    fn of(request: &WriteRequest, facts: &GateFacts, against: Vec<Against>) -> Self {
        let (fact, authority) = (fact_score(&facts.evidence), authority(&facts.evidence));
        let approved = facts.is_approved(request.layer);
        let standing =
            Standing { confidence: request.confidence, fact, authority, authority_max: authority, approved };
        let confidence = standing.adjusted_confidence();
        // What is stored with the write may tell only of what everyone sees who will see the write.
        let marks = |one: &&Against| one.neighbour(facts).is_some_and(|neighbour| neighbour.dominated);
        let opposed = against.iter().filter(marks).count();
        let unopposed = match facts.neighbours.iter().filter(|neighbour| neighbour.dominated).count() {
            0 => 1.0,
            near => 1.0 - opposed as f64 / near as f64,
        };
        Self {
            fact,
            authority,
            confidence,
            composite: 0.2 + 0.5 * fact + 0.3 * unopposed,
            risk: Risk::of(request.layer, facts, !against.is_empty(), authority, confidence),
            against,
            opposed,
            consensus: facts.consensus.clone(),
        }
    }

    /// How far the write can be relied on, approval left out (D6).
    fn reliance(&self, approved: bool) -> f64 {
        let approval = if approved { 0.30 } else { 0.0 };
        reliance(self.confidence - approval)
    }
}

/// How far something can be relied on, given its c_adj without approval: 0 to 1 (D6).
#[must_use]
pub fn reliance(unapproved: f64) -> f64 {
    unapproved / 0.70
}

/// What the gates make of a write.
#[derive(Debug, Clone)]
pub enum Judged {
    /// It may be committed.
    Admitted(Box<Admitted>),
    /// A person decides.
    Held(Box<Held>),
}

/// A write that waits for a person.
#[derive(Debug, Clone)]
pub struct Held {
    /// What was asked.
    pub request: WriteRequest,
    /// Where it would live.
    pub tier: Tier,
    /// Now or later.
    pub hold: Hold,
    /// Why, the most pressing first.
    pub causes: Vec<Cause>,
    /// How it was found.
    pub assessment: Assessment,
    /// The canonical content that a decision binds to.
    pub content: Vec<u8>,
    /// How it was scored, where somebody audits it.
    pub calibration: Option<Calibration>,
}

/// A write that passed every gate. Made by `judge` alone.
#[derive(Debug, Clone)]
pub struct Admitted {
    request: WriteRequest,
    operation: Operation,
    tier: Tier,
    agents: Vec<AgentId>,
    resources: Vec<ResourceId>,
    parents: Vec<VersionId>,
    content: Vec<u8>,
    assessment: Assessment,
    approval: Option<Approval>,
    merged: Option<Merged>,
    displaced: Vec<VersionId>,
}

/// What becomes of a write together with its twin.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The twin.
    pub into: Known,
    /// What both say together, as canonical bytes.
    pub content: Vec<u8>,
}

impl Admitted {
    /// What was asked.
    #[must_use]
    pub const fn request(&self) -> &WriteRequest {
        &self.request
    }

    /// Insert, update or supersede.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Where it will live.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// Contributing agents, in order.
    #[must_use]
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    /// Consulted resources, in order.
    #[must_use]
    pub fn resources(&self) -> &[ResourceId] {
        &self.resources
    }

    /// What it replaces.
    #[must_use]
    pub fn parents(&self) -> &[VersionId] {
        &self.parents
    }

    /// The statements whose place it takes: all that it replaces but an earlier wording of itself, which is `edited`.
    #[must_use]
    pub fn superseded(&self, edited: Option<VersionId>) -> Vec<VersionId> {
        let is_statement = |parent: &&VersionId| match self.operation {
            Operation::Insert | Operation::Supersede => true,
            Operation::Update => Some(**parent) != edited,
        };
        self.parents.iter().filter(is_statement).copied().collect()
    }

    /// The canonical content.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// How it was found.
    #[must_use]
    pub const fn assessment(&self) -> &Assessment {
        &self.assessment
    }

    /// The person's yes, if one was needed.
    #[must_use]
    pub const fn approval(&self) -> Option<&Approval> {
        self.approval.as_ref()
    }

    /// What it becomes part of, if it says the same as something known and more.
    #[must_use]
    pub const fn merged(&self) -> Option<&Merged> {
        self.merged.as_ref()
    }

    /// Shared statements of other users whose place its copy for others takes, as a person decided.
    #[must_use]
    pub fn displaced(&self) -> &[VersionId] {
        &self.displaced
    }

    /// The payload to seal, given its provenance as canonical JSON and the signature over it.
    #[must_use]
    pub fn payload(
        &self,
        content: &[u8],
        (provenance, signature): (Vec<u8>, crate::canonical::Hash),
    ) -> Payload {
        Payload::Version {
            content: content.to_vec().into(),
            provenance: provenance.into(),
            signature,
            namespace: self.request.namespace.clone(),
        }
    }
}

/// Judges a write: every gate in order. The first refusal wins; what a person must decide is gathered from all of them.
///
/// `passed` hears of each gate as it ends, so that whoever has a clock can time them.
///
/// # Errors
/// The refusal, with gate, code, paths and what would pass.
pub fn judge(
    request: WriteRequest,
    caller: &Caller,
    facts: &GateFacts,
    passed: &mut dyn FnMut(GateName),
) -> Result<Judged, Refusal> {
    let rules = facts.strictness.rules(request.layer);
    if !facts.faults.is_empty() {
        return Err(schema::refuse(facts.faults.clone()));
    }
    let content = request.content.canonical().map_err(|_| schema::not_canonical())?;
    procedure::check(&request, facts, &content, rules.factual)?;
    remote::check(facts, GateName::Schema)?;
    passed(GateName::Schema);
    let (replaced, against) = contradiction::divide(&request, facts, contradictions(facts));
    let mut superseded: Vec<VersionId> = replaced.iter().map(|one| one.known.version).collect();
    let mut assessment = Assessment::of(&request, facts, against);
    knowledge::check(facts, rules.factual)?;
    evidence::check(&request, facts, rules.factual)?;
    let factual = factual::check(&request, facts, rules.factual)?;
    remote::check(facts, GateName::Factual)?;
    passed(GateName::Factual);
    let reliance = assessment.reliance(facts.is_approved(request.layer));
    let opposed = contradiction::check(&request, facts, &assessment.against, reliance, rules.contradiction)?;
    remote::check(facts, GateName::Contradiction)?;
    passed(GateName::Contradiction);
    let twin = dedup::check(&request, facts, rules.dedup)?;
    remote::check(facts, GateName::Dedup)?;
    passed(GateName::Dedup);
    provenance::check(&request, facts)?;
    remote::check(facts, GateName::Provenance)?;
    passed(GateName::Provenance);
    let unfit = calibration::check(facts);
    remote::check(facts, GateName::Calibration)?;
    passed(GateName::Calibration);
    bounds::check(&request, facts)?;
    let tier = policy::tier(&request, facts)?;
    let mut causes: Vec<Cause> = Vec::new();
    let mut merging = None;
    let consensus = if facts.own_word { Finding::Nothing } else { consensus::check(facts) };
    for finding in [opposed, twin, factual, consensus, unfit] {
        match finding {
            Finding::Nothing => {}
            Finding::Holds(cause) => causes.push(cause),
            Finding::Merges(into, content) => merging = Some((into, content)),
            Finding::Replaces(known) => superseded.push(known.version),
        }
    }
    let hold = policy::hold(&request, facts, &assessment, rules.risk, &mut causes);
    remote::check(facts, GateName::Policy)?;
    remote::settled(facts)?;
    passed(GateName::Policy);
    if hold > Hold::Auto && facts.approval.is_none() {
        // A yes replaces that as well.
        assessment.against.extend(replaced);
        let scored = facts.weighing.as_ref().filter(|weighing| !weighing.of_copy);
        let calibration = scored.map(|weighing| weighing.calibration.clone());
        let held = Held { request, tier, hold, causes, assessment, content, calibration };
        return Ok(Judged::Held(Box::new(held)));
    }
    admit(request, caller, facts, Found { tier, content, assessment, superseded, merging })
        .map(|admitted| Judged::Admitted(Box::new(admitted)))
}

/// What the gates found out on the way.
struct Found {
    tier: Tier,
    content: Vec<u8>,
    assessment: Assessment,
    /// What it replaces as a newer statement.
    superseded: Vec<VersionId>,
    merging: Option<(Known, Box<Content>)>,
}

fn admit(
    request: WriteRequest,
    caller: &Caller,
    facts: &GateFacts,
    found: Found,
) -> Result<Admitted, Refusal> {
    let class = facts.class(caller.agent(), &request, found.tier);
    let (own, others) = decided_to_replace(facts, &found.assessment.against);
    // What is shared gives way only to what is shared.
    let (taken, displaced) =
        if found.tier == Tier::Shared { (others, Vec::new()) } else { (Vec::new(), others) };
    let superseded: Vec<VersionId> = own.into_iter().chain(taken).chain(found.superseded).collect();
    let replaced = facts.replaced.iter().map(|version| version.id);
    let merged = match found.merging {
        None => None,
        Some((into, content)) => {
            Some(Merged { into, content: content.canonical().map_err(|_| schema::not_canonical())? })
        }
    };
    Ok(Admitted {
        operation: match (&request.replaces, &facts.replaced) {
            (Some(replaces), Some(_)) => replaces.operation(),
            _ if !superseded.is_empty() => Operation::Supersede,
            _ => Operation::Insert,
        },
        tier: found.tier,
        agents: class.agents,
        resources: class.resources,
        parents: each_once(replaced.chain(superseded)),
        content: found.content,
        assessment: found.assessment,
        approval: facts.approval.clone().or_else(|| own_approval(caller, facts, &request)),
        merged,
        displaced,
        request,
    })
}

/// What a person's yes replaces of what the write contradicts: all of it, unless the person or else the write wants both to
/// stay. First what is of the writer's own user and tier, then what other users share.
fn decided_to_replace(facts: &GateFacts, against: &[Against]) -> (Vec<VersionId>, Vec<VersionId>) {
    let Some(approval) = &facts.approval else { return (Vec::new(), Vec::new()) };
    if approval.on_conflict.or(facts.on_conflict) == Some(OnConflict::KeepBoth) {
        return (Vec::new(), Vec::new());
    }
    let of = |wanted: fn(&Neighbour) -> bool| {
        let found = against.iter().filter(|one| one.neighbour(facts).is_some_and(wanted));
        found.map(|one| one.known.version).collect()
    };
    (of(|neighbour| neighbour.own), of(|neighbour| neighbour.of_another))
}

/// The approval that a person's own write carries to a layer that asks for one (AM-4).
fn own_approval(caller: &Caller, facts: &GateFacts, request: &WriteRequest) -> Option<Approval> {
    let reason = request.justification.clone().unwrap_or_else(|| "written by this person".to_owned());
    facts.is_approved(request.layer).then(|| Approval {
        review: None,
        approver: caller.user(),
        at: facts.submitted,
        reason,
        on_conflict: None,
    })
}

/// Each value once, in the order they come.
fn each_once(values: impl Iterator<Item = VersionId>) -> Vec<VersionId> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
