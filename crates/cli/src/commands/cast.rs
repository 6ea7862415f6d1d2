//! Agents of as many users on an engine in memory, for whatever is measured through one. Everybody may invoke every agent, so that
//! everybody sees everything that is shared.

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;
use tabellion_core::error::Refusal;
use tabellion_engine::{Call, Engine, Options};

/// A refusal, where none is expected.
pub(super) fn told(Refusal { code, message, .. }: Refusal) -> anyhow::Error {
    anyhow!("{}: {message}", code.as_str())
}

/// Scored writes after which what was scored is scored again: a little sooner than the engine would.
pub(super) const RECALIBRATED_EVERY: usize = 60;

/// Who takes part.
pub(super) struct Cast {
    pub(super) engine: Engine,
    /// A person, who may invoke every agent too.
    pub(super) admin: Call,
    /// The agents' names.
    pub(super) names: Vec<String>,
    /// Each agent, as its own user calls it.
    calls: Vec<Call>,
}

impl Cast {
    /// Opens an engine in memory and makes so many users and agents there.
    pub(super) async fn new(options: Options, agents: usize) -> Result<Self> {
        let (engine, first) = tokio::task::spawn_blocking(move || Engine::open(options)).await??;
        let first = first.context("an engine in memory always starts anew")?;
        let admin = called(&engine, &first.admin_key)?;
        let names = (0..agents).map(|number| format!("agent-{number}")).collect();
        let mut cast = Self { engine, admin, names, calls: Vec::new() };
        cast.make().await?;
        Ok(cast)
    }

    async fn make(&mut self) -> Result<()> {
        let (engine, admin) = (&self.engine, &self.admin);
        let sharing = json!({"kind": "write_shared", "share": "on"});
        engine.set_policy(admin, "sharing", sharing).await.map_err(told)?;
        let own_user = admin.caller.user().to_string();
        for agent in &self.names {
            engine.create_agent(admin, agent, None, true).await.map_err(told)?;
            engine.grant(admin, ("ua", &own_user, agent), Default::default()).await.map_err(told)?;
        }
        for (number, own) in self.names.iter().enumerate() {
            let user = engine.create_user(admin, &format!("user-{number}"), None).await.map_err(told)?;
            let user = user.id.to_string();
            // Whoever measures may look at what waits.
            let reviewer = json!({"kind": "reviewer", "reviewer": own_user, "user": user});
            engine.set_policy(admin, &format!("reviewer-{number}"), reviewer).await.map_err(told)?;
            for agent in &self.names {
                let key = engine.create_key(admin, Some(&user), Some(agent), None).await.map_err(told)?;
                if agent == own {
                    self.calls.push(called(engine, &key.secret)?);
                }
            }
        }
        Ok(())
    }

    /// An agent, by its number.
    pub(super) fn call(&self, agent: usize) -> Result<&Call> {
        self.calls.get(agent).context("no such agent")
    }

    /// What was scored is scored again. The engine does so by itself, but by the clock, and what is measured must not hang on how fast
    /// the machine is.
    pub(super) async fn recalibrate(&self) -> Result<()> {
        self.engine.recalibrate(&self.admin).await.map(drop).map_err(told)
    }

    pub(super) async fn close(self) -> Result<()> {
        let engine = self.engine;
        Ok(tokio::task::spawn_blocking(move || engine.close()).await?)
    }
}

fn called(engine: &Engine, secret: &str) -> Result<Call> {
    let caller = engine.authenticate(secret).map_err(told)?;
    Ok(Call { caller, request_id: None, trace: None })
}
