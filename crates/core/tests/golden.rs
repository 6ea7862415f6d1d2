//! Golden vectors: the bytes of an entry, a head and a sealed part, as any other program must make them.
//!
//! A change here is a change of the format: old logs would no longer verify.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

use tabellion_core::access::Role;
use tabellion_core::canonical::hex;
use tabellion_core::gate::Hold;
use tabellion_core::id::{AgentId, ItemId, KeyId, ResourceId, ReviewId, RoleId, TenantId, UserId, VersionId};
use tabellion_core::item::{Layer, Operation, Tier};
use tabellion_core::log::{
    AcceptedLoss, Actor, AgentStatus, AnomalySignal, Audit, AuditRecord, Calibration, Decision, Edge, Entry,
    Event, Frontier, GrantedEdge, Head, HeldRole, Holder, IssuedKey, LogName, LostPart, Lsn, Mark,
    MemoryKind, PairAction, PairHold, Party, Payload, Principal, Prints, Reason, Recheck, ReportedOutcome,
    ResourceStatus, SealedRef, Shaped, SigningKey, Space, StagedWrite, Support, TrustMove, UserAgentPair,
    UserStatus, Ways, Weighed, WrittenVersion, leaf_hash,
};
use tabellion_core::seal::{DataKey, Sealed, Secret, commitment};
use tabellion_core::time::Timestamp;
use tabellion_core::trust::Stored;

fn actor() -> Actor {
    Actor { user: Some(UserId::from_bytes([1; 16])), agent: Some(AgentId::from_bytes([2; 16])) }
}

fn entry(lsn: u64, actor: Actor, event: Event, sealed: Option<SealedRef>) -> Entry {
    Entry { lsn: Lsn::new(lsn), time: Timestamp::from_micros(1_794_700_800_000_000), actor, event, sealed }
}

fn entries() -> Vec<(&'static str, Entry)> {
    let tenant = TenantId::from_bytes([9; 16]);
    let sealed = Some(SealedRef { key: 7, commitment: [8; 32] });
    let written = WrittenVersion {
        operation: Operation::Update,
        item: ItemId::from_bytes([3; 16]),
        version: VersionId::from_bytes([4; 16]),
        parents: vec![VersionId::from_bytes([5; 16])],
        layer: Layer::Episodic,
        tier: Tier::Private,
        owner: UserId::from_bytes([1; 16]),
        agents: vec![AgentId::from_bytes([2; 16])],
        resources: vec![ResourceId::from_bytes([6; 16])],
        confidence: 0.8,
        token: [10; 32],
        request: None,
        expires_at: Some(Timestamp::from_micros(1_794_700_800_000_001)),
        prints: Prints { content: [20; 32], triple: Some([21; 32]), session: None },
        sources: vec![VersionId::from_bytes([22; 16])],
        review: Some(ReviewId::from_bytes([23; 16])),
        against: 1,
        origin: None,
        said_at: None,
    };
    let issued = IssuedKey {
        key: KeyId::from_bytes([11; 16]),
        fingerprint: [12; 32],
        user: Some(UserId::from_bytes([1; 16])),
        agent: None,
        expires_at: None,
    };
    let audited = AuditRecord {
        action: "write".into(),
        outcome: "committed".into(),
        epoch: 4,
        memory: Lsn::new(300),
        ids: vec!["itm_x".into()],
        query: None,
        request_id: Some("r".into()),
        trace: Some([17; 32]),
        shaped: None,
    };
    let shaped = AuditRecord {
        shaped: Some(Shaped { policies: vec![Lsn::new(309)], transformed: true }),
        ..audited.clone()
    };
    let item = ItemId::from_bytes([3; 16]);
    let version = VersionId::from_bytes([4; 16]);
    let (agent, review) = (AgentId::from_bytes([2; 16]), ReviewId::from_bytes([23; 16]));
    vec![
        (
            "tenant_created",
            entry(
                1,
                Actor::SERVER,
                Event::TenantCreated { tenant, public_key: [13; 32], operator: true },
                sealed,
            ),
        ),
        (
            "user_created",
            entry(
                2,
                Actor::SERVER,
                Event::UserCreated { user: UserId::from_bytes([1; 16]), role: Role::Admin },
                sealed,
            ),
        ),
        (
            "agent_created",
            entry(
                3,
                Actor::SERVER,
                Event::AgentCreated { agent: AgentId::from_bytes([2; 16]), trust_declared: true },
                sealed,
            ),
        ),
        (
            "resource_created",
            entry(4, actor(), Event::ResourceCreated { resource: ResourceId::from_bytes([6; 16]) }, sealed),
        ),
        ("key_issued", entry(5, actor(), Event::KeyIssued(issued), None)),
        ("key_revoked", entry(6, actor(), Event::KeyRevoked { key: KeyId::from_bytes([11; 16]) }, None)),
        ("version_written", entry(300, actor(), Event::VersionWritten(written.clone()), sealed)),
        ("version_written_after_a_wait", entry(300, actor(), Event::VersionWritten(waited(written)), sealed)),
        (
            "version_retracted",
            entry(301, actor(), Event::VersionRetracted { item, version, found_false: None }, sealed),
        ),
        (
            "version_retracted_without_blame",
            entry(301, actor(), Event::VersionRetracted { item, version, found_false: Some(false) }, sealed),
        ),
        ("version_expired", entry(302, Actor::SERVER, Event::VersionExpired { item, version }, None)),
        ("item_pinned", entry(303, actor(), Event::ItemPinned { item }, None)),
        ("item_unpinned", entry(304, actor(), Event::ItemUnpinned { item }, None)),
        ("write_staged", entry(305, actor(), Event::WriteStaged(staged()), sealed)),
        (
            "write_staged_against_others",
            entry(
                305,
                actor(),
                Event::WriteStaged(StagedWrite { opposes: Some(vec![item]), ..staged() }),
                sealed,
            ),
        ),
        (
            "review_decided",
            entry(306, actor(), Event::ReviewDecided { review, decision: Decision::Approved }, sealed),
        ),
        ("item_quarantined", entry(307, actor(), Event::ItemQuarantined { item }, sealed)),
        ("item_released", entry(308, actor(), Event::ItemReleased { item }, sealed)),
        ("policy_set", entry(309, actor(), Event::PolicySet, sealed)),
        ("schema_set", entry(310, actor(), Event::SchemaSet, sealed)),
        ("agent_suspended", entry(311, actor(), Event::AgentSuspended { agent }, sealed)),
        ("agent_resumed", entry(312, actor(), Event::AgentResumed { agent }, sealed)),
        ("edge_granted", entry(313, actor(), Event::EdgeGranted(granted()), sealed)),
        (
            "edge_revoked",
            entry(314, actor(), Event::EdgeRevoked { edge: granted().edge, support: None }, sealed),
        ),
        (
            "edge_of_a_role_revoked",
            entry(
                315,
                actor(),
                Event::EdgeRevoked {
                    edge: Edge::Use(agent, ResourceId::from_bytes([6; 16])),
                    support: Some(Support::Role(RoleId::from_bytes([25; 16]))),
                },
                sealed,
            ),
        ),
        (
            "agent_status_set",
            entry(316, actor(), Event::AgentStatusSet { agent, status: AgentStatus::Retired }, sealed),
        ),
        (
            "item_reverified",
            entry(
                317,
                Actor::SERVER,
                Event::ItemReverified { item, version, finding: Recheck::SourceWithdrawn },
                None,
            ),
        ),
        ("role_set", entry(324, actor(), Event::RoleSet { role: held().role }, sealed)),
        ("role_assigned", entry(325, actor(), Event::RoleAssigned(held()), sealed)),
        (
            "role_unassigned",
            entry(
                326,
                actor(),
                Event::RoleUnassigned { role: held().role, holder: Holder::Agent(agent) },
                sealed,
            ),
        ),
        (
            "user_status_set",
            entry(
                340,
                actor(),
                Event::UserStatusSet { user: UserId::from_bytes([1; 16]), status: UserStatus::Disabled },
                sealed,
            ),
        ),
        (
            "user_role_set",
            entry(
                341,
                actor(),
                Event::UserRoleSet { user: UserId::from_bytes([1; 16]), role: Role::Auditor },
                sealed,
            ),
        ),
        (
            "resource_status_set",
            entry(
                342,
                actor(),
                Event::ResourceStatusSet {
                    resource: ResourceId::from_bytes([6; 16]),
                    status: ResourceStatus::Retired,
                },
                sealed,
            ),
        ),
        ("calibrated", entry(327, actor(), Event::Calibrated(calibrated()), None)),
        (
            "calibrated_relation",
            entry(
                331,
                actor(),
                Event::Calibrated(Calibration {
                    kind: MemoryKind::Relations,
                    audits: Vec::new(),
                    ways: Some(Ways { supports: Some(vec![0.49, 0.7]), adjust: -1, rounds: 5 }),
                    ..calibrated()
                }),
                None,
            ),
        ),
        (
            "calibrated_in_the_open",
            entry(
                328,
                actor(),
                Event::Calibrated(Calibration {
                    weighed: Weighed::Version(version),
                    space: Space {
                        tier: Tier::Private,
                        owner: Some(UserId::from_bytes([1; 16])),
                        labels: None,
                        ..calibrated().space
                    },
                    kind: MemoryKind::Relations,
                    party: Party::User(UserId::from_bytes([1; 16])),
                    mark: Mark::Provisional,
                    audits: Vec::new(),
                    gated: false,
                    ..calibrated()
                }),
                None,
            ),
        ),
        (
            "calibrated_near_others",
            entry(
                333,
                Actor::SERVER,
                Event::Calibrated(Calibration { agreement: Some(0.875), ..calibrated() }),
                None,
            ),
        ),
        (
            "trust_moved_near_others",
            entry(
                334,
                Actor::SERVER,
                Event::TrustMoved(TrustMove { agreement: Some(0.9375), ..trust_moved() }),
                None,
            ),
        ),
        ("trust_moved", entry(329, Actor::SERVER, Event::TrustMoved(trust_moved()), None)),
        (
            "review_promoted",
            entry(330, Actor::SERVER, Event::ReviewDecided { review, decision: Decision::Promoted }, None),
        ),
        ("audited", entry(1, actor(), Event::Audited(audited), None)),
        ("audited_under_policies", entry(2, actor(), Event::Audited(shaped), None)),
        ("loss_accepted", entry(335, Actor::SERVER, Event::LossAccepted(loss(Some([32; 32]))), None)),
        ("loss_accepted_without_root", entry(336, Actor::SERVER, Event::LossAccepted(loss(None)), None)),
        ("pair_held", entry(337, Actor::SERVER, Event::PairHeld(pair_held()), None)),
        (
            "pair_released",
            entry(
                338,
                actor(),
                Event::PairReleased(UserAgentPair { user: UserId::from_bytes([1; 16]), agent }),
                sealed,
            ),
        ),
        (
            "outcome_reported",
            entry(
                339,
                actor(),
                Event::OutcomeReported(ReportedOutcome { versions: vec![version], good: true }),
                None,
            ),
        ),
    ]
}

fn waited(written: WrittenVersion) -> WrittenVersion {
    WrittenVersion { said_at: Some(Timestamp::from_micros(1_794_700_000_000_000)), ..written }
}

fn pair_held() -> PairHold {
    PairHold {
        user: UserId::from_bytes([1; 16]),
        agent: AgentId::from_bytes([2; 16]),
        action: PairAction::Hold,
        signals: vec![AnomalySignal::Burst, AnomalySignal::Contradictions],
        until: Timestamp::from_micros(1_794_787_200_000_000),
    }
}

fn loss(root: Option<[u8; 32]>) -> AcceptedLoss {
    AcceptedLoss { part: LostPart::Memory, found: 300, seen: 334, root }
}

fn calibrated() -> Calibration {
    Calibration {
        weighed: Weighed::Staged(ReviewId::from_bytes([23; 16])),
        space: Space {
            namespace: [26; 32],
            tier: Tier::Shared,
            owner: None,
            agents: vec![AgentId::from_bytes([2; 16]), AgentId::from_bytes([27; 16])],
            resources: vec![ResourceId::from_bytes([6; 16])],
            labels: Some([28; 32]),
        },
        kind: MemoryKind::Items,
        party: Party::Agent(AgentId::from_bytes([2; 16])),
        detect: 0.25,
        align: 0.81,
        rho: 0.45,
        threshold: 0.5,
        stored: Stored { evidence: 0.45, count: 1.0 },
        mark: Mark::Correlated,
        audits: vec![
            Audit {
                agent: AgentId::from_bytes([27; 16]),
                probe: Some([29; 32]),
                valid: Some(true),
                step: 0.3,
            },
            Audit { agent: AgentId::from_bytes([30; 16]), probe: None, valid: None, step: 0.5 },
        ],
        gated: true,
        ways: None,
        agreement: None,
    }
}

fn trust_moved() -> TrustMove {
    TrustMove {
        weighed: Weighed::Staged(ReviewId::from_bytes([23; 16])),
        reason: Reason::Corroborated,
        score: 1.0,
        mass: 0.75,
        parties: vec![Party::User(UserId::from_bytes([1; 16]))],
        detect: Some(0.5),
        demoted: false,
        agreement: None,
    }
}

fn granted() -> GrantedEdge {
    GrantedEdge {
        edge: Edge::Invoke(UserId::from_bytes([1; 16]), AgentId::from_bytes([2; 16])),
        support: Support::Direct,
        not_before: None,
        expires_at: Some(Timestamp::from_micros(1_794_700_800_000_001)),
    }
}

fn held() -> HeldRole {
    HeldRole {
        role: RoleId::from_bytes([25; 16]),
        holder: Holder::User(UserId::from_bytes([1; 16])),
        not_before: None,
        expires_at: Some(Timestamp::from_micros(1_794_700_800_000_001)),
    }
}

fn staged() -> StagedWrite {
    StagedWrite {
        opposes: None,
        review: ReviewId::from_bytes([23; 16]),
        item: None,
        layer: Layer::Semantic,
        tier: Tier::Private,
        owner: UserId::from_bytes([1; 16]),
        agent: AgentId::from_bytes([2; 16]),
        key: KeyId::from_bytes([11; 16]),
        hold: Hold::Async,
        risk: 0.359,
        deadline: Timestamp::from_micros(1_794_700_800_000_000),
        approvals_min: 1,
        token: [24; 32],
        request: None,
        against: 1,
    }
}

/// Every line of the golden file: a name and what it must be.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    let mut tree = Frontier::default();
    for (name, entry) in entries() {
        let body = entry.encode();
        assert_eq!(Entry::decode(&body).unwrap(), entry, "{name}");
        tree.append(leaf_hash(&body), &mut Vec::new());
        lines.push(format!("entry {name} {}", hex(&body)));
        lines.push(format!("leaf {name} {}", hex(&leaf_hash(&body))));
    }
    lines.push(format!("root {}", hex(&tree.root())));
    let tenant = TenantId::from_bytes([9; 16]);
    let key = SigningKey::from_seed(&Secret::from_bytes([14; 32]));
    let head =
        Head { size: tree.size(), time: Timestamp::from_micros(1_794_700_800_000_000), root: tree.root() };
    lines.push(format!("public_key {}", hex(&key.verifying_key().to_bytes())));
    for log in LogName::ALL {
        lines.push(format!("signature {} {}", log.as_str(), hex(&key.sign(tenant, log, head).signature)));
    }
    let payload = Payload::Principal(Principal {
        name: "ana".into(),
        description: Some("a person".into()),
        ..Principal::default()
    });
    let data_key = DataKey { id: 7, secret: Secret::from_bytes([15; 32]) };
    let sealed = Sealed::close(tenant, &data_key, &[16; 28], &payload.encode());
    lines.push(format!("payload {}", hex(&payload.encode())));
    lines.push(format!("sealed {}", hex(&sealed.bytes)));
    lines.push(format!("commitment {}", hex(&commitment(&sealed.bytes))));
    let of_family = Principal { name: "bot".into(), family: Some("gpt".into()), ..Principal::default() };
    lines.push(format!("payload of_family {}", hex(&Payload::Principal(of_family).encode())));
    lines
}

/// GOV-5.4: one canonical encoding, fixed for ever.
#[test]
fn bytes_are_as_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, lines().join("\n") + "\n").unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert_eq!(golden.lines().collect::<Vec<_>>(), lines());
}

/// Bytes that are not canonical are not an entry, however close: a longer integer, a trailing byte, an indefinite length.
#[test]
fn other_encodings_are_refused() {
    for (name, entry) in entries() {
        let body = entry.encode();
        let mut trailing = body.clone();
        trailing.push(0);
        assert!(Entry::decode(&trailing).is_err(), "{name}: a trailing byte");
        let mut indefinite = body.clone();
        indefinite[0] = 0x9f;
        indefinite.push(0xff);
        assert!(Entry::decode(&indefinite).is_err(), "{name}: an indefinite length");
        assert!(Entry::decode(&body[..body.len() - 1]).is_err(), "{name}: cut short");
    }
    let longer = [&[0x85, 0x18, 0x01][..], &entries()[0].1.encode()[2..]].concat();
    assert!(Entry::decode(&longer).is_err(), "a longer form of 1");
}
