//! The service layer: one file per operation. Each gathers facts, asks `core`, and commits to `store`.
//!
//! Invariant: knows no protocol. Owns the ports: clock, entropy, embedder, gates and models outside. No operation exists without a `Call`, and a `Call` holds
//! a `Caller` that only a credential can make; but for the exchange of tokens, by which an agent service comes to one.

mod anomaly;
mod ask;
mod calibration;
mod cedar;
mod change;
mod counsel;
mod credential;
mod embedding;
mod equipment;
mod exchange;
mod flow;
mod fold;
mod founding;
mod govern;
mod governed;
mod granted;
mod graph;
mod identity;
mod index;
mod integrity;
mod kept;
mod notice;
pub mod offline;
mod options;
mod outcome;
mod owed;
mod paths;
pub mod ports;
mod proof;
mod read;
mod relation;
pub mod reply;
mod reputation;
mod resource;
mod reverify;
mod review;
mod rights;
mod roles;
mod rows;
mod scribing;
mod search;
mod sequencer;
mod sharing;
mod short_ids;
mod snapshot;
mod tenant;
mod trace;
mod trail;
mod trouble;
mod vectors;
mod verify;
mod visibility;
mod witness;
mod working;
mod write;

pub use credential::Issuer;
pub use equipment::{AskLimits, Configured, Equipment, How};
pub use flow::Pace;
pub use integrity::StartFault;
pub use notice::{Notice, PairNotice, ReviewNotice};
pub use options::{AuditReads, Calibration, CalibrationMode, EngineLimits, Governance, Options};
pub use relation::Related;
pub use write::{Turn, Turns};

use change::Change;
use embedding::Embedding;
use founding::Founding;
pub use founding::{FirstStart, OpenError};
use parking_lot::RwLock;
use reply::{
    AgentReply, AuditQuery, AuditRow, Changed, ConsistencyReply, HeadReply, InclusionReply, ItemReply,
    KeyReply, ListQuery, NewAgent, NewKey, NewTenant, OutcomeReply, OutcomeReport, Page, PathsQuery,
    PathsReply, ResourceReply, RevokedKey, SearchQuery, SearchReply, UserReply, VerifyReport, VersionReply,
    WhoAmI, Written,
};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tabellion_core::access::{Caller, look_alike};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::WriteDraft;
use tabellion_core::id::TenantId;
use tabellion_core::log::LogName;
use tabellion_core::provenance::Provenance;
use tabellion_core::seal::Secret;
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
    /// The piece of work that it belongs to, as the caller names it (SHARE-9).
    pub trace: Option<String>,
}

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
    issuer: OnceLock<Issuer>,
    equipment: OnceLock<equipment::Equipped>,
    open: AtomicBool,
    lock: parking_lot::Mutex<Option<DirLock>>,
    /// What the operator should know of this start.
    warnings: parking_lot::Mutex<Vec<String>>,
}

impl Engine {
    /// Opens a data directory, making it on first start. Blocking.
    ///
    /// # Errors
    /// When the directory is in use, cannot be read, or the master key is another one.
    pub fn open(options: Options) -> Result<(Engine, Option<FirstStart>), OpenError> {
        if options.admin_key.as_ref().is_some_and(|key| key.chars().count() < ADMIN_KEY_CHARS_MIN) {
            let what = format!("the admin key given has fewer than {ADMIN_KEY_CHARS_MIN} characters");
            return Err(OpenError::new(format!("{what}; give 256 random bits, or none and one is made")));
        }
        let dir = options.data.as_deref().map(DataDir::at);
        let (mut surveyed, mut accepted) = (integrity::Survey::default(), Vec::new());
        let (master, lock) = match &dir {
            None => (
                options.master_key.clone().unwrap_or_else(|| Secret::from_bytes(options.entropy.bytes())),
                None,
            ),
            Some(dir) => {
                let failed = |error: std::io::Error| OpenError::of_io(dir.path(), &error);
                dir.create_base().map_err(failed)?;
                let lock = dir.lock().map_err(|error| OpenError::new(error.to_string()))?;
                surveyed = integrity::survey(dir, options.master_key.as_ref(), integrity::Access::Holder);
                accepted = if options.accept_loss { surveyed.accept()? } else { Vec::new() };
                if !options.accept_loss {
                    surveyed.must_be_whole()?;
                }
                if surveyed.founded.is_empty() {
                    founding::mark(dir)?;
                }
                dir.create().map_err(failed)?;
                (offline::first_master_key(dir, &options)?, Some(lock))
            }
        };
        let embedding = options.embedder.clone().map(Embedding::start).transpose();
        let embedding =
            embedding.map_err(|error| OpenError::new(format!("no thread for the model: {error}")))?;
        let inner = Inner {
            embedding: embedding.map(Arc::new),
            tenants: RwLock::new(BTreeMap::new()),
            pepper: master.derive("tabellion/v1/api-key"),
            master,
            dir,
            options,
            news: notice::news(),
            issuer: OnceLock::new(),
            equipment: OnceLock::new(),
            open: AtomicBool::new(true),
            lock: parking_lot::Mutex::new(lock),
            warnings: parking_lot::Mutex::default(),
        };
        let engine = Engine { inner: Arc::new(inner) };
        if let Some(dir) = &engine.inner.dir {
            engine.look_at_permissions(dir);
        }
        let first = engine.open_tenants(&surveyed, &accepted)?;
        Ok((engine, first))
    }

    fn open_tenant(
        &self,
        id: TenantId,
        founding: Founding,
        founded: &[TenantId],
    ) -> Result<Arc<Tenant>, OpenError> {
        let options = &self.inner.options;
        let options = TenantOptions {
            founding,
            founded,
            dir: self.inner.dir.as_ref(),
            master: &self.inner.master,
            clock: Arc::clone(&options.clock),
            entropy: Arc::clone(&options.entropy),
            embedding: self.inner.embedding.clone(),
            limits: options.limits,
            audit_reads: options.audit_reads,
            governance: options.governance.clone(),
            advisers: options.advisers.clone(),
            news: self.inner.news.clone(),
        };
        let tenant = Tenant::open(id, &options).map(Arc::new)?;
        tenant.recall().map_err(|error| OpenError::new(format!("the trail cannot be read: {error}")))?;
        kept::start(&tenant).map_err(|error| OpenError::new(format!("no thread for deferrals: {error}")))?;
        reverify::start(&tenant).map_err(|error| OpenError::new(format!("no thread for sweeps: {error}")))?;
        calibration::start(&tenant)
            .map_err(|error| OpenError::new(format!("no thread for trust: {error}")))?;
        Ok(tenant)
    }

    /// Reports what of a search was used, and how it went.
    ///
    /// # Errors
    /// When the caller made no such search within a day, or it found no such item.
    pub async fn report_outcome(&self, call: &Call, report: OutcomeReport) -> Result<OutcomeReply, Refusal> {
        outcome::report(&*self.tenant(call)?, call, report).await
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

    /// Writes an item as part of an import: the same gates, but neither rate nor budget; it is committed after the line
    /// whose turn came before.
    ///
    /// # Errors
    /// As for a write.
    pub async fn import(&self, call: &Call, draft: WriteDraft, turn: Turn) -> Result<Written, Refusal> {
        let tenant = self.tenant(call)?;
        // A batch may go on for long after it was begun.
        identity::must_be_active(&tenant, call.caller.user())?;
        write::write(&tenant, call, draft, Pace::Import(turn)).await
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

    /// Walks along relations.
    ///
    /// # Errors
    /// When the query breaks a rule.
    pub async fn paths(&self, call: &Call, query: PathsQuery) -> Result<PathsReply, Refusal> {
        paths::paths(&*self.tenant(call)?, call, query).await
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
                .any(|tenant| look_alike(tenant.shared.views.read().identity.tenant_name(), &name));
            let message = "another tenant has this name, or one that looks like it";
            if taken { Err(Refusal::new(Code::NameTaken, message)) } else { Ok(name) }
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
        let new = NewAgent { name: name.to_owned(), specialisation, trust_declared, family: None };
        self.register_agent(call, new).await
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
            views.identity.users().iter().map(|user| identity::user_reply(views, user)).collect()
        };
        identity::listing(&*self.tenant(call)?, call, "users", rows).await
    }

    /// Lists agents. For who makes agents, sets policies or moderates.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn agents(&self, call: &Call) -> Result<Vec<AgentReply>, Refusal> {
        identity::agents(&*self.tenant(call)?, call).await
    }

    /// Reads an agent, by name or id.
    ///
    /// # Errors
    /// As for the list, or when there is none of this name.
    pub async fn agent(&self, call: &Call, name: &str) -> Result<AgentReply, Refusal> {
        identity::agent(&*self.tenant(call)?, call, name).await
    }

    /// Lists resources. Admins only.
    ///
    /// # Errors
    /// For everyone else.
    pub async fn resources(&self, call: &Call) -> Result<Vec<ResourceReply>, Refusal> {
        let rows = |views: &tabellion_core::view::Views| {
            views.identity.resources().iter().map(|one| identity::resource_reply(views, one)).collect()
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
    pub async fn whoami(&self, call: &Call, session: Option<&str>) -> Result<WhoAmI, Refusal> {
        identity::whoami(&*self.tenant(call)?, call, session).await
    }

    /// Completes the beginning of an id: every id that begins so and names something that the caller may see.
    ///
    /// # Errors
    /// When it is not the beginning of an id, or the trail cannot be written.
    pub async fn complete_id(&self, call: &Call, prefix: &str) -> Result<Vec<String>, Refusal> {
        short_ids::complete(&*self.tenant(call)?, call, prefix).await
    }

    /// The names behind ids of an answer that the caller was given: of users, agents, resources and roles.
    ///
    /// # Errors
    /// When the caller's tenant is gone.
    pub fn names<'a>(
        &self,
        call: &Call,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<BTreeMap<String, String>, Refusal> {
        Ok(short_ids::names(&*self.tenant(call)?, ids))
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
            let witness = shared.witness_text();
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
