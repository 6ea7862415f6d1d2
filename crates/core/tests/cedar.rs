//! Roles and Cedar policies over a log, against plain sets.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "cedar/following.rs"]
mod following;

use proptest::prelude::*;
use std::collections::BTreeSet;
use tabellion_core::access::{
    Barrier, BuiltIn, CEDAR_TEXT_BYTES_MAX, Power, Role, barriers, check_cedar, powers, powers_by,
    visible_to_pair,
};
use tabellion_core::error::Refusal;
use tabellion_core::id::{AgentId, ItemId, ResourceId, RoleId, UserId, VersionId};
use tabellion_core::item::{Layer, Operation, Tier};
use tabellion_core::log::{
    Actor, Edge, Entry, Event, GrantedEdge, HeldRole, Holder, Lsn, Principal, Prints, Support, WrittenVersion,
};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Opened, OpenedVersion, RoleTemplate, Views};

const ANA: UserId = UserId::from_bytes([1; 16]);
const BOB: UserId = UserId::from_bytes([2; 16]);
const MARKET: AgentId = AgentId::from_bytes([3; 16]);
const FINANCE: AgentId = AgentId::from_bytes([4; 16]);
const LEDGER: ResourceId = ResourceId::from_bytes([5; 16]);
const WIKI: ResourceId = ResourceId::from_bytes([6; 16]);
const CLERKS: RoleId = RoleId::from_bytes([7; 16]);

struct World {
    views: Views,
    items: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self { views: Views::default(), items: 0 };
        let named = |name: &str, kind: Option<&str>| {
            Opened::Principal(Principal {
                name: name.to_owned(),
                kind: kind.map(str::to_owned),
                ..Principal::default()
            })
        };
        world.append(Event::UserCreated { user: ANA, role: Role::Admin }, &named("ana", None));
        world.append(Event::UserCreated { user: BOB, role: Role::Member }, &named("bob", None));
        for (agent, name) in [(MARKET, "market"), (FINANCE, "finance")] {
            world.append(Event::AgentCreated { agent, trust_declared: true }, &named(name, Some("medical")));
        }
        for (resource, name) in [(LEDGER, "ledger"), (WIKI, "wiki")] {
            world.append(Event::ResourceCreated { resource }, &named(name, None));
        }
        for user in [ANA, BOB] {
            for agent in [MARKET, FINANCE] {
                world.grant(Edge::Invoke(user, agent));
            }
        }
        for agent in [MARKET, FINANCE] {
            for resource in [LEDGER, WIKI] {
                world.grant(Edge::Use(agent, resource));
            }
        }
        world
    }

    fn append(&mut self, event: Event, opened: &Opened) {
        let lsn = Lsn::new(self.views.lsn().get() + 1);
        let time = Timestamp::default().plus(Period::from_secs(lsn.get()));
        self.views.apply(&Entry { lsn, time, actor: Actor::SERVER, event, sealed: None }, opened);
    }

    fn grant(&mut self, edge: Edge) {
        let granted = GrantedEdge { edge, support: Support::Direct, not_before: None, expires_at: None };
        self.append(Event::EdgeGranted(granted), &Opened::Nothing);
    }

    fn cedar(&mut self, name: &str, text: &str) {
        let body = serde_json::json!({"kind": "cedar", "text": text}).to_string().into_bytes();
        self.append(Event::PolicySet, &Opened::Policy(name.to_owned(), body));
    }

    fn uncedar(&mut self, name: &str) {
        self.append(Event::PolicySet, &Opened::Policy(name.to_owned(), Vec::new()));
    }

    fn role(&mut self, role: RoleId, name: &str, template: &RoleTemplate) {
        let opened = Opened::Policy(name.to_owned(), template.to_json());
        self.append(Event::RoleSet { role }, &opened);
    }

    fn assign(&mut self, role: RoleId, holder: Holder, expires_at: Option<Timestamp>) {
        let held = HeldRole { role, holder, not_before: None, expires_at };
        self.append(Event::RoleAssigned(held), &Opened::Nothing);
    }

    fn write(&mut self, of: &Made) -> ItemId {
        self.items += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.items.to_be_bytes());
        let mut token = [0; 32];
        token[..16].copy_from_slice(&bytes);
        let item = ItemId::from_bytes(bytes);
        let written = WrittenVersion {
            operation: Operation::Insert,
            item,
            version: VersionId::from_bytes(bytes),
            parents: Vec::new(),
            layer: of.layer,
            tier: of.tier,
            owner: of.owner,
            agents: of.agents.iter().copied().collect(),
            resources: of.resources.iter().copied().collect(),
            confidence: 0.5,
            token,
            request: None,
            expires_at: None,
            prints: Prints { content: token, ..Prints::default() },
            sources: Vec::new(),
            review: None,
            against: 0,
            origin: None,
            said_at: None,
        };
        let tags: Vec<String> = of.labels.iter().map(|label| format!("label:{label}")).collect();
        let content = serde_json::json!({"kind": of.kind, "text": "x", "tags": tags});
        let opened = Opened::Version(OpenedVersion {
            namespace: "default".to_owned(),
            content: content.to_string().into_bytes(),
            provenance: Vec::new(),
        });
        self.append(Event::VersionWritten(written), &opened);
        item
    }

    fn now(&self) -> Moment {
        Moment { lsn: self.views.lsn(), time: self.views.time() }
    }

    fn sees(&self, user: UserId, agent: AgentId, item: ItemId) -> bool {
        self.saw(user, agent, item, self.now())
    }

    fn saw(&self, user: UserId, agent: AgentId, item: ItemId, at: Moment) -> bool {
        let predicate = visible_to_pair(user, Some(agent), &self.views, at);
        self.views.items.visible_head(item, &predicate, self.now()).is_some()
    }

    fn refused(&self, text: &str) -> Refusal {
        check_cedar(text, &self.views).unwrap_err()
    }
}

/// What a version is made with.
#[derive(Debug, Clone)]
struct Made {
    owner: UserId,
    agents: BTreeSet<AgentId>,
    resources: BTreeSet<ResourceId>,
    kind: &'static str,
    labels: BTreeSet<&'static str>,
    layer: Layer,
    tier: Tier,
}

fn note() -> Made {
    Made {
        owner: ANA,
        agents: BTreeSet::from([MARKET]),
        resources: BTreeSet::new(),
        kind: "note",
        labels: BTreeSet::new(),
        layer: Layer::Episodic,
        tier: Tier::Private,
    }
}

/// SHARE-31, SHARE-35: a forbid by kind, resource, tier, label, user, agent and role takes away exactly that, at once, and
/// gives it back when it goes.
#[test]
fn a_forbid_takes_away_exactly_what_it_names() {
    let mut world = World::new();
    world.assign(BuiltIn::Verifier.id(), Holder::Agent(FINANCE), None);
    let plain = world.write(&note());
    let memo = world.write(&Made { kind: "memo", ..note() });
    let sourced = world.write(&Made { resources: BTreeSet::from([LEDGER]), ..note() });
    let secret = world.write(&Made { labels: BTreeSet::from(["secret"]), ..note() });
    let shared = world.write(&Made { tier: Tier::Shared, ..note() });
    let all = [plain, memo, sourced, secret, shared];
    let check = |world: &mut World, when: &str, hidden: &[ItemId]| {
        let text = format!("forbid(principal, action == Action::\"read\", resource) when {{ {when} }};");
        assert_eq!(check_cedar(&text, &world.views), Ok(1), "{text}");
        world.cedar("rule", &text);
        let seen: Vec<ItemId> = all.into_iter().filter(|item| world.sees(ANA, MARKET, *item)).collect();
        let expected: Vec<ItemId> = all.into_iter().filter(|item| !hidden.contains(item)).collect();
        assert_eq!(seen, expected, "{when}");
        world.uncedar("rule");
        assert!(all.into_iter().all(|item| world.sees(ANA, MARKET, item)), "it goes with the policy");
    };
    check(&mut world, "resource.kind == \"memo\"", &[memo]);
    check(&mut world, "resource.resources.contains(Resource::\"ledger\")", &[sourced]);
    check(&mut world, &format!("resource.resources.contains(Resource::\"{LEDGER}\")"), &[sourced]);
    check(&mut world, "resource.tier == \"shared\"", &[shared]);
    check(&mut world, "resource.labels.contains(\"secret\")", &[secret]);
    check(&mut world, "resource.agents.contains(Agent::\"finance\")", &[]);
    check(&mut world, "principal == User::\"ana\"", &all);
    check(&mut world, "principal == User::\"bob\"", &[]);
    check(&mut world, "context.agent == Agent::\"market\"", &all);
    check(&mut world, "context.agent in Role::\"verifier\"", &[]);
    check(&mut world, "principal in Role::\"tenant_admin\"", &all);
    check(
        &mut world,
        "context.agent.specialisation == \"medical\" && !resource.labels.contains(\"secret\")",
        &[plain, memo, sourced, shared],
    );
}

/// SHARE-31: a permit of the tenant's own widens nothing; Cedar is asked only about what the graphs admit.
#[test]
fn a_permit_widens_nothing() {
    let mut world = World::new();
    let private = world.write(&note());
    world.cedar("all", "permit(principal, action == Action::\"read\", resource);");
    assert!(world.sees(ANA, MARKET, private) && !world.sees(BOB, MARKET, private));
    let ledger = world.write(&Made { resources: BTreeSet::from([LEDGER]), ..note() });
    let edge = Edge::Use(MARKET, LEDGER);
    world.append(Event::EdgeRevoked { edge, support: None }, &Opened::Nothing);
    assert!(!world.sees(ANA, MARKET, ledger) && world.sees(ANA, FINANCE, ledger));
}

/// SHARE-31: what cannot be evaluated is a no, of a permit too; and so is a kept text that no longer is Cedar.
#[test]
fn an_error_is_a_no() {
    let mut world = World::new();
    let item = world.write(&note());
    for effect in ["forbid", "permit"] {
        let text = format!(
            "{effect}(principal, action == Action::\"read\", resource) when {{ 9223372036854775807 + 1 == 0 }};"
        );
        assert_eq!(check_cedar(&text, &world.views), Ok(1));
        world.cedar("overflow", &text);
        assert!(!world.sees(ANA, MARKET, item), "{effect}");
        let class = &world.views.items.classes()[0];
        let why = barriers(ANA, Some(MARKET), class, &world.views, world.now());
        assert_eq!(why, [Barrier::Policy("overflow".to_owned())]);
        world.uncedar("overflow");
        assert!(world.sees(ANA, MARKET, item));
    }
    world.cedar("broken", "forbid(");
    assert!(!world.sees(ANA, MARKET, item));
    assert!(powers(&world.views, ANA, world.views.time()).are_all(), "whoever can mend it still may");
}

/// SHARE-31: strict validation: other attributes, types and names are refused, with where they stand.
#[test]
fn a_text_that_does_not_validate_is_refused_with_its_place() {
    let world = World::new();
    let check = |text: &str, part: &str| {
        let refusal = world.refused(text);
        let told =
            refusal.errors.iter().filter_map(|fault| fault.actual.as_deref().or(fault.expected.as_deref()));
        let told: Vec<&str> = told.collect();
        assert!(told.iter().any(|one| one.contains(part)), "{part} in {told:?}");
    };
    check(
        "forbid(principal, action == Action::\"read\", resource)\nwhen { resource.text == \"x\" };",
        "line 2, column 8",
    );
    check(
        "forbid(principal, action == Action::\"read\", resource)\nwhen { resource.owner == \"x\" };",
        "owner",
    );
    check("forbid(principal, action == Action::\"read\", resource) when { resource.kind == 3 };", "line 1");
    check("forbid(principal, action, resource", "line 1");
    check("forbid(principal == User::\"nobody\", action, resource);", "nobody");
    check("forbid(principal in Role::\"none\", action, resource);", "none");
    check("forbid(principal, action, resource == Fragment::\"1\");", "Fragment");
    check("forbid(principal == ?principal, action, resource);", "slots");
    check("forbid(principal, action == Action::\"paint\", resource);", "paint");
    check("", "1 to 100 policies");
    check(&"forbid(principal, action, resource);".repeat(101), "1 to 100 policies");
    check(&"x".repeat(CEDAR_TEXT_BYTES_MAX + 1), "bytes");
    let several =
        "forbid(principal, action == Action::\"read\", resource); permit(principal, action, resource);";
    assert_eq!(check_cedar(several, &world.views), Ok(2));
}

/// SHARE-31: no text exhausts the stack, however it is nested: what is too deep is refused before it is parsed, and the
/// deepest that is not can be validated, evaluated and dropped.
#[test]
fn deep_texts_are_refused_or_evaluated() {
    let mut world = World::new();
    let item = world.write(&note());
    let chains = [
        ("", "true && ", "true"),
        ("", "true || ", "true"),
        ("", "if true then true else ", "true"),
        ("", "if ", "true"),
        ("0", " + 0", " == 0"),
        ("0", "-0", "==0"),
        ("0", "*0", "==0"),
        ("", "!", "true"),
        ("", "(", "true"),
        ("", "[", "true"),
        ("", "{a:", "true"),
        ("principal", ".name", " == \"x\""),
        ("principal", "[\"name\"]", " == \"x\""),
        ("1", "<1", ""),
    ];
    for (open, one, close) in chains {
        let mut taken = 0;
        for count in [10, 28, 50, 90, 130, 180, 195, 200, 380, 390, 1_000, 6_000] {
            let closing: String = match one {
                "(" => ")".repeat(count),
                "[" => "]".repeat(count),
                "{a:" => "}".repeat(count),
                "if " => " then true else true".repeat(count),
                _ => String::new(),
            };
            let when = format!("{open}{}{close}{closing}", one.repeat(count));
            let text = format!("forbid(principal, action == Action::\"read\", resource) when {{ {when} }};");
            world.cedar("deep", &text);
            taken += usize::from(check_cedar(&text, &world.views).is_ok());
            let _either = world.sees(ANA, MARKET, item);
        }
        assert!(taken < 12, "{one} is refused at last");
    }
    let calm = "forbid(principal, action == Action::\"read\", resource) when { resource.kind == \"; && (( \\\" ((\" };";
    assert_eq!(
        check_cedar(&calm.repeat(100), &world.views),
        Ok(100),
        "what is quoted and who comes next do not count"
    );
}

/// SHARE-30, SHARE-31: administration is Cedar's alone: nothing without a role, by role what the role is for, and a forbid
/// takes it away.
#[test]
fn administration_follows_roles_and_policies() {
    let mut world = World::new();
    let has = |world: &World, user: UserId| -> Vec<Power> {
        let powers = powers(&world.views, user, world.views.time());
        Power::ALL.iter().copied().filter(|power| powers.has(*power)).collect()
    };
    assert_eq!((has(&world, ANA), has(&world, BOB)), (Power::ALL.to_vec(), vec![]));
    for (role, brings) in [
        (BuiltIn::Steward, vec![Power::Graphs, Power::Policies]),
        (BuiltIn::TenantAdmin, vec![Power::Principals, Power::Roles, Power::Import]),
        (BuiltIn::Auditor, vec![Power::Audit]),
    ] {
        world.assign(role.id(), Holder::User(BOB), None);
        assert_eq!(has(&world, BOB), brings);
        world.append(Event::RoleUnassigned { role: role.id(), holder: Holder::User(BOB) }, &Opened::Nothing);
        assert_eq!(has(&world, BOB), []);
    }
    let template = RoleTemplate {
        includes: BTreeSet::from([BuiltIn::Auditor.id()]),
        powers: BTreeSet::from([Power::Graphs]),
        ..RoleTemplate::default()
    };
    world.role(CLERKS, "clerks", &template);
    let soon = world.views.time().plus(Period::from_secs(10));
    world.assign(CLERKS, Holder::User(BOB), Some(soon));
    assert_eq!(has(&world, BOB), [Power::Graphs, Power::Audit]);
    assert_eq!(powers(&world.views, BOB, soon), Default::default(), "it ends by itself");
    world.cedar(
        "no-graphs",
        "forbid(principal in Role::\"clerks\", action == Action::\"manage_graphs\", resource);",
    );
    assert_eq!(has(&world, BOB), [Power::Audit]);
    world.cedar("extra", "permit(principal == User::\"bob\", action == Action::\"manage_roles\", resource);");
    assert_eq!(has(&world, BOB), [Power::Roles, Power::Audit], "the tenant's own permits count here");
    let mut locked = world.views.cedar.rules().clone();
    locked.set("lock", "forbid(principal, action, resource);", &world.views.identity);
    assert_eq!(powers_by(&locked, &world.views, ANA, world.views.time()), Default::default());
}

/// SHARE-13, SHARE-32: a moment before is judged by the rules and roles of then; an explanation names the policy.
#[test]
fn the_past_is_judged_by_the_rules_of_then() {
    let mut world = World::new();
    let item = world.write(&note());
    let before = world.now();
    world.cedar(
        "a",
        "forbid(principal, action == Action::\"read\", resource) when { resource.kind == \"note\" };",
    );
    let during = world.now();
    world.cedar(
        "a",
        "forbid(principal, action == Action::\"read\", resource) when { resource.kind == \"memo\" };",
    );
    let after = world.now();
    let saw: Vec<bool> = [before, during, after].iter().map(|at| world.saw(ANA, MARKET, item, *at)).collect();
    assert_eq!(saw, [true, false, true]);
    let class = &world.views.items.classes()[0];
    let why = barriers(ANA, Some(MARKET), class, &world.views, during);
    assert_eq!(why, [Barrier::Policy("a".to_owned())]);
    assert_eq!(barriers(ANA, Some(MARKET), class, &world.views, after), []);
    let again = Views::from_checkpoint(&world.views.checkpoint()).unwrap();
    assert_eq!(again, world.views);
    let again = World { views: again, items: 0 };
    assert_eq!([before, during, after].map(|at| again.saw(ANA, MARKET, item, at)), [true, false, true]);
}

/// GOV-8.1, GOV-8.2, GOV-8.7: the roles of an agent narrow what it reads by layer; a person reads all of theirs.
#[test]
fn roles_of_agents_narrow_what_they_read() {
    let mut world = World::new();
    let items: Vec<ItemId> = [Layer::Session, Layer::Episodic, Layer::Semantic, Layer::Procedural]
        .iter()
        .map(|layer| world.write(&Made { layer: *layer, ..note() }))
        .collect();
    let others = world.write(&Made { layer: Layer::Session, tier: Tier::Shared, owner: BOB, ..note() });
    let seen =
        |world: &World| -> Vec<bool> { items.iter().map(|item| world.sees(ANA, MARKET, *item)).collect() };
    assert_eq!((seen(&world), world.sees(ANA, MARKET, others)), (vec![true; 4], false), "as a new agent");
    world.assign(BuiltIn::Executor.id(), Holder::Agent(MARKET), None);
    assert_eq!(seen(&world), [true, true, false, false], "exactly what it was given");
    world.assign(BuiltIn::CanonicalReader.id(), Holder::Agent(MARKET), None);
    assert_eq!(seen(&world), [true; 4]);
    for role in [BuiltIn::Executor, BuiltIn::CanonicalReader] {
        let holder = Holder::Agent(MARKET);
        world.append(Event::RoleUnassigned { role: role.id(), holder }, &Opened::Nothing);
    }
    assert_eq!(seen(&world), [false; 4], "nothing is left, and nothing comes back by itself");
    let person = visible_to_pair(ANA, None, &world.views, world.now());
    assert!(items.iter().all(|item| world.views.items.visible_head(*item, &person, world.now()).is_some()));
    world.assign(BuiltIn::Verifier.id(), Holder::Agent(MARKET), None);
    assert_eq!((seen(&world), world.sees(ANA, MARKET, others)), (vec![true; 4], true));
}

/// SHARE-30: a role with all that it includes is its edges; a circle is followed once.
#[test]
fn a_role_brings_the_edges_of_all_it_includes() {
    let mut world = World::new();
    let seniors = RoleId::from_bytes([8; 16]);
    let clerks = RoleTemplate {
        agents: BTreeSet::from([MARKET]),
        resources: BTreeSet::from([WIKI]),
        includes: BTreeSet::from([seniors]),
        ..RoleTemplate::default()
    };
    let both = RoleTemplate {
        agents: BTreeSet::from([FINANCE]),
        includes: BTreeSet::from([CLERKS]),
        ..RoleTemplate::default()
    };
    world.role(CLERKS, "clerks", &clerks);
    world.role(seniors, "seniors", &both);
    let lsn = world.views.lsn();
    let of = |holder| world.views.roles.edges(seniors, holder, lsn, None);
    assert_eq!(
        of(Holder::User(BOB)),
        BTreeSet::from([Edge::Invoke(BOB, MARKET), Edge::Invoke(BOB, FINANCE)])
    );
    assert_eq!(of(Holder::Agent(MARKET)), BTreeSet::from([Edge::Use(MARKET, WIKI)]));
    let less = RoleTemplate::default();
    let changed = world.views.roles.edges(seniors, Holder::User(BOB), lsn, Some((CLERKS, &less)));
    assert_eq!(changed, BTreeSet::from([Edge::Invoke(BOB, FINANCE)]));
}

/// One condition of a forbid, in Cedar and in plain words.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Kind(&'static str),
    Label(&'static str),
    Resource(ResourceId),
    Agent(AgentId),
    Shared,
    Acting(AgentId),
    User(UserId),
}

impl Condition {
    fn text(self) -> String {
        match self {
            Self::Kind(kind) => format!("resource.kind == \"{kind}\""),
            Self::Label(label) => format!("resource.labels.contains(\"{label}\")"),
            Self::Resource(one) => format!("resource.resources.contains(Resource::\"{one}\")"),
            Self::Agent(one) => format!("resource.agents.contains(Agent::\"{one}\")"),
            Self::Shared => "resource.tier == \"shared\"".to_owned(),
            Self::Acting(one) => format!("context.agent == Agent::\"{one}\""),
            Self::User(one) => format!("principal == User::\"{one}\""),
        }
    }

    fn holds(self, user: UserId, agent: AgentId, made: &Made) -> bool {
        match self {
            Self::Kind(kind) => made.kind == kind,
            Self::Label(label) => made.labels.contains(label),
            Self::Resource(one) => made.resources.contains(&one),
            Self::Agent(one) => made.agents.contains(&one),
            Self::Shared => made.tier == Tier::Shared,
            Self::Acting(one) => agent == one,
            Self::User(one) => user == one,
        }
    }
}

fn conditions() -> impl Strategy<Value = Vec<Vec<Condition>>> {
    let one = prop_oneof![
        prop::sample::select(vec!["note", "memo"]).prop_map(Condition::Kind),
        prop::sample::select(vec!["secret", "draft"]).prop_map(Condition::Label),
        prop::sample::select(vec![LEDGER, WIKI]).prop_map(Condition::Resource),
        prop::sample::select(vec![MARKET, FINANCE]).prop_map(Condition::Agent),
        Just(Condition::Shared),
        prop::sample::select(vec![MARKET, FINANCE]).prop_map(Condition::Acting),
        prop::sample::select(vec![ANA, BOB]).prop_map(Condition::User),
    ];
    prop::collection::vec(prop::collection::vec(one, 1..4), 0..5)
}

fn made() -> impl Strategy<Value = Made> {
    let some = |all: Vec<&'static str>| prop::sample::subsequence(all, 0..=2);
    (
        any::<bool>(),
        prop::sample::subsequence(vec![MARKET, FINANCE], 1..=2),
        prop::sample::subsequence(vec![LEDGER, WIKI], 0..=2),
        prop::sample::select(vec!["note", "memo"]),
        some(vec!["secret", "draft"]),
        any::<bool>(),
    )
        .prop_map(|(anas, agents, resources, kind, labels, shared)| Made {
            owner: if anas { ANA } else { BOB },
            agents: agents.into_iter().collect(),
            resources: resources.into_iter().collect(),
            kind,
            labels: labels.into_iter().collect(),
            layer: Layer::Episodic,
            tier: if shared { Tier::Shared } else { Tier::Private },
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// SHARE-11, SHARE-31, SHARE-35, SHARE-52: what a pair sees is what the graphs admit and no policy forbids, for whatever
    /// policies and versions; never more than without policies.
    #[test]
    fn cedar_narrows_exactly(rules in conditions(), items in prop::collection::vec(made(), 1..12)) {
        let mut world = World::new();
        let ids: Vec<ItemId> = items.iter().map(|made| world.write(made)).collect();
        for (rule, number) in rules.iter().zip(0..) {
            let when: Vec<String> = rule.iter().map(|one| one.text()).collect();
            let text = format!(
                "forbid(principal, action == Action::\"read\", resource) when {{ {} }};", when.join(" && ")
            );
            prop_assert_eq!(check_cedar(&text, &world.views), Ok(1));
            world.cedar(&format!("rule-{number}"), &text);
        }
        for user in [ANA, BOB] {
            for agent in [MARKET, FINANCE] {
                for (made, id) in items.iter().zip(&ids) {
                    let own = made.tier == Tier::Shared || made.owner == user;
                    let forbidden =
                        rules.iter().any(|rule| rule.iter().all(|one| one.holds(user, agent, made)));
                    prop_assert_eq!(world.sees(user, agent, *id), own && !forbidden, "{:?} {:?}", rules, made);
                }
            }
        }
    }
}
