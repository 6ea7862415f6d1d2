//! An engine with seeded chance and a clock that the test moves.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by several test files; a failure is a panic")]

pub(crate) mod debate;

use std::path::Path;
use std::sync::Arc;
use tabellion_core::gate::Strictness;
use tabellion_core::gate::{WriteDraft, read_write};
use tabellion_core::time::{Period, Timestamp};
use tabellion_engine::ports::{Advisers, Clock, Embedder, ManualClock, SeededEntropy};
use tabellion_engine::reply::Written;
use tabellion_engine::{AuditReads, Call, Engine, EngineLimits, Governance, Options};

/// The moment at which tests begin.
pub(crate) const BEGIN: &str = "2026-11-15T00:00:00Z";

pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) admin: Call,
    pub(crate) admin_key: String,
}

/// Opens an engine in memory, or on a directory.
pub(crate) fn open(data: Option<&Path>, seed: u64) -> Bench {
    let clock = Arc::new(ManualClock::at(BEGIN.parse().unwrap()));
    open_at(data, seed, clock)
}

pub(crate) fn open_at(data: Option<&Path>, seed: u64, clock: Arc<ManualClock>) -> Bench {
    open_with(data, seed, clock, None)
}

pub(crate) fn open_with(
    data: Option<&Path>,
    seed: u64,
    clock: Arc<ManualClock>,
    embedder: Option<Arc<dyn Embedder>>,
) -> Bench {
    let governance = Governance { strictness: Strictness::Open, ..Governance::default() };
    start(data, seed, clock, (embedder, governance))
}

/// An engine that is governed as the test says.
pub(crate) fn open_governed(data: Option<&Path>, seed: u64, governance: Governance) -> Bench {
    start(data, seed, Arc::new(ManualClock::at(BEGIN.parse().unwrap())), (None, governance))
}

pub(crate) fn start(
    data: Option<&Path>,
    seed: u64,
    clock: Arc<ManualClock>,
    (embedder, governance): (Option<Arc<dyn Embedder>>, Governance),
) -> Bench {
    let options = Options {
        data: data.map(Path::to_owned),
        master_key: None,
        admin_key: Some("tab_admin_of_the_tests_0123456789abcdef".into()),
        accept_loss: false,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        entropy: Arc::new(SeededEntropy::new(seed)),
        limits: EngineLimits::default(),
        embedder,
        audit_reads: AuditReads::Sync,
        governance,
        advisers: Advisers::default(),
    };
    let admin_key = options.admin_key.clone().unwrap();
    let (engine, _) = Engine::open(options).unwrap();
    let admin = call(&engine, &admin_key);
    Bench { engine, clock, admin, admin_key }
}

pub(crate) fn call(engine: &Engine, key: &str) -> Call {
    Call { caller: engine.authenticate(key).unwrap(), request_id: None, trace: None }
}

pub(crate) fn draft(body: serde_json::Value) -> WriteDraft {
    read_write(body).unwrap()
}

impl Bench {
    /// A member with a key, as a call.
    pub(crate) async fn member(&self, name: &str) -> Call {
        self.engine.create_user(&self.admin, name, None).await.unwrap();
        let key = self.engine.create_key(&self.admin, Some(name), None, None).await.unwrap();
        call(&self.engine, &key.secret)
    }

    pub(crate) async fn write(&self, who: &Call, text: &str) -> Written {
        self.engine.write(who, draft(serde_json::json!({"text": text}))).await.unwrap()
    }

    pub(crate) async fn update(&self, who: &Call, item: &str, text: &str) -> Written {
        let update = WriteDraft { item: Some(item.to_owned()), ..draft(serde_json::json!({"text": text})) };
        self.engine.write(who, update).await.unwrap()
    }

    /// Entries in the memory log.
    pub(crate) async fn size(&self) -> u64 {
        self.engine.head(&self.admin, tabellion_core::log::LogName::Memory).await.unwrap().signed.head.size
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn pass(&self, period: Period) {
        self.clock.set(self.clock.now().plus(period));
    }
}
