//! The tenants of a data directory as the engine opens, and the first entries of a new one.

use crate::integrity::Survey;
use crate::tenant::{Tenant, TenantOptions};
use crate::witness::Witness;
use crate::{Engine, StartFault, identity};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tabellion_core::access::Role;
use tabellion_core::error::Refusal;
use tabellion_core::id::{KeyId, TenantId};
use tabellion_core::log::{AcceptedLoss, Actor, Event, Payload, UserStatus};
use tabellion_store::{
    DataDir, KeptStore, KeyStore, MemoryStore, Obstacle, SqliteStore, Store, VectorStore, write_private,
};

/// What the first start made; the key is shown this once.
#[derive(Debug, Clone)]
pub struct FirstStart {
    /// The tenant.
    pub tenant: TenantId,
    /// The admin's key.
    pub admin_key: String,
}

/// Why an engine could not be opened, and what to do.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct OpenError {
    message: String,
    not_whole: bool,
}

impl OpenError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), not_whole: false }
    }

    /// The refusal of a path, with what to do where it is the system that refuses.
    pub(crate) fn of_path(path: &Path, error: &dyn std::fmt::Display, obstacle: Option<Obstacle>) -> Self {
        let way_out = obstacle.map(|found| format!("; {}", found.way_out())).unwrap_or_default();
        Self::new(format!("{}: {error}{way_out}", path.display()))
    }

    /// The same for an answer of the file system.
    pub(crate) fn of_io(path: &Path, error: &std::io::Error) -> Self {
        Self::of_path(path, error, Obstacle::of_io(error))
    }

    /// The refusal of a data directory that lost something, is not what was witnessed, or cannot be read.
    pub(crate) fn not_whole(faults: &[StartFault]) -> Self {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Self { message: lines.join("\n"), not_whole: faults.iter().any(StartFault::is_of_data) }
    }

    /// Whether a part of the data directory is missing, older or of another one. Starting again does not help then.
    #[must_use]
    pub const fn is_not_whole(&self) -> bool {
        self.not_whole
    }
}

/// Marks a directory whose first start begins, before anything else is made in it: until its tenant stands, what is there
/// may be thrown away.
pub(crate) fn mark(dir: &DataDir) -> Result<(), OpenError> {
    let mark = dir.founding_mark();
    let written = write_private(&mark, b"the first start is under way, or was broken off\n");
    written.map_err(|error| OpenError::of_io(&mark, &error))
}

/// Whether a tenant is opened for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Founding {
    /// Its files are made now.
    Begins,
    /// Its files are there, and none of those that cannot be made again is made anew.
    Done,
}

/// What of a tenant lies in files, or in memory where there is no directory.
pub(crate) struct Files {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: KeyStore,
    pub(crate) kept: KeptStore,
}

impl Files {
    /// Opens them; makes them only where the tenant is being founded.
    pub(crate) fn open(tenant: TenantId, options: &TenantOptions<'_>) -> Result<Self, OpenError> {
        let failed = |error: &dyn std::fmt::Display| OpenError::new(format!("tenant {tenant}: {error}"));
        let fill = |bytes: &mut [u8]| options.entropy.fill(bytes);
        let Some(dir) = options.dir else {
            let keys = KeyStore::open(None, tenant, options.master, &fill).map_err(|error| failed(&error))?;
            let kept = KeptStore::open(None, tenant).map_err(|error| failed(&error))?;
            return Ok(Self { store: Arc::new(MemoryStore::default()), keys, kept });
        };
        let at = |path: &Path, error: &dyn std::fmt::Display, obstacle| {
            failed(&OpenError::of_path(path, error, obstacle))
        };
        let (log, witness, key_store, kept) =
            (dir.log(tenant), dir.witness(tenant), dir.key_store(tenant), dir.kept(tenant));
        if options.founding == Founding::Begins {
            // The witness comes first: whatever a kill leaves behind is known to be a founding that nobody was told of.
            Witness::default()
                .write(&witness)
                .map_err(|error| at(&witness, &error, Obstacle::of_io(&error)))?;
            let folder = dir.tenant(tenant);
            dir.create_tenant(tenant).map_err(|error| at(&folder, &error, Obstacle::of_io(&error)))?;
        }
        let keys = KeyStore::open(Some(&key_store), tenant, options.master, &fill);
        let keys = keys.map_err(|error| at(&key_store, &error, error.obstacle()))?;
        let store = match options.founding {
            Founding::Begins => SqliteStore::open(&log),
            Founding::Done => SqliteStore::open_existing(&log),
        };
        let store = store.map_err(|error| at(&log, &error, error.obstacle()))?;
        let kept_store =
            KeptStore::open(Some(&kept), tenant).map_err(|error| at(&kept, &error, error.obstacle()))?;
        Ok(Self { store: Arc::new(store), keys, kept: kept_store })
    }
}

impl Engine {
    /// Tells what the operator should know of this start: losses that were accepted, key files that others can read.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.inner.warnings.lock().clone()
    }

    /// Warns of key files that other users of the machine can read.
    pub(crate) fn look_at_permissions(&self, dir: &DataDir) {
        let open = dir.open_to_others();
        if open.is_empty() {
            return;
        }
        let named: Vec<String> = open.iter().map(|path| path.display().to_string()).collect();
        let (keys, paths) = (dir.keys(), named.join(", "));
        let warning = format!(
            "other users of this machine can read keys: {paths}; run `chmod -R go-rwx {}`",
            keys.display()
        );
        tracing::warn!("{warning}");
        self.inner.warnings.lock().push(warning);
    }

    /// Opens every tenant of a directory that was surveyed; the losses are those that the operator accepts.
    pub(crate) fn open_tenants(
        &self,
        surveyed: &Survey,
        losses: &[(TenantId, AcceptedLoss)],
    ) -> Result<Option<FirstStart>, OpenError> {
        if let Some(dir) = &self.inner.dir {
            for id in &surveyed.unfounded {
                dir.remove_tenant(*id).map_err(|error| OpenError::new(format!("tenant {id}: {error}")))?;
            }
        }
        let mut operator: Option<Arc<Tenant>> = None;
        for id in surveyed.founded.iter().copied() {
            let losses: Vec<AcceptedLoss> =
                losses.iter().filter(|(of, _)| *of == id).map(|(_, loss)| *loss).collect();
            let tenant = self.open_with_losses(id, &losses, &surveyed.founded)?;
            if tenant.shared.views.read().identity.is_operator() {
                operator = Some(Arc::clone(&tenant));
            }
            self.inner.tenants.write().insert(id, tenant);
        }
        let first = match operator {
            None => Some(self.first_start()?),
            Some(operator) => {
                // A disk that takes nothing keeps nobody from reading: the writer tries again by itself.
                let _reported = operator.note_tenants(&self.tenants_but(operator.shared.tenant));
                self.admin_key_of_environment(&operator)?;
                None
            }
        };
        if let Some(dir) = self.inner.dir.as_ref().filter(|dir| dir.founding_mark().exists()) {
            let mark = dir.founding_mark();
            dir.remove_mark(&mark).map_err(|error| OpenError::of_io(&mark, &error))?;
        }
        Ok(first)
    }

    /// The other tenants that are open, with their names.
    fn tenants_but(&self, tenant: TenantId) -> Vec<(TenantId, String)> {
        let tenants = self.inner.tenants.read();
        let others = tenants.iter().filter(|(id, _)| **id != tenant);
        let name = |tenant: &Tenant| tenant.shared.views.read().identity.tenant_name().to_owned();
        others.map(|(id, tenant)| (*id, name(tenant))).collect()
    }

    /// The first tenant, whose admins make the others.
    fn operator_tenant(&self) -> Option<Arc<Tenant>> {
        let tenants = self.inner.tenants.read();
        tenants.values().find(|tenant| tenant.shared.views.read().identity.is_operator()).cloned()
    }

    /// Opens a tenant. What it lost is an entry of its log from then on, and only then does the witness follow.
    fn open_with_losses(
        &self,
        id: TenantId,
        losses: &[AcceptedLoss],
        founded: &[TenantId],
    ) -> Result<Arc<Tenant>, OpenError> {
        if let (Some(dir), false) = (&self.inner.dir, losses.is_empty()) {
            // Vectors of entries that are gone would be taken for those of the entries that get their places.
            VectorStore::remove(&dir.vectors(id)).map_err(|error| OpenError::new(error.to_string()))?;
        }
        let tenant = self.open_tenant(id, Founding::Done, founded)?;
        if losses.is_empty() {
            // Its founding was cut short before the witness saw it. Before anything is written the witness has to.
            if tenant.witness_is_of_founding() {
                let _reported = tenant.witness_now();
            }
            return Ok(tenant);
        }
        let mut drafts = Vec::new();
        for loss in losses {
            let warning = format!("a loss is accepted: {loss}");
            tracing::warn!(tenant = %id, "{warning}");
            let reason = Payload::Reason(warning.clone());
            self.inner.warnings.lock().push(format!("tenant {id}: {warning}"));
            let draft = tenant.draft(Actor::SERVER, Event::LossAccepted(*loss), Some(&reason));
            drafts.push(draft.map_err(|refusal| OpenError::new(refusal.message))?);
        }
        tenant.found(drafts, "accept_loss", Vec::new())?;
        tenant.witness_now()?;
        Ok(tenant)
    }

    fn first_start(&self) -> Result<FirstStart, OpenError> {
        let given = self.inner.options.admin_key.clone();
        let (tenant, admin_key) = self.found_tenant("default", true, given)?;
        Ok(FirstStart { tenant, admin_key })
    }

    /// Makes a tenant with its first entries, and tells the admin's key.
    pub(crate) fn found_tenant(
        &self,
        name: &str,
        operator: bool,
        given: Option<String>,
    ) -> Result<(TenantId, String), OpenError> {
        let id = TenantId::from_bytes(self.inner.options.entropy.bytes());
        let tenant = self.open_tenant(id, Founding::Begins, &[])?;
        let admin_key = given.unwrap_or_else(|| identity::new_secret(&tenant));
        let fingerprint = identity::fingerprint(&self.inner.pepper, &admin_key);
        let drafts = identity::genesis(&tenant, name, operator, fingerprint)
            .map_err(|refusal| OpenError::new(refusal.message))?;
        tenant.found(drafts, "create_tenant", Vec::new())?;
        // Nobody is told of the tenant before its witness has seen it: from here on an empty log is a loss.
        tenant.witness_now()?;
        // Only now may the first tenant's witness name it: from there on it is a loss if nothing of it is left.
        if let Some(first) = self.operator_tenant() {
            first.note_tenants(&[(id, name.to_owned())])?;
        }
        self.inner.tenants.write().insert(id, tenant);
        Ok((id, admin_key))
    }

    /// Gives the first admin the key that the environment names, if no key of the tenant was ever this one: so an admin who
    /// lost every key, or was disabled, gets in again. One that was revoked, or has ended, stays so (AM-14).
    fn admin_key_of_environment(&self, tenant: &Tenant) -> Result<(), OpenError> {
        let Some(given) = &self.inner.options.admin_key else { return Ok(()) };
        let fingerprint = identity::fingerprint(&self.inner.pepper, given);
        let (admin, is_disabled, is_demoted) = {
            let views = tenant.shared.views.read();
            if let Some(known) = views.identity.key_with(&fingerprint) {
                if views.identity.live_key(&fingerprint, tenant.now()).is_none() {
                    let key = known.issued.key;
                    tracing::warn!(
                        %key,
                        "TABELLION_ADMIN_KEY holds a key that was revoked or has ended; it stays so. To get in again, set a \
                         new value that was never used"
                    );
                }
                return Ok(());
            }
            let user = views.identity.find_user(identity::ADMIN);
            let user = user.ok_or_else(|| OpenError::new("the first tenant has no admin"))?;
            (user.id, !views.graphs.is_active(user.id, views.lsn()), user.role != Role::Admin)
        };
        let failed = |refusal: Refusal| OpenError::new(refusal.message);
        let mut drafts = Vec::new();
        // Nobody else may be left who could enable or promote the admin, so a new key brings all of it back.
        let restored = [
            is_disabled.then_some(Event::UserStatusSet { user: admin, status: UserStatus::Active }),
            is_demoted.then_some(Event::UserRoleSet { user: admin, role: Role::Admin }),
        ];
        let reason = Payload::Reason("a new value of TABELLION_ADMIN_KEY".to_owned());
        for event in restored.into_iter().flatten() {
            drafts.push(tenant.draft(Actor::SERVER, event, Some(&reason)).map_err(failed)?);
            tracing::warn!("the first admin was disabled or demoted and is an active admin again");
        }
        let key = KeyId::from_bytes(tenant.entropy.bytes());
        let event = identity::admin_key(key, admin, fingerprint);
        drafts.push(tenant.draft(Actor::SERVER, event, None).map_err(failed)?);
        let ids = vec![key.to_string(), admin.to_string()];
        tracing::warn!(%key, "the admin has a new key, the one in TABELLION_ADMIN_KEY");
        tenant.found(drafts, "create_key_of_environment", ids)
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
        self.inner.open.load(Ordering::Acquire) && self.storage_trouble().is_none()
    }

    /// Why the storage takes no writes at present, of the first tenant that has such trouble; none if all is well.
    #[must_use]
    pub fn storage_trouble(&self) -> Option<String> {
        self.inner.tenants.read().values().find_map(|tenant| tenant.storage_trouble())
    }
}
