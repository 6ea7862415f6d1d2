//! The service layer: one file per operation. Each gathers facts, asks `core`, and commits to `store`.
//!
//! Invariant: knows no protocol. Owns the clock, entropy and embedder ports. No operation exists without a `Call`, and a `Call` holds
//! a `Caller` that only a credential can make.

mod anomaly;
mod change;
mod embedding;
mod flow;
mod fold;
mod govern;
mod identity;
mod index;
mod kept;
mod notice;
pub mod offline;
mod options;
mod outcome;
pub mod ports;
mod proof;
mod read;
pub mod reply;
mod reputation;
mod review;
mod search;
mod sequencer;
mod snapshot;
mod tenant;
mod trail;
mod vectors;
mod verify;
mod working;
mod write;

pub use flow::Pace;
pub use notice::Notice;
pub use options::{AuditReads, EngineLimits, Governance, Options};

use change::Change;
use embedding::Embedding;
use parking_lot::RwLock;
use reply::{
    AgentReply, AuditQuery, AuditRow, Changed, ConsistencyReply, Feedback, HeadReply, InclusionReply,
    ItemReply, KeptReply, KeyReply, ListQuery, NewKey, NewTenant, OutcomeReply, OutcomeReport, Page,
    Quarantined, ResourceReply, Reverted, ReviewReply, RevokedKey, SearchQuery, SearchReply, UserReply,
    Verdict, VerifyReport, VersionReply, WhoAmI, Written,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tabellion_core::access::{Caller, authenticate};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::TenantId;
use tabellion_core::log::LogName;
use tabellion_core::provenance::Provenance;
use tabellion_core::seal::Secret;
use tabellion_core::time::Timestamp;
use tabellion_core::view::Policy;
use tabellion_store::{DataDir, DirLock};
use tenant::{Tenant, TenantOptions};

/// A given admin key below this length could be guessed.
const ADMIN_KEY_CHARS_MIN: usize = 16;

/// One request: who, and its number in logs and trail.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who acts.
    pub caller: Caller,
    /// The request's number, made by the transport.
    pub request_id: Option<String>,
}

/// What the first start made; the key is shown this once.
#[derive(Debug, Clone)]
pub struct FirstStart {
    /// The tenant.
    pub tenant: TenantId,
    /// The admin's key.
    pub admin_key: String,
}

/// Why an engine could not be opened, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

/// The one service layer behind every transport. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    tenants: RwLock<BTreeMap<TenantId, Arc<Tenant>>>,
    options: Options,
    embedding: Option<Arc<Embedding>>,
    dir: Option<DataDir>,
    master: Secret,
    pepper: Secret,
    news: notice::News,
    open: AtomicBool,
    lock: parking_lot::Mutex<Option<DirLock>>,
}

impl Engine {
    /// Opens a data directory, making it on first start. Blocking.
    ///
    /// # Errors
    /// When the directory is in use, cannot be read, or the master key is another one.
    pub fn open(options: Options) -> Result<(Engine, Option<FirstStart>), OpenError> {
        if options.admin_key.as_ref().is_some_and(|key| key.chars().count() < ADMIN_KEY_CHARS_MIN) {
            let what = format!("the admin key given has fewer than {ADMIN_KEY_CHARS_MIN} characters");
            return Err(OpenError(format!("{what}; give 256 random bits, or none and one is made")));
        }
        let dir = options.data.as_deref().map(DataDir::at);
        let (master, lock) = match &dir {
            None => (
                options.master_key.clone().unwrap_or_else(|| Secret::from_bytes(options.entropy.bytes())),
                None,
            ),
            Some(dir) => {
                let failed = |error: std::io::Error| OpenError(format!("{}: {error}", dir.path().display()));
                dir.create().map_err(failed)?;
                let lock = dir.lock().map_err(|error| OpenError(error.to_string()))?;
                (offline::first_master_key(dir, &options)?, Some(lock))
            }
        };
        let embedding = options.embedder.clone().map(Embedding::start).transpose();
        let embedding = embedding.map_err(|error| OpenError(format!("no thread for the model: {error}")))?;
        let inner = Inner {
            embedding: embedding.map(Arc::new),
            tenants: RwLock::new(BTreeMap::new()),
            pepper: master.derive("tabellion/v1/api-key"),
            master,
            dir,
            options,
            news: notice::news(),
            open: AtomicBool::new(true),
            lock: parking_lot::Mutex::new(lock),
        };
        let engine = Engine { inner: Arc::new(inner) };
        let first = engine.open_tenants()?;
        Ok((engine, first))
    }

    fn open_tenants(&self) -> Result<Option<FirstStart>, OpenError> {
        let known = match &self.inner.dir {
            None => Vec::new(),
            Some(dir) => dir.tenants().map_err(|error| OpenError(error.to_string()))?,
        };
        let mut operator = None;
        for id in known {
            let tenant = self.open_tenant(id)?;
            let views = tenant.shared.views.read();
            if views.identity.tenant().is_none() {
                drop(views);
                self.forget_unfounded(id, &tenant)?;
                continue;
            }
            if views.identity.is_operator() {
                operator = Some(Arc::clone(&tenant));
            }
            drop(views);
            self.inner.tenants.write().insert(id, tenant);
        }
        match operator {
            None => self.first_start().map(Some),
            Some(operator) => self.admin_key_of_environment(&operator).map(|()| None),
        }
    }

    /// A kill before the first commit of a tenant leaves an empty log that nobody was told of: it is cleared away. An empty
    /// log that the witness has seen longer was emptied by someone, and nothing is touched.
    fn forget_unfounded(&self, id: TenantId, tenant: &Tenant) -> Result<(), OpenError> {
        let Some(dir) = &self.inner.dir else { return Ok(()) };
        if dir.witness(id).exists() {
            let what =
                "its log is empty, but the witness has seen entries in it: restore the log from a snapshot";
            return Err(OpenError(format!("tenant {id}: {what}")));
        }
        tenant.close();
        dir.remove_tenant(id).map_err(|error| OpenError(format!("tenant {id}: {error}")))
    }

    fn open_tenant(&self, id: TenantId) -> Result<Arc<Tenant>, OpenError> {
        let options = &self.inner.options;
        let options = TenantOptions {
            dir: self.inner.dir.as_ref(),
            master: &self.inner.master,
            clock: Arc::clone(&options.clock),
            entropy: Arc::clone(&options.entropy),
            embedding: self.inner.embedding.clone(),
            limits: options.limits,
            audit_reads: options.audit_reads,
            governance: options.governance.clone(),
            news: self.inner.news.clone(),
        };
        let tenant = Tenant::open(id, &options).map(Arc::new)?;
        kept::start(&tenant).map_err(|error| OpenError(format!("no thread for deferrals: {error}")))?;
        Ok(tenant)
    }

    fn first_start(&self) -> Result<FirstStart, OpenError> {
        let given = self.inner.options.admin_key.clone();
        let (tenant, admin_key) = self.found_tenant("default", true, given)?;
        Ok(FirstStart { tenant, admin_key })
    }

    /// Reports what of a search was used, and how it went.
    ///
    /// # Errors
    /// When the caller made no such search within a day, or it found no such item.
    pub async fn report_outcome(&self, call: &Call, report: OutcomeReport) -> Result<OutcomeReply, Refusal> {
        outcome::report(&*self.tenant(call)?, call, report).await
    }

    /// Makes a tenant with its first entries, and tells the admin's key.
    fn found_tenant(
        &self,
        name: &str,
        operator: bool,
        given: Option<String>,
    ) -> Result<(TenantId, String), OpenError> {
        let id = TenantId::from_bytes(self.inner.options.entropy.bytes());
        let tenant = self.open_tenant(id)?;
        let admin_key = given.unwrap_or_else(|| identity::new_secret(&tenant));
        let fingerprint = identity::fingerprint(&self.inner.pepper, &admin_key);
        let drafts = identity::genesis(&tenant, name, operator, fingerprint)
            .map_err(|refusal| OpenError(refusal.message))?;
        tenant.found(drafts, "create_tenant")?;
        self.inner.tenants.write().insert(id, tenant);
        Ok((id, admin_key))
    }

    /// Whoever starts the server may name an admin key; one that is not known yet is added. So a lost key is no dead end.
    fn admin_key_of_environment(&self, tenant: &Tenant) -> Result<(), OpenError> {
        let Some(given) = &self.inner.options.admin_key else { return Ok(()) };
        let fingerprint = identity::fingerprint(&self.inner.pepper, given);
        let admin = {
            let views = tenant.shared.views.read();
            if views.identity.live_key(&fingerprint, tenant.now()).is_some() {
                return Ok(());
            }
            views.identity.find_user(identity::ADMIN).map(|user| user.id)
        };
        let admin = admin.ok_or_else(|| OpenError("the first tenant has no admin".into()))?;
        let event = identity::admin_key(tenant, admin, fingerprint);
        let draft = tenant
            .draft(tabellion_core::log::Actor::SERVER, event, None)
            .map_err(|refusal| OpenError(refusal.message))?;
        tenant.found(vec![draft], "create_key")
    }

    /// Stops taking writes, commits what waits, writes checkpoint and witness. Blocking.
    pub fn close(&self) {
        self.inner.open.store(false, Ordering::Release);
        let tenants: Vec<Arc<Tenant>> = self.inner.tenants.read().values().cloned().collect();
        tenants.iter().for_each(|tenant| tenant.close());
        self.inner.lock.lock().take();
    }

    /// Whether writes are being taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.open.load(Ordering::Acquire)
            && self.inner.tenants.read().values().all(|tenant| tenant.sequencer.is_well())
    }

    /// The caller of this API key.
    ///
    /// # Errors
    /// When no live key has this secret, or it names no pair.
    pub fn authenticate(&self, secret: &str) -> Result<Caller, Refusal> {
        let fingerprint = identity::fingerprint(&self.inner.pepper, secret);
        let now = self.inner.options.clock.now();
        let mut answer = None;
        for tenant in self.inner.tenants.read().values() {
            match authenticate(&tenant.shared.views.read().identity, &fingerprint, now) {
                Ok(caller) => return Ok(caller),
                Err(refusal) if answer.is_none() || refusal.code != Code::Unauthenticated => {
                    answer = Some(refusal)
                }
                Err(_) => {}
            }
        }
        Err(answer.unwrap_or_else(|| Refusal::new(Code::Overloaded, "the server is starting")))
    }

    fn tenant(&self, call: &Call) -> Result<Arc<Tenant>, Refusal> {
        self.inner.tenants.read().get(&call.caller.tenant()).cloned().ok_or_else(Refusal::not_found)
    }

    /// Writes an item, or the next version of one.
    ///
    /// # Errors
    /// The refusal, with gate, code, paths and what would pass; nothing was written then.
    pub async fn write(&self, call: &Call, draft: WriteDraft) -> Result<Written, Refusal> {
        write::write(&*self.tenant(call)?, call, draft, Pace::Single).await
    }

    /// Writes an item as part of an import: the same gates, but neither rate nor budget.
    ///
    /// # Errors
    /// As for a write.
    pub async fn import(&self, call: &Call, draft: WriteDraft) -> Result<Written, Refusal> {
        write::write(&*self.tenant(call)?, call, draft, Pace::Import).await
    }

    /// Lists the caller's writes that are not memory: put off, or refused.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn kept_writes(&self, call: &Call) -> Result<Vec<KeptReply>, Refusal> {
        kept::list(&*self.tenant(call)?, call).await
    }

    /// Reads one of them.
    ///
    /// # Errors
    /// When it is not the caller's, or not kept any more.
    pub async fn kept_write(&self, call: &Call, id: &str) -> Result<KeptReply, Refusal> {
        kept::get(&*self.tenant(call)?, call, id).await
    }

    /// Sends a refused write through the gates once more.
    ///
    /// # Errors
    /// As for a write.
    pub async fn reopen(&self, call: &Call, id: &str) -> Result<Written, Refusal> {
        kept::reopen(&*self.tenant(call)?, call, id).await
    }

    /// Lists held writes that the caller may see, the riskiest first.
    ///
    /// # Errors
    /// When there is no such state.
    pub async fn reviews(&self, call: &Call, state: Option<&str>) -> Result<Vec<ReviewReply>, Refusal> {
        review::list(&*self.tenant(call)?, call, state).await
    }

    /// Reads a held write.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn review(&self, call: &Call, id: &str) -> Result<ReviewReply, Refusal> {
        review::get(&*self.tenant(call)?, call, id).await
    }

    /// Decides on a held write.
    ///
    /// # Errors
    /// When the caller may not, the review is closed, or a gate refuses the write by now.
    pub async fn decide(&self, call: &Call, id: &str, verdict: Verdict) -> Result<Written, Refusal> {
        review::decide(&*self.tenant(call)?, call, id, verdict).await
    }

    /// Takes a held write back.
    ///
    /// # Errors
    /// When it is not the caller's, or closed.
    pub async fn withdraw(&self, call: &Call, id: &str) -> Result<(), Refusal> {
        review::withdraw(&*self.tenant(call)?, call, id).await
    }

    /// Changes a held write: it becomes another review.
    ///
    /// # Errors
    /// As for withdraw and write.
    pub async fn edit_held(&self, call: &Call, id: &str, draft: WriteDraft) -> Result<Written, Refusal> {
        review::edit(&*self.tenant(call)?, call, id, draft).await
    }

    /// Tells what people said of an agent's writes.
    ///
    /// # Errors
    /// When there is no such agent.
    pub async fn feedback(&self, call: &Call, agent: &str) -> Result<Feedback, Refusal> {
        review::feedback(&*self.tenant(call)?, call, agent).await
    }

    /// Sets a policy in place of the one of the same name.
    ///
    /// # Errors
    /// When the caller is no admin, or the body is no policy.
    pub async fn set_policy(&self, call: &Call, name: &str, body: Value) -> Result<String, Refusal> {
        govern::set_policy(&*self.tenant(call)?, call, name, body).await
    }

    /// Lists policies by name.
    ///
    /// # Errors
    /// When the caller is neither auditor nor admin.
    pub async fn policies(&self, call: &Call) -> Result<Vec<(String, Policy)>, Refusal> {
        govern::policies(&*self.tenant(call)?, call).await
    }

    /// Registers a schema in place of the one of the same kind and layer.
    ///
    /// # Errors
    /// When the caller is no admin, or the body is no schema.
    pub async fn set_schema(&self, call: &Call, body: Value) -> Result<String, Refusal> {
        govern::set_schema(&*self.tenant(call)?, call, body).await
    }

    /// Lists schemas.
    ///
    /// # Errors
    /// When the trail cannot be written.
    pub async fn schemas(&self, call: &Call) -> Result<Vec<Value>, Refusal> {
        govern::schemas(&*self.tenant(call)?, call).await
    }

    /// Forbids an agent to write, or allows it again.
    ///
    /// # Errors
    /// When the caller is no admin, or there is no such agent.
    pub async fn suspend(
        &self,
        call: &Call,
        agent: &str,
        suspended: bool,
        reason: &str,
    ) -> Result<String, Refusal> {
        govern::suspend(&*self.tenant(call)?, call, agent, suspended, reason).await
    }

    /// Puts an item under quarantine, or releases it.
    ///
    /// # Errors
    /// When it is missing or hidden, or is so already.
    pub async fn quarantine(
        &self,
        call: &Call,
        id: &str,
        on: bool,
        reason: &str,
    ) -> Result<Quarantined, Refusal> {
        govern::quarantine(&*self.tenant(call)?, call, id, on, reason).await
    }

    /// Retracts all that an agent wrote in a period and what derives from it, as far as the caller may see it.
    ///
    /// # Errors
    /// When there is no such agent.
    pub async fn revert(
        &self,
        call: &Call,
        agent: &str,
        period: (Timestamp, Timestamp),
        reason: &str,
        dry_run: bool,
    ) -> Result<Reverted, Refusal> {
        govern::revert(&*self.tenant(call)?, call, agent, period, reason, dry_run).await
    }

    /// How often each gate ran since the start and what that took in all, the gathering of facts included.
    ///
    /// # Errors
    /// When the tenant is gone.
    pub fn gate_times(&self, call: &Call) -> Result<Vec<(&'static str, u64, std::time::Duration)>, Refusal> {
        Ok(self.tenant(call)?.gate_times.all())
    }

    /// News of held writes, as they come.
    ///
    /// # Errors
    /// When the tenant is gone.
    pub fn notices(&self, call: &Call) -> Result<tokio::sync::broadcast::Receiver<Notice>, Refusal> {
        Ok(self.tenant(call)?.notices.subscribe())
    }

    /// News of held writes of every tenant, as they come: for the operator of this process, and nobody else.
    #[must_use]
    pub fn news(&self) -> tokio::sync::broadcast::Receiver<(TenantId, Notice)> {
        self.inner.news.subscribe()
    }

    /// Whether a caller may hear of this.
    #[must_use]
    pub fn may_hear(&self, call: &Call, notice: &Notice) -> bool {
        self.tenant(call).is_ok_and(|tenant| review::may_hear(&tenant, call, notice))
    }

    /// Announces the held writes that nobody decided on in time, each once. To be called often: it looks once a minute.
    pub fn escalate(&self) {
        let tenants: Vec<Arc<Tenant>> = self.inner.tenants.read().values().cloned().collect();
        tenants.iter().for_each(|tenant| review::escalate(tenant));
    }

    /// Reads an item, now or as of a time or token.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn get(&self, call: &Call, id: &str, as_of: Option<&str>) -> Result<ItemReply, Refusal> {
        read::get(&*self.tenant(call)?, call, id, as_of).await
    }

    /// Lists items, oldest first.
    ///
    /// # Errors
    /// When the query breaks a rule.
    pub async fn list(&self, call: &Call, query: ListQuery) -> Result<Page<ItemReply>, Refusal> {
        read::list(&*self.tenant(call)?, call, query).await
    }

    /// Lists the versions of an item, oldest first.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn versions(&self, call: &Call, id: &str) -> Result<Vec<VersionReply>, Refusal> {
        read::versions(&*self.tenant(call)?, call, id).await
    }

    /// Reads the provenance record of a version, the head's by default.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn provenance(
        &self,
        call: &Call,
        id: &str,
        version: Option<&str>,
    ) -> Result<Provenance, Refusal> {
        read::provenance(&*self.tenant(call)?, call, id, version).await
    }

    /// Retracts an item's head.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn retract(&self, call: &Call, id: &str, reason: Option<String>) -> Result<Changed, Refusal> {
        change::change(&*self.tenant(call)?, call, id, Change::Retract, reason).await
    }

    /// Retracts an item's head and brings back what it replaced.
    ///
    /// # Errors
    /// When it is missing or hidden, or the version named is not the head.
    pub async fn rollback(
        &self,
        call: &Call,
        id: &str,
        version: Option<&str>,
        reason: Option<String>,
    ) -> Result<Changed, Refusal> {
        let change = Change::Rollback(version.map(ToOwned::to_owned));
        change::change(&*self.tenant(call)?, call, id, change, reason).await
    }

    /// Keeps an item from garbage collection.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn pin(&self, call: &Call, id: &str, reason: Option<String>) -> Result<Changed, Refusal> {
        change::change(&*self.tenant(call)?, call, id, Change::Pin, reason).await
    }

    /// No longer does.
    ///
    /// # Errors
    /// When it is missing or hidden.
    pub async fn unpin(&self, call: &Call, id: &str, reason: Option<String>) -> Result<Changed, Refusal> {
        change::change(&*self.tenant(call)?, call, id, Change::Unpin, reason).await
    }

    /// Finds items.
    ///
    /// # Errors
    /// When the query breaks a rule.
    pub async fn search(&self, call: &Call, query: SearchQuery) -> Result<SearchReply, Refusal> {
        search::search(&*self.tenant(call)?, call, query).await
    }

    /// Makes a tenant and its admin's key. Operators only.
    ///
    /// # Errors
    /// For everyone else, and for a name that is taken.
    pub async fn create_tenant(&self, call: &Call, name: &str) -> Result<NewTenant, Refusal> {
        let own = self.tenant(call)?;
        let plan = || {
            if !call.caller.is_operator() {
                return Err(Refusal::new(Code::Forbidden, "only an admin of the first tenant makes tenants"));
            }
            let name = identity::checked(name)?;
            let taken = self
                .inner
                .tenants
                .read()
                .values()
                .any(|tenant| tenant.shared.views.read().identity.tenant_name() == name);
            if taken { Err(Refusal::new(Code::NameTaken, "another tenant has this name")) } else { Ok(name) }
        };
        let name = match plan() {
            Ok(name) => name,
            Err(refusal) => return Err(own.refused(call, "create_tenant", Vec::new(), refusal).await),
        };
        let engine = self.clone();
        let founded = {
            let name = name.clone();
            tokio::task::spawn_blocking(move || engine.found_tenant(&name, false, None)).await
        };
        match founded {
            Ok(Ok((id, admin_key))) => {
                own.sequencer.trail_now(own.row(call, "create_tenant", "ok", vec![id.to_string()])).await?;
                Ok(NewTenant { id, name, admin_key })
            }
            other => {
                tracing::error!(?other, "a tenant could not be made");
                Err(Refusal::new(Code::StorageFailed, "the tenant could not be made"))
            }
        }
    }

    /// Makes a user. Admins only.
    ///
    /// # Errors
    /// For everyone else, and for a name that is taken or breaks the rule.
    pub async fn create_user(
        &self,
        call: &Call,
        name: &str,
        role: Option<&str>,
    ) -> Result<UserReply, Refusal> {
        identity::create_user(&*self.tenant(call)?, call, name, role).await
    }

    /// Makes an agent. Admins only.
    ///
    /// # Errors
    /// As for users.
    pub async fn create_agent(
        &self,
        call: &Call,
        name: &str,
        specialisation: Option<String>,
        trust_declared: bool,
    ) -> Result<AgentReply, Refusal> {
        identity::create_agent(&*self.tenant(call)?, call, name, specialisation, trust_declared).await
    }

    /// Makes a resource. Admins only.
    ///
    /// # Errors
    /// As for users.
    pub async fn create_resource(
        &self,
        call: &Call,
        name: &str,
        kind: Option<String>,
        description: Option<String>,
    ) -> Result<ResourceReply, Refusal> {
        identity::create_resource(&*self.tenant(call)?, call, name, kind, description).await
    }

    /// Makes a key for a user, an agent or a pair. Admins only.
    ///
    /// # Errors
    /// For everyone else, and for names that are not known.
    pub async fn create_key(
        &self,
        call: &Call,
        user: Option<&str>,
        agent: Option<&str>,
        expires_at: Option<&str>,
    ) -> Result<NewKey, Refusal> {
        identity::create_key(&*self.tenant(call)?, call, &self.inner.pepper, user, agent, expires_at).await
    }

    /// Ends a key. Admins only.
    ///
    /// # Errors
    /// For everyone else, and for a key that is not known.
    pub async fn revoke_key(&self, call: &Call, id: &str) -> Result<RevokedKey, Refusal> {
        identity::revoke_key(&*self.tenant(call)?, call, id).await
    }

    /// Lists users. Admins only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn users(&self, call: &Call) -> Result<Vec<UserReply>, Refusal> {
        let rows = |views: &tabellion_core::view::Views| {
            views.identity.users().iter().map(identity::user_reply).collect()
        };
        identity::listing(&*self.tenant(call)?, call, "users", rows).await
    }

    /// Lists agents. Admins only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn agents(&self, call: &Call) -> Result<Vec<AgentReply>, Refusal> {
        let rows = |views: &tabellion_core::view::Views| {
            views.identity.agents().iter().map(identity::agent_reply).collect()
        };
        identity::listing(&*self.tenant(call)?, call, "agents", rows).await
    }

    /// Lists resources. Admins only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn resources(&self, call: &Call) -> Result<Vec<ResourceReply>, Refusal> {
        let rows = |views: &tabellion_core::view::Views| {
            views.identity.resources().iter().map(identity::resource_reply).collect()
        };
        identity::listing(&*self.tenant(call)?, call, "resources", rows).await
    }

    /// Lists keys, without secrets. Admins only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn keys(&self, call: &Call) -> Result<Vec<KeyReply>, Refusal> {
        let rows = |views: &tabellion_core::view::Views| {
            views.identity.keys().iter().map(identity::key_reply).collect()
        };
        identity::listing(&*self.tenant(call)?, call, "keys", rows).await
    }

    /// Tells who the caller is.
    ///
    /// # Errors
    /// When the trail cannot be written.
    pub async fn whoami(&self, call: &Call) -> Result<WhoAmI, Refusal> {
        identity::whoami(&*self.tenant(call)?, call).await
    }

    /// Reads the trail, newest first: one's own rows, or all of them for auditors.
    ///
    /// # Errors
    /// When the query breaks a rule.
    pub async fn audit(&self, call: &Call, query: AuditQuery) -> Result<Page<AuditRow>, Refusal> {
        trail::audit(&*self.tenant(call)?, call, query).await
    }

    /// Verifies the tenant's logs. Auditors only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn verify(&self, call: &Call) -> Result<VerifyReport, Refusal> {
        let tenant = self.tenant(call)?;
        if let Err(refusal) = call.caller.must_audit() {
            return Err(tenant.refused(call, "verify", Vec::new(), refusal).await);
        }
        let checked = Arc::clone(&tenant);
        let report = tokio::task::spawn_blocking(move || {
            let shared = &checked.shared;
            let witness = None;
            let against = verify::Against {
                tenant: shared.tenant,
                store: &*shared.store,
                keys: Some(&*shared.keys),
                witness,
                pinned: None,
            };
            verify::verify(&against, &mut |_, _| {})
        })
        .await;
        let result = report.map_err(|_| Refusal::new(Code::Internal, "the verification stopped"));
        let outcome = if result.as_ref().is_ok_and(VerifyReport::is_ok) { "ok" } else { "faults" };
        tenant.trail_read(tenant.row(call, "verify", outcome, Vec::new())).await?;
        result
    }

    /// Tells the newest signed head. Auditors only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn head(&self, call: &Call, log: LogName) -> Result<HeadReply, Refusal> {
        proof::head(&*self.tenant(call)?, call, log).await
    }

    /// Proves that an entry is in the log. Auditors only.
    ///
    /// # Errors
    /// For everyone else, and for a position that is not there.
    pub async fn inclusion(
        &self,
        call: &Call,
        log: LogName,
        lsn: u64,
        size: Option<u64>,
    ) -> Result<InclusionReply, Refusal> {
        proof::inclusion(&*self.tenant(call)?, call, log, lsn, size).await
    }

    /// Proves that one log is the beginning of another. Auditors only.
    ///
    /// # Errors
    /// For everyone else, and for sizes that are not there.
    pub async fn consistency(
        &self,
        call: &Call,
        log: LogName,
        from: u64,
        to: Option<u64>,
    ) -> Result<ConsistencyReply, Refusal> {
        proof::consistency(&*self.tenant(call)?, call, log, from, to).await
    }
}
