//! Proofs: that an entry is in the log, and that one log is the beginning of another.

use crate::Call;
use crate::reply::{ConsistencyReply, HeadReply, InclusionReply};
use crate::tenant::{Tenant, storage};
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::log::{LogName, Lsn, consistency_proof, inclusion_proof, root_of};
use tabellion_store::{StoreError, subtree};

pub(crate) async fn head(tenant: &Tenant, call: &Call, log: LogName) -> Result<HeadReply, Refusal> {
    let read = || {
        call.caller.must_audit()?;
        let signed = tenant.shared.store.latest_head(log).map_err(|error| storage(&error))?;
        let signed = signed.ok_or_else(|| Refusal::new(Code::NotFound, "this log is empty"))?;
        Ok(HeadReply { log, tenant: tenant.shared.tenant, signed, public_key: tenant.public_key.to_bytes() })
    };
    tenant.read_done(call, "head", Vec::new(), read()).await
}

pub(crate) async fn inclusion(
    tenant: &Tenant,
    call: &Call,
    log: LogName,
    lsn: u64,
    size: Option<u64>,
) -> Result<InclusionReply, Refusal> {
    let read = || {
        call.caller.must_audit()?;
        let size = size_within(tenant, log, size, "/size")?;
        if lsn == 0 || lsn > size {
            return Err(out_of_range("/lsn", 1, size));
        }
        let index = lsn - 1;
        let leaves =
            tenant.shared.store.leaves(log, Lsn::new(lsn), Lsn::new(lsn)).map_err(|error| storage(&error))?;
        let leaf = leaves.first().copied().ok_or_else(|| Refusal::new(Code::NotFound, "no such entry"))?;
        let path = inclusion_proof(index, size, &mut reader(tenant, log)).map_err(|error| storage(&error))?;
        Ok(InclusionReply { log, lsn, size, leaf, path, root: root(tenant, log, size)? })
    };
    tenant.read_done(call, "inclusion", Vec::new(), read()).await
}

pub(crate) async fn consistency(
    tenant: &Tenant,
    call: &Call,
    log: LogName,
    from: u64,
    to: Option<u64>,
) -> Result<ConsistencyReply, Refusal> {
    let read = || {
        call.caller.must_audit()?;
        let to = size_within(tenant, log, to, "/to")?;
        if from == 0 || from > to {
            return Err(out_of_range("/from", 1, to));
        }
        let path = consistency_proof(from, to, &mut reader(tenant, log)).map_err(|error| storage(&error))?;
        Ok(ConsistencyReply {
            log,
            from,
            to,
            path,
            from_root: root(tenant, log, from)?,
            to_root: root(tenant, log, to)?,
        })
    };
    tenant.read_done(call, "consistency", Vec::new(), read()).await
}

fn reader(tenant: &Tenant, log: LogName) -> impl FnMut(u64, u64) -> Result<Hash, StoreError> + '_ {
    move |start, end| subtree(&*tenant.shared.store, log, start, end)
}

fn root(tenant: &Tenant, log: LogName, size: u64) -> Result<Hash, Refusal> {
    root_of(0, size, &mut reader(tenant, log)).map_err(|error| storage(&error))
}

fn size_within(tenant: &Tenant, log: LogName, size: Option<u64>, path: &str) -> Result<u64, Refusal> {
    let have = tenant.shared.store.size(log).map_err(|error| storage(&error))?;
    match size {
        None => Ok(have),
        Some(size) if (1..=have).contains(&size) => Ok(size),
        Some(_) => Err(out_of_range(path, 1, have)),
    }
}

fn out_of_range(path: &str, min: u64, max: u64) -> Refusal {
    let fault = Fault::new(path, Code::ConstraintViolation, format!("{min} to {max}"));
    Refusal::new(Code::SchemaInvalid, format!("`{path}` is out of range")).with(vec![fault])
}
