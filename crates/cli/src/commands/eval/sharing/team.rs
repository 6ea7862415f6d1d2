//! A team on an engine of its own: the same engine that a server has, with users, agents and resources as the script says.
//! Every need goes through a caller's credential; beside it a model in plain sets says what may come back.

use super::oracle::{Model, Outcome, Sharing};
use super::script::{Ask, Fact, Script, Step};
use crate::commands::cast::told;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tabellion_core::error::Code;
use tabellion_core::gate::{Strictness, read_write};
use tabellion_core::item::{Tier, TierWish};
use tabellion_engine::ports::{Advisers, SystemClock, SystemEntropy};
use tabellion_engine::reply::{EdgeTerms, Found, ListQuery, SearchQuery};
use tabellion_engine::{AuditReads, Call, Engine, EngineLimits, Governance, Options, Turns};
use tabellion_models::Hashed;

/// A word that nobody writes.
const NOWHERE: &str = "nowheretobefound";
/// Times that a search is asked to wait for a write, each as long as the engine waits.
const WAITS_MAX: usize = 60;

/// What a script came to.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) outcomes: Vec<Outcome>,
    /// Anything that a caller was shown and may not see, or was not shown and may.
    pub(super) violations: u64,
}

/// Plays a script on a fresh engine.
pub(super) async fn play(script: &Script, sharing: Sharing) -> Result<Played> {
    let mut team = Team::new(script, sharing).await?;
    let mut played = Played::default();
    for step in &script.steps {
        match step {
            Step::Invoke(edges) => {
                played.violations += team.check_all().await?;
                team.set_invokes(edges).await?;
            }
            Step::Ask(ask) => played.outcomes.push(team.ask(ask, &mut played.violations).await?),
        }
    }
    played.violations += team.check_all().await?;
    team.close().await?;
    Ok(played)
}

/// A script's cast on an engine.
pub(super) struct Team<'a> {
    script: &'a Script,
    sharing: Sharing,
    engine: Engine,
    admin: Call,
    users: Vec<String>,
    agents: Vec<String>,
    resources: Vec<String>,
    /// The key of each pair, whether it may act now or not.
    keys: BTreeMap<(usize, usize), String>,
    invokes: BTreeSet<(usize, usize)>,
    pub(super) model: Model,
}

impl<'a> Team<'a> {
    pub(super) async fn new(script: &'a Script, sharing: Sharing) -> Result<Self> {
        let (engine, admin) = opened().await?;
        let mut team = Self {
            script,
            sharing,
            engine,
            admin,
            users: Vec::new(),
            agents: Vec::new(),
            resources: Vec::new(),
            keys: BTreeMap::new(),
            invokes: BTreeSet::new(),
            model: Model::new(script, sharing),
        };
        team.cast().await?;
        if sharing != Sharing::Isolated {
            let body = json!({"kind": "write_shared", "share": "on"});
            team.engine.set_policy(&team.admin, "sharing", body).await.map_err(told)?;
        }
        Ok(team)
    }

    /// Makes users, agents and resources, ties agents to resources, and leaves every pair with a key and without an edge.
    async fn cast(&mut self) -> Result<()> {
        let (engine, admin) = (&self.engine, &self.admin);
        for number in 0..self.script.users {
            let made = engine.create_user(admin, &format!("user-{number}"), None).await.map_err(told)?;
            self.users.push(made.id.to_string());
        }
        for name in &self.script.agents {
            // What these agents say that they used is what counts: the scenario knows.
            let made = engine.create_agent(admin, name, None, true).await.map_err(told)?;
            self.agents.push(made.id.to_string());
        }
        for name in &self.script.resources {
            let made = engine.create_resource(admin, name, None, None).await.map_err(told)?;
            self.resources.push(made.id.to_string());
        }
        for (agent, resource) in &self.script.uses {
            let ends = self.agents.get(*agent).zip(self.resources.get(*resource));
            let (agent, resource) = ends.context("no such edge")?;
            engine.grant(admin, ("ar", agent, resource), EdgeTerms::default()).await.map_err(told)?;
        }
        for (number, user) in self.users.iter().enumerate() {
            for (place, agent) in self.agents.iter().enumerate() {
                let key = engine.create_key(admin, Some(user), Some(agent), None).await.map_err(told)?;
                self.keys.insert((number, place), key.secret);
                self.invokes.insert((number, place));
            }
        }
        self.set_invokes(&BTreeSet::new()).await
    }

    /// Grants and revokes until these edges stand and no others.
    pub(super) async fn set_invokes(&mut self, edges: &BTreeSet<(usize, usize)>) -> Result<()> {
        for (user, agent) in self.invokes.symmetric_difference(edges) {
            let (id, to) = self.users.get(*user).zip(self.agents.get(*agent)).context("no such edge")?;
            let edge = ("ua", id.as_str(), to.as_str());
            let done = if edges.contains(&(*user, *agent)) {
                self.engine.grant(&self.admin, edge, EdgeTerms::default()).await
            } else {
                self.engine.revoke(&self.admin, edge, None).await
            };
            done.map_err(told)?;
        }
        self.invokes.clone_from(edges);
        self.model.set_invokes(edges);
        Ok(())
    }

    /// The call of a pair, proven anew as for every request; none where the user may not invoke the agent.
    fn call(&self, user: usize, agent: usize) -> Result<Option<Call>> {
        let key = self.keys.get(&(user, agent)).context("no such pair")?;
        match self.engine.authenticate(key) {
            Ok(caller) => Ok(Some(Call { caller, request_id: None, trace: None })),
            Err(refusal) if refusal.code == Code::AgentNotGranted => Ok(None),
            Err(refusal) => Err(told(refusal)),
        }
    }

    /// A need for a fact: memory first, the resource for what is missing, and what it said is remembered.
    async fn ask(&mut self, ask: &Ask, violations: &mut u64) -> Result<Outcome> {
        let fact = self.script.facts.get(ask.fact).context("no such fact")?;
        let call = self.call(ask.user, ask.agent)?;
        *violations += u64::from(call.is_some() != self.model.may_invoke(ask.user, ask.agent));
        let Some(call) = call else { return Ok(Outcome::Refused) };
        let found = self.search(&call, &fact.key).await?;
        let seen = self.model.visible(ask.user, ask.agent);
        *violations +=
            found.iter().filter(|one| !seen.contains(one.item.id.to_string().as_str())).count() as u64;
        let holds = |one: &&Found| one.item.content.text.contains(&fact.token);
        let mut tiers = found.iter().filter(holds).map(|one| one.item.tier);
        match tiers.next() {
            Some(first) if first == Tier::Private || tiers.any(|tier| tier == Tier::Private) => {
                Ok(Outcome::Own)
            }
            Some(_) => Ok(Outcome::Shared),
            None => {
                self.write_both(&call, ask, fact).await?;
                Ok(Outcome::Called)
            }
        }
    }

    async fn search(&self, call: &Call, key: &str) -> Result<Vec<Found>> {
        let query =
            SearchQuery { query: Some(key.to_owned()), k: Some(2 * self.script.k), ..SearchQuery::default() };
        Ok(self.engine.search(call, query).await.map_err(told)?.results)
    }

    /// Remembers what a resource said, for oneself and, where memory is shared, for all who may see it.
    async fn write_both(&mut self, call: &Call, ask: &Ask, fact: &Fact) -> Result<()> {
        let wish = if self.sharing == Sharing::Isolated { TierWish::Private } else { TierWish::Both };
        self.write(call, ask, fact, wish).await
    }

    /// Remembers what a resource said, and notes the copies that became of it.
    pub(super) async fn write(&mut self, call: &Call, ask: &Ask, fact: &Fact, wish: TierWish) -> Result<()> {
        let used = self.resources.get(fact.resource).context("no such resource")?;
        let body = json!({
            "key": fact.key, "text": format!("{}: the answer is {}", fact.key, fact.token),
            "tier": wish.as_str(), "resources": [used],
        });
        let draft = read_write(body).map_err(told)?;
        let written = self.engine.import(call, draft, Turns::default().give()).await.map_err(told)?;
        let first = written.id.context("a write was put off")?.to_string();
        self.until_found(call, written.token).await?;
        self.model.remember(ask, fact.resource, &first, wish == TierWish::Shared);
        ensure!(
            written.shared.is_some() == (wish == TierWish::Both),
            "a write was not shared as it was asked to be"
        );
        if let Some(copy) = written.shared {
            self.model.remember(ask, fact.resource, &copy.to_string(), true);
        }
        Ok(())
    }

    /// Waits until searches know what was written: the next need for it would otherwise be written a second time, and refused as
    /// a duplicate. Nothing is looked for, so that nothing is disclosed by waiting.
    async fn until_found(&self, call: &Call, token: Option<String>) -> Result<()> {
        for _ in 0..WAITS_MAX {
            let query = SearchQuery {
                query: Some(NOWHERE.to_owned()),
                mode: Some("lexical".to_owned()),
                k: Some(1),
                min_token: token.clone(),
                ..SearchQuery::default()
            };
            match self.engine.search(call, query).await {
                Ok(_) => return Ok(()),
                Err(refusal) if refusal.code == Code::MinTokenTimeout => {}
                Err(refusal) => return Err(told(refusal)),
            }
        }
        bail!("the index did not catch up with a write")
    }

    /// Holds what every pair can list against the model, and tells how many ids are there that should not be, or are not.
    pub(super) async fn check_all(&self) -> Result<u64> {
        let mut violations = 0;
        for (user, agent) in self.keys.keys() {
            let listed = self.listed(*user, *agent).await?;
            let expected = self.model.visible(*user, *agent);
            let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
            violations += listed.symmetric_difference(&expected).count() as u64;
        }
        Ok(violations)
    }

    /// The ids of everything that a pair can list, page by page; nothing where the user may not invoke the agent.
    pub(super) async fn listed(&self, user: usize, agent: usize) -> Result<Vec<String>> {
        let Some(call) = self.call(user, agent)? else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let query = ListQuery { limit: Some(500), cursor, ..ListQuery::default() };
            let page = self.engine.list(&call, query).await.map_err(told)?;
            ids.extend(page.rows.iter().map(|item| item.id.to_string()));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(ids),
            }
        }
    }

    /// The call of a pair that may act.
    pub(super) fn acting(&self, user: usize, agent: usize) -> Result<Call> {
        self.call(user, agent)?.context("the user may not invoke the agent")
    }

    pub(super) async fn close(self) -> Result<()> {
        let engine = self.engine;
        Ok(tokio::task::spawn_blocking(move || engine.close()).await?)
    }
}

/// An engine in memory, with vectors that need no model, and its admin.
async fn opened() -> Result<(Engine, Call)> {
    let options = Options {
        data: None,
        master_key: None,
        admin_key: None,
        accept_loss: false,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        limits: EngineLimits::default(),
        embedder: Some(Arc::new(Hashed)),
        audit_reads: AuditReads::Async,
        // What is shared is measured, not what is let in.
        governance: Governance { strictness: Strictness::Open, ..Governance::default() },
        advisers: Advisers::default(),
    };
    let (engine, first) = tokio::task::spawn_blocking(move || Engine::open(options)).await??;
    let first = first.context("an engine in memory always starts anew")?;
    let caller = engine.authenticate(&first.admin_key).map_err(told)?;
    Ok((engine, Call { caller, request_id: None, trace: None }))
}
