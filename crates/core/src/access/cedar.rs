//! Cedar: policies of the tenant's own that forbid what the graphs would admit, and who may administer (SHARE-31).
//!
//! Invariant (Cedar narrows): a base policy permits every read and write, so only a `forbid` changes anything, and it is asked
//! about nothing but what the graphs admit. A policy sees of a version only what its whole class has in common, so one answer
//! serves the class. Whatever cannot be evaluated is a no.

mod check;
mod entities;

pub use check::check;
pub use entities::Asking;

use super::{Deed, Power};
use crate::view::{Class, IdentityView};
use cedar_policy::{
    ActionConstraint, AuthorizationError, Authorizer, Context, Decision, Entities, EntityUid, Policy,
    PolicyId, PolicySet, Request,
};
use entities::{Fragments, Read, Traits, action, literal};
use std::collections::BTreeMap;

/// What policies may speak of.
const SCHEMA: &str = include_str!("cedar/schema.cedarschema");

/// Policies in one text at most.
pub const CEDAR_POLICIES_IN_TEXT_MAX: usize = 100;
/// Policies of one tenant at most.
pub const CEDAR_POLICIES_MAX: usize = 10_000;
/// Bytes of one text at most.
pub const CEDAR_TEXT_BYTES_MAX: usize = 65_536;

/// The id of what every tenant begins with.
const BASE: &str = "base";

/// Compiled policies, by what they are asked about.
#[derive(Debug, Clone)]
pub struct Rules {
    reading: PolicySet,
    writing: PolicySet,
    administering: PolicySet,
    /// The ids that each text of the tenant's own gave rise to.
    ids: BTreeMap<String, Vec<PolicyId>>,
    /// What they may read of a class, all of them that ever were.
    read: Read,
}

impl Default for Rules {
    fn default() -> Self {
        let mut rules = Self {
            reading: PolicySet::new(),
            writing: PolicySet::new(),
            administering: PolicySet::new(),
            ids: BTreeMap::new(),
            read: Read::default(),
        };
        for (set, word) in [(&mut rules.reading, Deed::Read), (&mut rules.writing, Deed::Write)] {
            put(set, BASE, &format!("permit(principal, action == Action::\"{}\", resource);", word.as_str()));
        }
        for power in Power::ALL {
            let (leaf, word) = (power.leaf(), power.as_str());
            let text =
                format!("permit(principal in Role::\"{leaf}\", action == Action::\"{word}\", resource);");
            put(&mut rules.administering, &format!("{BASE}.{word}"), &text);
        }
        rules
    }
}

/// A policy of ours. Were it not one, nothing would be permitted.
fn put(set: &mut PolicySet, id: &str, text: &str) {
    if let Ok(policy) = Policy::parse(Some(PolicyId::new(id)), text) {
        let _taken = set.add(policy);
    }
}

impl Rules {
    /// How many policies of the tenant's own there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.values().map(Vec::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Takes the policies of a text in, under its name. One that does not compile forbids everything but administering: it
    /// was a policy when it was set, and what it forbade is not known any more.
    pub fn set(&mut self, name: &str, text: &str, identity: &IdentityView) {
        self.remove(name);
        let policies = check::parsed(text).unwrap_or_default();
        let several = policies.len() > 1;
        let mut ids = Vec::with_capacity(policies.len());
        for (policy, number) in policies.iter().zip(1..) {
            let id = PolicyId::new(if several { format!("{name}#{number}") } else { name.to_owned() });
            self.take(&policy.new_id(id.clone()), identity);
            ids.push(id);
        }
        if ids.is_empty() {
            for set in [&mut self.reading, &mut self.writing] {
                put(set, name, "forbid(principal, action, resource);");
            }
            ids.push(PolicyId::new(name));
        }
        self.ids.insert(name.to_owned(), ids);
    }

    /// Takes the policies of a text out.
    pub fn remove(&mut self, name: &str) {
        for id in self.ids.remove(name).unwrap_or_default() {
            for set in [&mut self.reading, &mut self.writing, &mut self.administering] {
                let _absent = set.remove_static(id.clone());
            }
        }
    }

    fn take(&mut self, policy: &Policy, identity: &IdentityView) {
        let named = policy.entity_literals().into_iter();
        let ids = named.filter_map(|uid| Some((uid.clone(), literal(&uid, identity)?))).collect();
        let Ok(policy) = policy.sub_entity_literals(ids) else { return };
        self.read.add(&policy.to_string());
        let concerns = |word: &str| concerns(&policy.action_constraint(), word);
        let sets = [
            (&mut self.reading, concerns(Deed::Read.as_str())),
            (&mut self.writing, concerns(Deed::Write.as_str())),
            (&mut self.administering, Power::ALL.iter().any(|power| concerns(power.as_str()))),
        ];
        for (set, _) in sets.into_iter().filter(|(_, concerned)| *concerned) {
            let _taken = set.add(policy.clone());
        }
    }

    /// Whether anything of the tenant's own is to be asked about reading or writing.
    #[must_use]
    pub fn concern(&self, deed: Deed) -> bool {
        self.of(deed).is_some_and(|set| set.num_of_policies() > 1)
    }

    /// Whether anything of the tenant's own is to be asked about administering.
    #[must_use]
    pub fn concern_powers(&self) -> bool {
        self.administering.num_of_policies() > Power::ALL.len()
    }

    const fn of(&self, deed: Deed) -> Option<&PolicySet> {
        match deed {
            Deed::Read => Some(&self.reading),
            Deed::Write | Deed::Delete => Some(&self.writing),
            Deed::Administer => None,
        }
    }

    /// Which of these classes somebody may not read or write, each with the ids of the policies that forbid it.
    #[must_use]
    pub fn forbidden<'a, Row: Copy>(
        &self,
        asking: &Asking,
        deed: Deed,
        classes: impl IntoIterator<Item = (Row, &'a Class)>,
    ) -> Vec<(Row, Vec<String>)> {
        let mut alike: BTreeMap<Traits<'_>, Vec<Row>> = BTreeMap::new();
        for (row, class) in classes {
            alike.entry(self.read.of(class)).or_default().push(row);
        }
        let traits: Vec<&Traits<'_>> = alike.keys().collect();
        let question = Question::of(asking, deed, &traits);
        let answers: Vec<Result<(), Vec<String>>> = match (self.of(deed), &question) {
            (Some(set), Some(question)) => {
                question.fragments.iter().map(|one| question.ask(set, one)).collect()
            }
            _ => traits.iter().map(|_| Err(Vec::new())).collect(),
        };
        let forbidden = alike.values().zip(answers).filter_map(|(rows, answer)| Some((rows, answer.err()?)));
        forbidden.flat_map(|(rows, ids)| rows.iter().map(move |row| (*row, ids.clone()))).collect()
    }

    /// Whether somebody may do something administrative. Nothing but the policies decides.
    #[must_use]
    pub fn permit(&self, asking: &Asking, power: Power) -> bool {
        let ask = || {
            let (user, tenant) = (asking.user()?, entities::tenant()?);
            let principal = user.uid();
            let entities = Entities::from_entities([user], None).ok()?;
            let action = action(power.as_str())?;
            let request = Request::new(principal, action, tenant, Context::empty(), None).ok()?;
            Some(decide(&self.administering, &request, &entities).is_ok())
        };
        ask().unwrap_or(false)
    }
}

/// Whether a policy with this scope could apply to an action.
fn concerns(constraint: &ActionConstraint, word: &str) -> bool {
    let is = |uid: &EntityUid| uid.id().unescaped() == word;
    match constraint {
        ActionConstraint::Any => true,
        ActionConstraint::In(actions) => actions.iter().any(is),
        ActionConstraint::Eq(action) => is(action),
    }
}

/// What stays the same while the classes are asked about one by one.
struct Question {
    principal: EntityUid,
    action: EntityUid,
    context: Context,
    entities: Entities,
    fragments: Vec<EntityUid>,
}

impl Question {
    fn of(asking: &Asking, deed: Deed, traits: &[&Traits<'_>]) -> Option<Self> {
        let (user, agent) = (asking.user()?, asking.agent()?);
        let (principal, context) = (user.uid(), entities::context(&agent)?);
        let mut all = vec![user, agent];
        let (mut fragments, mut making) = (Vec::with_capacity(traits.len()), Fragments::default());
        for one in traits {
            let fragment = making.make(one)?;
            fragments.push(fragment.uid());
            all.push(fragment);
        }
        let entities = Entities::from_entities(all, None).ok()?;
        let word = if deed == Deed::Read { Deed::Read } else { Deed::Write };
        Some(Self { principal, action: action(word.as_str())?, context, entities, fragments })
    }

    fn ask(&self, set: &PolicySet, resource: &EntityUid) -> Result<(), Vec<String>> {
        let (principal, action) = (self.principal.clone(), self.action.clone());
        let request = Request::new(principal, action, resource.clone(), self.context.clone(), None);
        request.map_err(|_| Vec::new()).and_then(|request| decide(set, &request, &self.entities))
    }
}

/// Yes, or the ids of the policies that say no or could not be evaluated.
fn decide(set: &PolicySet, request: &Request, entities: &Entities) -> Result<(), Vec<String>> {
    let response = Authorizer::new().is_authorized(request, set, entities);
    let failed = response
        .diagnostics()
        .errors()
        .map(|AuthorizationError::PolicyEvaluationError(error)| error.policy_id().to_string());
    let failed: Vec<String> = failed.collect();
    match response.decision() {
        Decision::Allow if failed.is_empty() => Ok(()),
        Decision::Allow => Err(failed),
        Decision::Deny => {
            let forbid = response.diagnostics().reason().map(ToString::to_string);
            let mut reasons: Vec<String> = forbid.chain(failed).collect();
            reasons.sort_unstable();
            reasons.dedup();
            Err(reasons)
        }
    }
}
