//! Rows that are kept for a caller, while roles and Cedar policies change what that is.

use tabellion_core::access::{BuiltIn, Predicate, Role, visible_to_pair};
use tabellion_core::id::{AgentId, ItemId, RoleId, UserId, VersionId};
use tabellion_core::item::{Layer, Operation, Tier};
use tabellion_core::log::{
    Actor, Edge, Entry, Event, GrantedEdge, HeldRole, Holder, Lsn, Prints, Support, WrittenVersion,
};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Opened, OpenedVersion, RoleTemplate, SeenRows, Views};

const ANA: UserId = UserId::from_bytes([1; 16]);
const BOB: UserId = UserId::from_bytes([2; 16]);
const MARKET: AgentId = AgentId::from_bytes([3; 16]);

fn append(views: &mut Views, event: Event, opened: &Opened) {
    let lsn = Lsn::new(views.lsn().get() + 1);
    let time = Timestamp::default().plus(Period::from_secs(lsn.get()));
    views.apply(&Entry { lsn, time, actor: Actor::SERVER, event, sealed: None }, opened);
}

/// Ana's shared items, one of each kind.
fn write(views: &mut Views, number: u8, kind: &str) {
    let written = WrittenVersion {
        operation: Operation::Insert,
        item: ItemId::from_bytes([number; 16]),
        version: VersionId::from_bytes([number; 16]),
        parents: Vec::new(),
        layer: Layer::Episodic,
        tier: Tier::Shared,
        owner: ANA,
        agents: vec![MARKET],
        resources: Vec::new(),
        confidence: 0.5,
        token: [number; 32],
        request: None,
        expires_at: None,
        prints: Prints { content: [number; 32], ..Prints::default() },
        sources: Vec::new(),
        review: None,
        against: 0,
        origin: None,
        said_at: None,
    };
    let content = serde_json::json!({"kind": kind, "text": "x"}).to_string().into_bytes();
    let opened = OpenedVersion { namespace: "default".to_owned(), content, provenance: Vec::new() };
    append(views, Event::VersionWritten(written), &Opened::Version(opened));
}

fn cedar(views: &mut Views, text: Option<&str>) {
    let body = text.map(|text| serde_json::json!({"kind": "cedar", "text": text}).to_string());
    let opened = Opened::Policy("no-memos".to_owned(), body.unwrap_or_default().into_bytes());
    append(views, Event::PolicySet, &opened);
}

fn assign(views: &mut Views, role: BuiltIn) {
    let (role, holder) = (role.id(), Holder::Agent(MARKET));
    let held = HeldRole { role, holder, not_before: None, expires_at: None };
    append(views, Event::RoleAssigned(held), &Opened::Nothing);
}

fn seen_by_bob(views: &Views) -> Predicate {
    visible_to_pair(BOB, Some(MARKET), views, Moment { lsn: views.lsn(), time: views.time() })
}

fn world() -> Views {
    let mut views = Views::default();
    for user in [ANA, BOB] {
        append(&mut views, Event::UserCreated { user, role: Role::Member }, &Opened::Nothing);
        let edge = Edge::Invoke(user, MARKET);
        let granted = GrantedEdge { edge, support: Support::Direct, not_before: None, expires_at: None };
        append(&mut views, Event::EdgeGranted(granted), &Opened::Nothing);
    }
    append(&mut views, Event::AgentCreated { agent: MARKET, trust_declared: true }, &Opened::Nothing);
    write(&mut views, 10, "memo");
    write(&mut views, 11, "note");
    views
}

/// SHARE-5, SHARE-31, SHARE-36: kept rows are those of now after every change of a role or a Cedar policy, and the number that
/// a read is held to has moved.
#[test]
fn kept_rows_lapse_with_roles_and_policies() {
    let mut views = world();
    let mut kept = SeenRows::gather(&views.items, &seen_by_bob(&views));
    assert_eq!(kept.rows().len(), 2);
    let mut epoch = views.access_epoch();
    let mut check = |views: &Views, rows: u64, what: &str| {
        let predicate = seen_by_bob(views);
        assert!(!kept.is_current(&views.items, &predicate), "{what}");
        kept.follow(&views.items, &predicate);
        assert_eq!(kept, SeenRows::gather(&views.items, &predicate), "{what}");
        assert_eq!(kept.rows().len(), rows, "{what}");
        assert!(views.access_epoch() > epoch, "{what}");
        epoch = views.access_epoch();
    };
    cedar(&mut views, Some(r#"forbid(principal, action, resource) when { resource.kind == "memo" };"#));
    check(&views, 1, "a forbid");
    cedar(&mut views, None);
    check(&views, 2, "no forbid");
    assign(&mut views, BuiltIn::CanonicalReader);
    check(&views, 0, "a role that reads no episodes");
    assign(&mut views, BuiltIn::Executor);
    check(&views, 2, "a role that does");
    let holder = Holder::Agent(MARKET);
    append(&mut views, Event::RoleUnassigned { role: BuiltIn::Executor.id(), holder }, &Opened::Nothing);
    check(&views, 0, "that one taken away");
    let opened = Opened::Policy("clerks".to_owned(), RoleTemplate::default().to_json());
    let before = views.access_epoch();
    append(&mut views, Event::RoleSet { role: RoleId::from_bytes([7; 16]) }, &opened);
    assert!(views.access_epoch() > before, "a role that changes");
}
