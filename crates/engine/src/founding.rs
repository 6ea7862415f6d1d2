//! The tenants of a data directory as the engine opens, and the first entries of a new one.

use crate::tenant::Tenant;
use crate::{Engine, FirstStart, OpenError, identity};
use std::sync::Arc;
use tabellion_core::id::TenantId;

impl Engine {
    pub(crate) fn open_tenants(&self) -> Result<Option<FirstStart>, OpenError> {
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
}
