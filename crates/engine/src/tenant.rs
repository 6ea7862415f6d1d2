//! One tenant at run time: its logs, keys, views and writer.

mod shared;

pub(crate) use shared::{Shared, Writer};

use crate::anomaly::Habits;
use crate::calibration::Calibrator;
use crate::counsel::Advice;
use crate::embedding::Embedding;
use crate::flow::{Budgets, Rates};
use crate::fold::{self, Checkpoint, Source};
use crate::founding::{Files, Founding};
use crate::govern::Schemas;
use crate::index::Trailing;
use crate::kept::Kept;
use crate::notice::{News, Notices};
use crate::outcome::Searches;
use crate::ports::{Advisers, Entropy};
use crate::reputation::{Readers, Reputations};
use crate::review::{Escalations, Looks};
use crate::rows::KeptRows;
use crate::sequencer::{Draft, Objection, Proposal, Sequencer, SharedClock, SharedViews, TrailDraft};
use crate::sharing::Directory;
use crate::trace::Traces;
use crate::trouble::{Part, Troubles};
use crate::vectors::Vectors;
use crate::visibility::Predicates;
use crate::witness::Witness;
use crate::working::Working;
use crate::write::{Flights, GateTimes};
use crate::{AuditReads, Call, EngineLimits, Governance, OpenError, index, trail, vectors};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tabellion_core::access::{Caller, PairKey, SealedPlace, TokenKey};
use tabellion_core::canonical::{Hash, framed_hmac};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{TenantId, VersionId};
use tabellion_core::log::{Actor, AuditRecord, Event, Lsn, Payload, Shaped, VerifyingKey};
use tabellion_core::seal::{Sealed, Secret};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::trust::Band;
use tabellion_core::view::{Moment, Opened, Views};
use tabellion_store::{DataDir, StoreError};
use tokio::sync::watch;

/// What a tenant is opened with.
pub(crate) struct TenantOptions<'a> {
    pub(crate) founding: Founding,
    /// All tenants that are known to be founded.
    pub(crate) founded: &'a [TenantId],
    pub(crate) dir: Option<&'a DataDir>,
    pub(crate) master: &'a Secret,
    pub(crate) clock: SharedClock,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) embedding: Option<Arc<Embedding>>,
    pub(crate) limits: EngineLimits,
    pub(crate) audit_reads: AuditReads,
    pub(crate) governance: Governance,
    pub(crate) advisers: Advisers,
    pub(crate) news: News,
}

/// One tenant at run time.
pub(crate) struct Tenant {
    pub(crate) shared: Arc<Shared>,
    pub(crate) sequencer: Sequencer,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limits: EngineLimits,
    pub(crate) working: Working,
    pub(crate) searches: Searches,
    pub(crate) governance: Governance,
    pub(crate) rates: Rates,
    pub(crate) budgets: Budgets,
    pub(crate) kept: Kept,
    pub(crate) notices: Notices,
    pub(crate) escalations: Escalations,
    /// What people were shown that held writes speak against.
    pub(crate) looks: Looks,
    pub(crate) readers: Readers,
    pub(crate) reputations: Reputations,
    pub(crate) schemas: Schemas,
    pub(crate) habits: Habits,
    pub(crate) predicates: Predicates,
    pub(crate) directory: Directory,
    pub(crate) traces: Traces,
    pub(crate) rows: KeptRows,
    pub(crate) gate_times: GateTimes,
    pub(crate) flights: Flights,
    pub(crate) advice: Advice,
    pub(crate) calibrator: Calibrator,
    pub(crate) provenance_key: Secret,
    pub(crate) public_key: VerifyingKey,
    pub(crate) pairs: PairKey,
    audit_reads: AuditReads,
    tokens: TokenKey,
    fingerprints: Secret,
}

impl Tenant {
    /// Opens a tenant, folding its views from checkpoint and log.
    pub(crate) fn open(tenant: TenantId, options: &TenantOptions<'_>) -> Result<Self, OpenError> {
        let failed = |error: &dyn std::fmt::Display| OpenError::new(format!("tenant {tenant}: {error}"));
        let Files { store, keys, kept } = Files::open(tenant, options)?;
        let keys = Arc::new(keys);
        let source = Source { store: &*store, keys: &keys, tenant };
        let checkpoint = options.dir.map(|dir| Checkpoint::of_views(dir, tenant, &keys));
        let folded = source.views(checkpoint.as_ref(), &mut |_, _| {}).map_err(|error| failed(&error))?;
        let checkpoint = options.dir.map(|dir| Checkpoint::of_index(dir, tenant, &keys));
        let index = source
            .index(checkpoint.as_ref(), &folded.view.items, &mut |_, _| {})
            .map_err(|error| failed(&error))?;
        let vectors = options.embedding.clone().map(|embedding| {
            let path = options.dir.map(|dir| dir.vectors(tenant));
            Vectors::open(path, tenant, keys.tenant_secret(), embedding, &folded.view.items)
        });
        let vectors = vectors.transpose().map_err(|error| failed(&error))?;
        let readers = Readers::of_trail(&*store).map_err(|error| failed(&error))?;
        let signing = keys.signing_key();
        let public_key = signing.verifying_key();
        // The writer brings the witness up to date as soon as it runs: it must not forget a tenant until all have names.
        let others = options.founded.iter().filter(|id| **id != tenant && folded.view.identity.is_operator());
        let tenants = others.map(|id| (*id, Vec::new())).collect();
        let shared = Arc::new(Shared {
            tenant,
            store,
            published: watch::Sender::new(folded.view.lsn()),
            views: SharedViews::new(folded.view),
            index: Trailing::new(index.view, index.checkpointed),
            vectors,
            clock: Arc::clone(&options.clock),
            dir: options.dir.cloned(),
            entropy: Arc::clone(&options.entropy),
            checkpointed: AtomicU64::new(folded.checkpointed.get()),
            checkpointing: AtomicBool::new(false),
            making_keys: AtomicBool::new(false),
            keys: Arc::clone(&keys),
            kept_changes: kept.changes(),
            sealed_name: OnceLock::new(),
            tenants: Mutex::new(tenants),
            troubles: Troubles::default(),
        });
        let sequencer = Sequencer::start(
            Arc::clone(&shared),
            signing,
            options.limits.queue_max,
            options.limits.batch_max,
        )
        .map_err(|error| failed(&error))?;
        index::start(&shared).map_err(|error| failed(&error))?;
        vectors::start(&shared).map_err(|error| failed(&error))?;
        Ok(Self {
            shared,
            sequencer,
            entropy: Arc::clone(&options.entropy),
            limits: options.limits,
            working: Working::default(),
            searches: Searches::default(),
            governance: options.governance.clone(),
            rates: Rates::default(),
            budgets: Budgets::default(),
            kept: Kept::new(kept, keys.tenant_secret())?,
            notices: Notices::new(options.news.clone()),
            escalations: Escalations::default(),
            looks: Looks::default(),
            readers,
            reputations: Reputations::default(),
            schemas: Schemas::default(),
            habits: Habits::default(),
            predicates: Predicates::default(),
            directory: Directory::default(),
            traces: Traces::default(),
            rows: KeptRows::default(),
            gate_times: GateTimes::default(),
            flights: Flights::default(),
            advice: Advice::new(options.advisers.clone()),
            calibrator: Calibrator::new(keys.tenant_secret()),
            provenance_key: keys.tenant_secret().derive("tabellion/v1/provenance"),
            public_key,
            pairs: PairKey::of(keys.tenant_secret()),
            audit_reads: options.audit_reads,
            tokens: TokenKey::of(keys.tenant_secret()),
            fingerprints: keys.tenant_secret().derive("tabellion/v1/fingerprint"),
        })
    }

    /// How far a version is trusted.
    pub(crate) fn trust_of(&self, version: VersionId) -> Band {
        let views = self.shared.views.read();
        views.items.row_of(version).map(|row| views.trust.stored(row)).unwrap_or_default().band()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Now, as a moment of the log.
    pub(crate) fn moment(&self, views: &Views) -> Moment {
        Moment { lsn: views.lsn(), time: self.now() }
    }

    /// A fingerprint that only this tenant's key holder can test.
    pub(crate) fn fingerprint(&self, parts: &[&[u8]]) -> Hash {
        framed_hmac(self.fingerprints.as_bytes(), parts)
    }

    /// The token of a position, for this caller.
    pub(crate) fn token(&self, caller: &Caller, lsn: Lsn) -> String {
        self.tokens.seal(caller, SealedPlace::Position(lsn), &self.entropy.bytes())
    }

    /// The cursor of a place, for this caller.
    pub(crate) fn cursor(&self, caller: &Caller, place: u64) -> String {
        self.tokens.seal(caller, SealedPlace::Cursor(place), &self.entropy.bytes())
    }

    /// The position in a token.
    pub(crate) fn position(&self, caller: &Caller, token: &str, field: &str) -> Result<Lsn, Refusal> {
        self.tokens.position(caller, token).ok_or_else(|| token_invalid(field))
    }

    /// The place in a cursor.
    pub(crate) fn place(&self, caller: &Caller, cursor: Option<&str>) -> Result<u64, Refusal> {
        match cursor {
            None => Ok(0),
            Some(cursor) => self.tokens.cursor(caller, cursor).ok_or_else(|| token_invalid("cursor")),
        }
    }

    /// Closes a payload under a fresh data key.
    pub(crate) fn seal(&self, payload: &Payload) -> Result<Sealed, Refusal> {
        let key = self.shared.keys.take(&|bytes| self.entropy.fill(bytes)).map_err(|error| {
            self.shared.troubles.report(Part::DataKeys, &error);
            self.shared.make_keys_ahead();
            Refusal::new(Code::StorageFailed, "the storage refused; nothing was written")
                .retry_after(Period::from_secs(5))
        })?;
        self.shared.make_keys_ahead();
        Ok(Sealed::close(self.shared.tenant, &key, &self.entropy.bytes(), &payload.encode()))
    }

    /// An entry with this payload sealed beside it.
    pub(crate) fn draft(
        &self,
        actor: Actor,
        event: Event,
        payload: Option<&Payload>,
    ) -> Result<Draft, Refusal> {
        let sealed = payload.map(|payload| self.seal(payload)).transpose()?;
        Ok(Draft { actor, event, sealed, opened: payload.map_or(Opened::Nothing, Opened::of) })
    }

    /// The payload sealed beside an entry; none once it is destroyed.
    pub(crate) fn payload(&self, lsn: Lsn) -> Result<Option<Payload>, Refusal> {
        fold::payload(&*self.shared.store, &self.shared.keys, self.shared.tenant, lsn)
            .map_err(|error| unreadable(&error, lsn))
    }

    /// What happened at a position of the log.
    pub(crate) fn event(&self, lsn: Lsn) -> Result<Option<Event>, Refusal> {
        fold::event(&*self.shared.store, lsn).map_err(|error| unreadable(&error, lsn))
    }

    /// Who made the entry at a position of the log.
    pub(crate) fn actor(&self, lsn: Lsn) -> Result<Option<Actor>, Refusal> {
        fold::actor(&*self.shared.store, lsn).map_err(|error| unreadable(&error, lsn))
    }

    /// Waits until the views hold a position.
    pub(crate) async fn reached(&self, lsn: Lsn) -> Result<(), Refusal> {
        let mut published = self.shared.published.subscribe();
        let wait = std::time::Duration::from_millis(self.limits.min_token_wait_ms);
        match tokio::time::timeout(wait, published.wait_for(|at| *at >= lsn)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(behind()),
        }
    }

    /// A row for the trail.
    pub(crate) fn row(&self, call: &Call, action: &str, outcome: &str, ids: Vec<String>) -> TrailDraft {
        let (epoch, memory) = {
            let views = self.shared.views.read();
            (views.access_epoch(), views.lsn())
        };
        let record = AuditRecord {
            action: action.to_owned(),
            outcome: outcome.to_owned(),
            epoch,
            memory,
            ids,
            query: None,
            request_id: call.request_id.clone(),
            trace: call.trace.as_deref().map(|trace| self.trace(trace)),
            shaped: None,
        };
        let reason = call.caller.moderation().map(|reason| Payload::Reason(reason.to_owned()));
        let sealed = reason.map(|reason| self.seal(&reason)).transpose();
        TrailDraft { actor: call.caller.actor(), record, sealed }
    }

    /// A row for what the server does by itself.
    pub(crate) fn server_row(&self, action: &str, outcome: &str, ids: Vec<String>) -> TrailDraft {
        trail::server_row(&self.shared, action, outcome, ids)
    }

    /// Why the storage takes no writes at present; none if it does.
    pub(crate) fn storage_trouble(&self) -> Option<String> {
        self.sequencer.end().or_else(|| self.shared.troubles.first())
    }

    /// Whether the caller is a person: no agent acts for it.
    pub(crate) fn is_person(&self, caller: &Caller) -> bool {
        // Some ask while they read the views already: a second plain read waits for the writer, which waits for the first.
        self.shared.views.read_recursive().identity.direct_agent() == Some(caller.agent())
    }

    /// Puts a read on the trail: now or soon, as the tenant chose.
    pub(crate) async fn trail_read(&self, row: TrailDraft) -> Result<(), Refusal> {
        match self.audit_reads {
            AuditReads::Async => self.sequencer.trail(row),
            AuditReads::Sync => self.sequencer.trail_now(row).await,
        }
    }

    /// Ends a read: its row on the trail, then its result.
    pub(crate) async fn read_done<T>(
        &self,
        call: &Call,
        action: &str,
        ids: Vec<String>,
        result: Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        self.trail_read(self.row(call, action, outcome, ids)).await?;
        result
    }

    /// Ends a read of what policies shape: the row says which did.
    pub(crate) async fn read_shaped<T>(
        &self,
        call: &Call,
        action: &str,
        ids: Vec<String>,
        result: Result<(T, Shaped), Refusal>,
    ) -> Result<T, Refusal> {
        let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
        let mut row = self.row(call, action, outcome, ids);
        let (result, shaped) = match result {
            Ok((read, shaped)) => (Ok(read), shaped.noted()),
            Err(refusal) => (Err(refusal), None),
        };
        row.record.shaped = shaped;
        self.trail_read(row).await?;
        result
    }

    /// Ends a change that was refused before it could be proposed: its row is durable before the reply.
    pub(crate) async fn refused(
        &self,
        call: &Call,
        action: &str,
        ids: Vec<String>,
        refusal: Refusal,
    ) -> Refusal {
        match self.sequencer.trail_now(self.row(call, action, refusal.code.as_str(), ids)).await {
            Ok(()) => refusal,
            Err(unwritable) => unwritable,
        }
    }

    /// Commits without any check what the server itself starts. Blocking.
    pub(crate) fn found(&self, drafts: Vec<Draft>, action: &str, ids: Vec<String>) -> Result<(), OpenError> {
        let trail = self.server_row(action, "ok", [vec![self.shared.tenant.to_string()], ids].concat());
        let proposal = Proposal { drafts, touches: Vec::new(), check: Box::new(|_, _| Ok(())), trail };
        match self.sequencer.propose_blocking(proposal) {
            Ok(_) => Ok(()),
            Err(Objection::Refused(refusal)) => Err(OpenError::new(refusal.message)),
            Err(Objection::Replayed(_) | Objection::Stale) => {
                Err(OpenError::new("the first entries were refused"))
            }
        }
    }

    /// Brings the witness up to date before anything more is said. Blocking.
    pub(crate) fn witness_now(&self) -> Result<(), OpenError> {
        let written = self.sequencer.witness_now();
        written
            .map_err(|error| OpenError::new(format!("tenant {}: the witness: {error}", self.shared.tenant)))
    }

    /// Whether the witness has seen no entry yet.
    pub(crate) fn witness_is_of_founding(&self) -> bool {
        let seen = self.shared.witness_text().and_then(|text| Witness::parse(&text));
        seen.is_some_and(|witness| witness.is_of_founding())
    }

    /// Names other tenants in the witness of this one, the first, before anything more is said. Blocking.
    pub(crate) fn note_tenants(&self, others: &[(TenantId, String)]) -> Result<(), OpenError> {
        others.iter().for_each(|(id, name)| self.shared.note_tenant(*id, name));
        if others.is_empty() { Ok(()) } else { self.witness_now() }
    }

    /// Commits what waits, writes checkpoint and witness, and leaves nothing in the write-ahead logs.
    pub(crate) fn close(&self) {
        self.sequencer.close();
        vectors::close(&self.shared);
        index::close(&self.shared);
        let views = self.shared.views.read();
        if views.lsn().get() > self.shared.checkpointed.load(Ordering::Relaxed) {
            self.shared.write_checkpoint(&views);
        }
        drop(views);
        let settled = self.shared.settle().and_then(|()| self.kept.settle());
        if let Err(error) = settled.and_then(|()| vectors::settle(&self.shared)) {
            tracing::warn!(%error, "the newest entries are still in the -wal files; copy those with the others");
        }
    }
}

fn unreadable(error: &OpenError, lsn: Lsn) -> Refusal {
    tracing::error!(%error, %lsn, "an entry could not be read");
    Refusal::new(Code::StorageFailed, "the content could not be read; run `tabellion verify`")
}

/// The refusal of a read that asks for a later position than can be had now.
pub(crate) fn behind() -> Refusal {
    Refusal::new(Code::MinTokenTimeout, "this server has not reached that position yet; try again")
}

impl Drop for Tenant {
    fn drop(&mut self) {
        index::stop(&self.shared);
        vectors::stop(&self.shared);
    }
}

fn token_invalid(field: &str) -> Refusal {
    let fault = tabellion_core::error::Fault::new(
        format!("/{field}"),
        Code::TokenInvalid,
        "a token that this server gave to this caller",
    );
    Refusal::new(Code::TokenInvalid, format!("`{field}` does not open for this caller")).with(vec![fault])
}

/// A storage failure as callers see it.
pub(crate) fn storage(error: &StoreError) -> Refusal {
    tracing::error!(%error, "storage");
    Refusal::new(Code::StorageFailed, "the storage could not be read; run `tabellion verify`")
}
