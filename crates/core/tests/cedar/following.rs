//! What is kept of somebody's sight while edges, roles, policies and items come and go.

use super::{ANA, BOB, CLERKS, Condition, FINANCE, LEDGER, MARKET, Made, WIKI, World, conditions, made};
use proptest::prelude::*;
use tabellion_core::access::{BuiltIn, Sight, visible_to_pair};
use tabellion_core::id::{AgentId, UserId};
use tabellion_core::log::{Edge, Event, Holder};
use tabellion_core::view::Opened;

/// What can change who sees what.
#[derive(Debug, Clone)]
enum Change {
    Write(Made),
    Edge(Edge, bool),
    Forbid(u8, Vec<Condition>),
    Unforbid(u8),
    Role(BuiltIn, AgentId),
    Clerk(UserId),
}

fn change() -> impl Strategy<Value = Change> {
    let users = || prop::sample::select(vec![ANA, BOB]);
    let agents = || prop::sample::select(vec![MARKET, FINANCE]);
    let edge = prop_oneof![
        (users(), agents()).prop_map(|(user, agent)| Edge::Invoke(user, agent)),
        (agents(), prop::sample::select(vec![LEDGER, WIKI])).prop_map(|(by, what)| Edge::Use(by, what)),
    ];
    let rule = conditions().prop_filter_map("no rule", |rules| rules.into_iter().next());
    prop_oneof![
        4 => made().prop_map(Change::Write),
        4 => (edge, any::<bool>()).prop_map(|(edge, on)| Change::Edge(edge, on)),
        2 => (0..3u8, rule).prop_map(|(number, rule)| Change::Forbid(number, rule)),
        1 => (0..3u8).prop_map(Change::Unforbid),
        1 => (prop::sample::select(vec![BuiltIn::Executor, BuiltIn::Curator]), agents())
            .prop_map(|(role, agent)| Change::Role(role, agent)),
        1 => users().prop_map(Change::Clerk),
    ]
}

impl World {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Write(made) => drop(self.write(made)),
            Change::Edge(edge, true) => self.grant(*edge),
            Change::Edge(edge, false) => {
                self.append(Event::EdgeRevoked { edge: *edge, support: None }, &Opened::Nothing);
            }
            Change::Forbid(number, rule) => {
                let when: Vec<String> = rule.iter().map(|one| one.text()).collect();
                self.cedar(
                    &format!("rule-{number}"),
                    &format!("forbid(principal, action, resource) when {{ {} }};", when.join(" && ")),
                );
            }
            Change::Unforbid(number) => self.uncedar(&format!("rule-{number}")),
            Change::Role(role, agent) => self.assign(role.id(), Holder::Agent(*agent), None),
            Change::Clerk(user) => self.assign(CLERKS, Holder::User(*user), None),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// SHARE-5, SHARE-35, SHARE-36: a sight that follows every change shows what one made anew shows, whatever changed: edges,
    /// roles, policies, or what there is to see.
    #[test]
    fn a_sight_that_follows_is_one_made_anew(changes in prop::collection::vec(change(), 1..24)) {
        let mut world = World::new();
        let pairs = [ANA, BOB].into_iter().flat_map(|user| [Some(MARKET), Some(FINANCE), None].map(|by| (user, by)));
        let mut kept: Vec<((UserId, Option<AgentId>), Sight)> =
            pairs.map(|(user, by)| ((user, by), Sight::of(user, by, &world.views, world.now()))).collect();
        for change in &changes {
            world.change(change);
            for ((user, by), sight) in &mut kept {
                sight.follow(&world.views, world.now());
                let anew = visible_to_pair(*user, *by, &world.views, world.now());
                prop_assert_eq!(sight.predicate(), &anew, "{:?} after {:?}", by, change);
            }
        }
    }
}
