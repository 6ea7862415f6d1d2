//! What can happen. Every change of state is one of these, and nothing else is.
//!
//! An event holds only what may stay in the clear for ever: ids, classes, keyed fingerprints. Names, texts and reasons are
//! in the `Payload` sealed beside it. Indexes are never reused; a retired variant keeps its number.

use super::{
    AcceptedLoss, AgentStatus, Calibration, Edge, GrantedEdge, HeldRole, Holder, PairHold, Recheck,
    ReportedOutcome, ResourceStatus, Support, TrustMove, UserAgentPair, UserStatus,
};
use crate::access::Role;
use crate::canonical::Hash;
use crate::gate::Hold;
use crate::id::{AgentId, ItemId, KeyId, ResourceId, ReviewId, RoleId, TenantId, UserId, VersionId};
use crate::item::{Layer, Operation, Tier, words};
use crate::time::Timestamp;
use minicbor::bytes::ByteVec;

/// The body of an entry.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
pub enum Event {
    /// The first entry of a memory log: whose it is and which key signs its heads. Sealed: the tenant's name.
    #[n(0)]
    TenantCreated {
        /// The tenant.
        #[n(0)]
        tenant: TenantId,
        /// The Ed25519 key that signs heads.
        #[cbor(n(1), with = "minicbor::bytes")]
        public_key: Hash,
        /// Whether its admins may make further tenants.
        #[n(2)]
        operator: bool,
    },
    /// A user exists. Sealed: the principal.
    #[n(1)]
    UserCreated {
        /// The user.
        #[n(0)]
        user: UserId,
        /// What it may administer.
        #[n(1)]
        role: Role,
    },
    /// An agent exists. Sealed: the principal.
    #[n(2)]
    AgentCreated {
        /// The agent.
        #[n(0)]
        agent: AgentId,
        /// Whether its own word on what it used is taken.
        #[n(1)]
        trust_declared: bool,
    },
    /// A resource exists. Sealed: the principal.
    #[n(3)]
    ResourceCreated {
        /// The resource.
        #[n(0)]
        resource: ResourceId,
    },
    /// A credential exists.
    #[n(4)]
    KeyIssued(#[n(0)] IssuedKey),
    /// A credential ends.
    #[n(5)]
    KeyRevoked {
        /// The key.
        #[n(0)]
        key: KeyId,
    },
    /// An item has a new version. Sealed: content and provenance.
    #[n(6)]
    VersionWritten(#[n(0)] WrittenVersion),
    /// A version was taken back. Sealed: the reason.
    #[n(7)]
    VersionRetracted {
        /// The item.
        #[n(0)]
        item: ItemId,
        /// The version.
        #[n(1)]
        version: VersionId,
        /// Whether it was found false, where somebody other than its user took it back. It was unless this says otherwise.
        #[n(2)]
        found_false: Option<bool>,
    },
    /// A version is past its time.
    #[n(8)]
    VersionExpired {
        /// The item.
        #[n(0)]
        item: ItemId,
        /// The version.
        #[n(1)]
        version: VersionId,
    },
    /// An item is kept from garbage collection. Sealed: the reason.
    #[n(9)]
    ItemPinned {
        /// The item.
        #[n(0)]
        item: ItemId,
    },
    /// It no longer is. Sealed: the reason.
    #[n(10)]
    ItemUnpinned {
        /// The item.
        #[n(0)]
        item: ItemId,
    },
    /// A write waits for a person. Sealed: the write, and what was found.
    #[n(11)]
    WriteStaged(#[n(0)] StagedWrite),
    /// A person decided on it, or its time ran out. Sealed: the reason.
    #[n(12)]
    ReviewDecided {
        /// The review.
        #[n(0)]
        review: ReviewId,
        /// How.
        #[n(1)]
        decision: Decision,
    },
    /// An item is suspect: kept, but not retrievable. Sealed: the reason.
    #[n(13)]
    ItemQuarantined {
        /// The item.
        #[n(0)]
        item: ItemId,
    },
    /// It no longer is. Sealed: the reason.
    #[n(14)]
    ItemReleased {
        /// The item.
        #[n(0)]
        item: ItemId,
    },
    /// A policy is set, in place of the one of the same name. Sealed: its name and body.
    #[n(15)]
    PolicySet,
    /// A schema is registered, in place of the one of the same kind and layer. Sealed: the schema.
    #[n(16)]
    SchemaSet,
    /// An agent may not write until it is resumed. Sealed: the reason.
    #[n(17)]
    AgentSuspended {
        /// The agent.
        #[n(0)]
        agent: AgentId,
    },
    /// It may again. Sealed: the reason.
    #[n(18)]
    AgentResumed {
        /// The agent.
        #[n(0)]
        agent: AgentId,
    },
    /// An edge of an access graph exists from here on, or within a time of its own. Sealed: the reason.
    #[n(19)]
    EdgeGranted(#[n(0)] GrantedEdge),
    /// An edge ends, with one of its supports or with all of them. Sealed: the reason.
    #[n(20)]
    EdgeRevoked {
        /// The edge.
        #[n(0)]
        edge: Edge,
        /// Only this support.
        #[n(1)]
        support: Option<Support>,
    },
    /// An agent is put to rest, or back to work. Sealed: the reason.
    #[n(21)]
    AgentStatusSet {
        /// The agent.
        #[n(0)]
        agent: AgentId,
        /// From here on.
        #[n(1)]
        status: AgentStatus,
    },
    /// A version was verified again, by the server itself.
    #[n(22)]
    ItemReverified {
        /// The item.
        #[n(0)]
        item: ItemId,
        /// The version.
        #[n(1)]
        version: VersionId,
        /// How it was found.
        #[n(2)]
        finding: Recheck,
    },
    /// A role is set in place of what it was. Sealed: its name and body, as of a policy; an empty body ends it.
    #[n(24)]
    RoleSet {
        /// The role.
        #[n(0)]
        role: RoleId,
    },
    /// Somebody holds a role; the edges that follow from it are entries of their own. Sealed: the reason.
    #[n(25)]
    RoleAssigned(#[n(0)] HeldRole),
    /// They hold it no longer. Sealed: the reason.
    #[n(26)]
    RoleUnassigned {
        /// The role.
        #[n(0)]
        role: RoleId,
        /// Who held it.
        #[n(1)]
        holder: Holder,
    },
    /// A write was held against what is known, before it was committed or kept back.
    #[n(27)]
    Calibrated(#[n(0)] Calibration),
    /// The trust of something that was scored before moves.
    #[n(28)]
    TrustMoved(#[n(0)] TrustMove),
    /// Writes of a pair are unlike those before: they are held or refused for a time. Found by the server itself.
    #[n(29)]
    PairHeld(#[n(0)] PairHold),
    /// They are no longer. Sealed: the reason.
    #[n(30)]
    PairReleased(#[n(0)] UserAgentPair),
    /// Somebody reported how it went with what others wrote.
    #[n(31)]
    OutcomeReported(#[n(0)] ReportedOutcome),
    /// A user may no longer act, or may again. Sealed: the reason.
    #[n(40)]
    UserStatusSet {
        /// The user.
        #[n(0)]
        user: UserId,
        /// From here on.
        #[n(1)]
        status: UserStatus,
    },
    /// What a user may administer changes. Sealed: the reason.
    #[n(41)]
    UserRoleSet {
        /// The user.
        #[n(0)]
        user: UserId,
        /// From here on.
        #[n(1)]
        role: Role,
    },
    /// A resource is put to rest, or back to work. Sealed: the reason.
    #[n(42)]
    ResourceStatusSet {
        /// The resource.
        #[n(0)]
        resource: ResourceId,
        /// From here on.
        #[n(1)]
        status: ResourceStatus,
    },
    /// Audit log only: who did what, and how it ended.
    #[n(32)]
    Audited(#[n(0)] AuditRecord),
    /// The operator started the server although a part of the data was lost; what is missing stays on record here.
    #[n(33)]
    LossAccepted(#[n(0)] AcceptedLoss),
}

/// A credential: a keyed fingerprint of its secret, and for whom it speaks.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct IssuedKey {
    /// The key.
    #[n(0)]
    pub key: KeyId,
    /// HMAC-SHA-256 of the secret.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub fingerprint: Hash,
    /// The user, unless it is an agent's own.
    #[n(2)]
    pub user: Option<UserId>,
    /// The agent, unless it is a person's own.
    #[n(3)]
    pub agent: Option<AgentId>,
    /// When it ends by itself.
    #[n(4)]
    pub expires_at: Option<Timestamp>,
}

/// A version: everything about it but what it says.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct WrittenVersion {
    /// Insert, update or supersede.
    #[n(0)]
    pub operation: Operation,
    /// The item.
    #[n(1)]
    pub item: ItemId,
    /// The version.
    #[n(2)]
    pub version: VersionId,
    /// The versions it replaces.
    #[n(3)]
    pub parents: Vec<VersionId>,
    /// Its layer.
    #[n(4)]
    pub layer: Layer,
    /// Its tier.
    #[n(5)]
    pub tier: Tier,
    /// The one contributing user.
    #[n(6)]
    pub owner: UserId,
    /// Contributing agents, in order of id.
    #[n(7)]
    pub agents: Vec<AgentId>,
    /// Resources consulted, in order of id.
    #[n(8)]
    pub resources: Vec<ResourceId>,
    /// What the writer claims, 0 to 1.
    #[n(9)]
    pub confidence: f64,
    /// Keyed fingerprint of the idempotency token and its scope.
    #[cbor(n(10), with = "minicbor::bytes")]
    pub token: Hash,
    /// Keyed fingerprint of the request id and its scope.
    #[cbor(n(11), with = "minicbor::bytes")]
    pub request: Option<Hash>,
    /// When it lapses.
    #[n(12)]
    pub expires_at: Option<Timestamp>,
    /// What it is recognised by.
    #[n(13)]
    pub prints: Prints,
    /// The versions that it was derived from or that its evidence cites.
    #[n(14)]
    pub sources: Vec<VersionId>,
    /// The review that it came through.
    #[n(15)]
    pub review: Option<ReviewId>,
    /// How many known items it spoke against.
    #[n(16)]
    pub against: u32,
    /// For the copy that others may see: the item of the copy that its owner keeps (SHARE-19).
    #[n(17)]
    pub origin: Option<ItemId>,
    /// When it came in, if it waited since: what it says is dated by that.
    #[n(18)]
    pub said_at: Option<Timestamp>,
}

/// Keyed fingerprints by which a version is recognised without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Prints {
    /// Of its content, for its owner.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub content: Hash,
    /// Of its triple, for its owner.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub triple: Option<Hash>,
    /// Of the agent's session.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub session: Option<Hash>,
}

/// A write that waits for a person: everything about it but what it says.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct StagedWrite {
    /// The review.
    #[n(0)]
    pub review: ReviewId,
    /// The item that it would replace the head of.
    #[n(1)]
    pub item: Option<ItemId>,
    /// Its layer.
    #[n(2)]
    pub layer: Layer,
    /// Its tier.
    #[n(3)]
    pub tier: Tier,
    /// Whose it would be.
    #[n(4)]
    pub owner: UserId,
    /// The agent that wrote it.
    #[n(5)]
    pub agent: AgentId,
    /// The credential it came with.
    #[n(6)]
    pub key: KeyId,
    /// Whether the writer waits.
    #[n(7)]
    pub hold: Hold,
    /// R, 0 to 1.
    #[n(8)]
    pub risk: f64,
    /// By when a person should have decided; for a writer that waits, must have.
    #[n(9)]
    pub deadline: Timestamp,
    /// How many people must say yes.
    #[n(10)]
    pub approvals_min: u32,
    /// Keyed fingerprint of the idempotency token and its scope.
    #[cbor(n(11), with = "minicbor::bytes")]
    pub token: Hash,
    /// Keyed fingerprint of the request id and its scope.
    #[cbor(n(12), with = "minicbor::bytes")]
    pub request: Option<Hash>,
    /// How many known items it speaks against.
    #[n(13)]
    pub against: u32,
    /// For a write that others would see: the shared items of other users that it speaks against.
    #[n(14)]
    pub opposes: Option<Vec<ItemId>>,
}

words! {
    /// What became of a held write.
    Decision {
        /// One person said yes; another one must too.
        0 Seconded = "seconded",
        /// A person said yes: it is committed with this entry.
        1 Approved = "approved",
        /// A person said no.
        2 Rejected = "rejected",
        /// Its author took it back, to change it or for good.
        3 Withdrawn = "withdrawn",
        /// Nobody answered while the writer waited.
        4 TimedOut = "timed_out",
        /// A person said no because it is false.
        5 RejectedAsFalse = "rejected_as_false",
        /// A gate refused it when it came back from review.
        6 Refused = "refused",
        /// A person said no because it breaks a rule.
        7 RejectedAsViolation = "rejected_as_violation",
        /// What came to light since bears it out: it is committed with this entry (CAL-34).
        8 Promoted = "promoted",
    }
}

/// Who did what, and how it ended: one row per operation.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct AuditRecord {
    /// The operation, by its name in the engine.
    #[n(0)]
    pub action: String,
    /// `ok`, a status of success, or the code of the refusal.
    #[n(1)]
    pub outcome: String,
    /// The access epoch under which it was decided.
    #[n(2)]
    pub epoch: u64,
    /// The memory log's position at that time.
    #[n(3)]
    pub memory: super::Lsn,
    /// What it concerned, as text ids.
    #[n(4)]
    pub ids: Vec<String>,
    /// Keyed fingerprint of a query.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub query: Option<Hash>,
    /// The request, as the transport numbered it.
    #[n(6)]
    pub request_id: Option<String>,
    /// Keyed fingerprint of the trace that the caller named.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub trace: Option<Hash>,
    /// What policies made of it; none where none held and nothing was changed.
    #[n(8)]
    pub shaped: Option<super::Shaped>,
}

/// What is sealed beside an event.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
pub enum Payload {
    /// What a version says and where it comes from, both as canonical JSON.
    #[n(0)]
    Version {
        /// The content.
        #[n(0)]
        content: ByteVec,
        /// The provenance record.
        #[n(1)]
        provenance: ByteVec,
        /// HMAC-SHA-256 over those bytes.
        #[cbor(n(2), with = "minicbor::bytes")]
        signature: Hash,
        /// The namespace, which a person chose.
        #[n(3)]
        namespace: String,
    },
    /// A tenant, user, agent or resource, by its words.
    #[n(1)]
    Principal(#[n(0)] Principal),
    /// Why something was done.
    #[n(2)]
    Reason(#[n(0)] String),
    /// A write that waits for a person.
    #[n(3)]
    Staged {
        /// The write, as JSON.
        #[n(0)]
        write: ByteVec,
        /// What was found, as JSON.
        #[n(1)]
        findings: ByteVec,
    },
    /// A policy or a role: its name, and its body as JSON.
    #[n(4)]
    Policy {
        /// The name.
        #[n(0)]
        name: String,
        /// The body.
        #[n(1)]
        body: ByteVec,
    },
    /// A schema, as JSON.
    #[n(5)]
    Schema(#[n(0)] ByteVec),
}

/// The words that describe a principal.
#[derive(Debug, Clone, PartialEq, Eq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Principal {
    /// Its name, unique among its kind.
    #[n(0)]
    pub name: String,
    /// An agent's specialisation, a resource's kind.
    #[n(1)]
    pub kind: Option<String>,
    /// What it is.
    #[n(2)]
    pub description: Option<String>,
    /// An agent's family of models, where it is known (CAL-38).
    #[n(3)]
    pub family: Option<String>,
}

impl Payload {
    /// The bytes to seal.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1024);
        // INVARIANT (a Vec takes every byte), as for entries.
        let _infallible = minicbor::encode(self, &mut bytes);
        bytes
    }

    /// The payload of these bytes.
    ///
    /// # Errors
    /// When they are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, super::NotAnEntry> {
        minicbor::decode(bytes).map_err(|_| super::NotAnEntry)
    }
}
