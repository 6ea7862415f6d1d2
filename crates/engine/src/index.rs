//! The index trails the log: this is the thread that brings it up to date, and the way to wait for it.
//!
//! Committed entries are handed over as they are published. A hand-over that grows too long is dropped: the log has
//! everything, and the thread reads there what it missed.

use crate::tenant::Shared;
use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tabellion_core::log::{Entry, Lsn};
use tabellion_core::text::Analyser;
use tabellion_core::view::{Index, Opened, Passage};
use tokio::sync::watch;

/// Entries handed over that may wait.
const FRESH_MAX: usize = 8_192;
/// Entries taken in under one lock.
const STEP: usize = 64;
/// Entries after which the index is checkpointed anew, unless a tenth of the log is more.
const CHECKPOINT_EVERY: u64 = 10_000;
/// How many times that a busy log may put it off.
const CHECKPOINT_BUSY: u64 = 3;

/// The index of a tenant, and what waits for it.
pub(crate) struct Trailing {
    index: RwLock<Index>,
    reached: watch::Sender<Lsn>,
    fresh: Mutex<Fresh>,
    wake: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
    checkpointed: Mutex<u64>,
}

#[derive(Default)]
struct Fresh {
    entries: Vec<(Entry, Opened)>,
    closed: bool,
}

impl Trailing {
    pub(crate) fn new(index: Index, checkpointed: Lsn) -> Self {
        Self {
            reached: watch::Sender::new(index.lsn()),
            index: RwLock::new(index),
            fresh: Mutex::default(),
            wake: Condvar::new(),
            thread: Mutex::default(),
            checkpointed: Mutex::new(checkpointed.get()),
        }
    }

    /// The index as it is. Whoever holds the views too takes them first.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    /// Hands over entries that were just committed.
    pub(crate) fn offer(&self, entries: Vec<(Entry, Opened)>) {
        let mut fresh = self.fresh.lock();
        if fresh.entries.len() + entries.len() > FRESH_MAX {
            fresh.entries.clear();
        }
        fresh.entries.extend(entries);
        drop(fresh);
        self.wake.notify_one();
    }

    /// Waits until the index holds a position. False if that takes too long.
    pub(crate) async fn reached(&self, lsn: Lsn, wait: Duration) -> bool {
        let mut reached = self.reached.subscribe();
        let waited = tokio::time::timeout(wait, reached.wait_for(|at| *at >= lsn)).await;
        matches!(waited, Ok(Ok(_)))
    }

    /// What was handed over since the last time; nothing after a while without any. None once closed.
    fn take(&self) -> Option<Vec<(Entry, Opened)>> {
        let mut fresh = self.fresh.lock();
        if fresh.entries.is_empty() && !fresh.closed {
            self.wake.wait_for(&mut fresh, Duration::from_secs(1));
        }
        if fresh.entries.is_empty() && fresh.closed {
            return None;
        }
        Some(std::mem::take(&mut fresh.entries))
    }

    fn checkpoint_is_due(&self, idle: bool) -> bool {
        let last = *self.checkpointed.lock();
        let behind = self.index.read().lsn().get().saturating_sub(last);
        behind >= CHECKPOINT_EVERY.max(last / 10) * if idle { 1 } else { CHECKPOINT_BUSY }
    }
}

/// Starts the thread.
pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<()> {
    let own = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("index".into()).spawn(move || run(&own))?;
    *shared.index.thread.lock() = Some(thread);
    Ok(())
}

/// Tells the thread to end.
pub(crate) fn stop(shared: &Shared) {
    shared.index.fresh.lock().closed = true;
    shared.index.wake.notify_one();
}

/// Takes in what was handed over, keeps a checkpoint and ends the thread.
pub(crate) fn close(shared: &Shared) {
    stop(shared);
    let thread = shared.index.thread.lock().take();
    if let Some(thread) = thread {
        let _panicked = thread.join();
    }
    let behind = *shared.index.checkpointed.lock() < shared.index.read().lsn().get();
    if behind {
        checkpoint(shared);
    }
}

fn run(shared: &Shared) {
    let mut analyser = Analyser::default();
    while let Some(fresh) = shared.index.take() {
        let idle = fresh.is_empty();
        if let Err(error) = take_in(shared, &fresh, &mut analyser) {
            // The entries stay in the log; the next round starts from there.
            tracing::error!(%error, "the index could not be brought up to date");
        }
        if shared.index.checkpoint_is_due(idle) {
            checkpoint(shared);
        }
    }
}

fn take_in(
    shared: &Shared,
    fresh: &[(Entry, Opened)],
    analyser: &mut Analyser,
) -> Result<(), crate::OpenError> {
    let Some((first, _)) = fresh.first() else { return Ok(()) };
    let at = shared.index.read().lsn();
    if first.lsn > at.plus(1) {
        let mut missed: Vec<(Entry, Option<Passage>)> = Vec::new();
        shared.source().replay(at, first.lsn.get() - 1, &mut |_, _| {}, |entry, opened| {
            missed.push((entry.clone(), Passage::of(opened, analyser)));
            if missed.len() >= STEP {
                apply(shared, &std::mem::take(&mut missed));
            }
        })?;
        apply(shared, &missed);
    }
    for step in fresh.chunks(STEP) {
        let step: Vec<(Entry, Option<Passage>)> =
            step.iter().map(|(entry, opened)| (entry.clone(), Passage::of(opened, analyser))).collect();
        apply(shared, &step);
    }
    Ok(())
}

fn apply(shared: &Shared, step: &[(Entry, Option<Passage>)]) {
    let lsn = {
        let views = shared.views.read();
        let mut index = shared.index.index.write();
        for (entry, passage) in step {
            index.apply(entry, passage.as_ref(), &views.items);
        }
        index.lsn()
    };
    shared.index.reached.send_replace(lsn);
}

fn checkpoint(shared: &Shared) {
    let lsn = shared.index.read().lsn().get();
    match shared.write_index_checkpoint() {
        Ok(()) => *shared.index.checkpointed.lock() = lsn,
        Err(error) => tracing::warn!(%error, "could not write the checkpoint of the index"),
    }
}
