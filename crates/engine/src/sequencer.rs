//! The one writer of a tenant's logs.
//!
//! Callers prepare everything that does not depend on their place in the log and hand in a `Proposal`. This thread gathers
//! proposals into a batch, numbers and hashes them, signs one head per log and commits memory and trail in one durable
//! step, then folds the entries into the views and answers.
//!
//! Invariant (checks see committed state): a batch never holds two proposals that touch the same thing; the later one waits
//! for the next batch. So every check runs against what is durable, and a failed commit leaves nothing to take back.

mod page;

use crate::ports::Clock;
use crate::tenant::{self, Shared};
use crate::trail;
use crate::trouble::Part;
use page::{Page, Tip};
use parking_lot::RwLock;
use std::collections::{HashSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tabellion_core::canonical::Hash;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::{ItemId, ReviewId, VersionId};
use tabellion_core::log::{Actor, AuditRecord, Entry, Event, LogName, Lsn, SignedHead, SigningKey};
use tabellion_core::seal::Sealed;
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Opened, Views};
use tabellion_store::{Append, StoreError};
use tokio::sync::oneshot;

/// How long rows of reads may wait for company.
const TRAIL_WAIT: Duration = Duration::from_millis(500);
/// How many rows of reads may wait.
const TRAIL_MAX: usize = 1_024;
/// How many of them may wait while the log takes no entries; more are counted and lost.
const ROWS_KEPT_MAX: usize = 16 * TRAIL_MAX;
/// How often the newest heads are copied to the key folder.
const WITNESS_EVERY: Duration = Duration::from_secs(1);

/// An entry that has no place yet.
pub(crate) struct Draft {
    pub(crate) actor: Actor,
    pub(crate) event: Event,
    pub(crate) sealed: Option<Sealed>,
    pub(crate) opened: Opened,
}

/// A row of the trail that has no place yet.
pub(crate) struct TrailDraft {
    pub(crate) actor: Actor,
    pub(crate) record: AuditRecord,
    /// The reason of a moderator, or why it could not be sealed: then the row is not written, nor what it is about.
    pub(crate) sealed: Result<Option<Sealed>, Refusal>,
}

impl TrailDraft {
    fn entry(&self) -> (Actor, Event, Option<Sealed>) {
        let sealed = self.sealed.as_ref().ok().and_then(Clone::clone);
        (self.actor, Event::Audited(self.record.clone()), sealed)
    }
}

/// What no two proposals of one batch may have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    Item(ItemId),
    Token(Hash),
    Request(Hash),
    Name(&'static str, String),
    Key(Hash),
    Print(Hash),
    Review(ReviewId),
}

/// Why a proposal was not committed.
pub(crate) enum Objection {
    /// It may not be.
    Refused(Refusal),
    /// It was already, as this version.
    Replayed(VersionId),
    /// What it was prepared against has changed: prepare again.
    Stale,
}

impl From<Refusal> for Objection {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Where a proposal was committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    pub(crate) lsn: Lsn,
}

type Check = Box<dyn Fn(&Views, Timestamp) -> Result<(), Objection> + Send>;

/// Entries to be committed together, or not at all.
pub(crate) struct Proposal {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) touches: Vec<Touch>,
    pub(crate) check: Check,
    pub(crate) trail: TrailDraft,
}

/// Whom to tell, and what.
type Answer = (oneshot::Sender<Result<Committed, Objection>>, Result<Committed, Objection>);

struct Waiting {
    proposal: Proposal,
    answer: oneshot::Sender<Result<Committed, Objection>>,
}

enum Message {
    Propose(Waiting),
    Trail(TrailDraft),
    TrailNow(TrailDraft, oneshot::Sender<Result<(), Refusal>>),
    Witness(oneshot::Sender<Result<(), String>>),
    Close,
}

/// The way to the writer.
pub(crate) struct Sequencer {
    sender: SyncSender<Message>,
    thread: parking_lot::Mutex<Option<JoinHandle<()>>>,
    failed: Arc<OnceLock<String>>,
}

impl Sequencer {
    pub(crate) fn start(
        shared: Arc<Shared>,
        signing: SigningKey,
        queue_max: usize,
        batch_max: usize,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = sync_channel(queue_max);
        let failed = Arc::new(OnceLock::new());
        let mut writer = Writer::new(shared, signing, batch_max, Arc::clone(&failed))?;
        let run = move || writer.run(&receiver);
        let thread = std::thread::Builder::new().name("sequencer".into()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Engine(error.to_string()))?;
        Ok(Self { sender, thread: parking_lot::Mutex::new(Some(thread)), failed })
    }

    /// Hands in a proposal and waits until it is durable or objected to.
    pub(crate) async fn propose(&self, proposal: Proposal) -> Result<Committed, Objection> {
        self.submit(proposal).await
    }

    /// Hands a proposal in at once: those handed in later are looked at later. The future tells what became of it.
    pub(crate) fn submit(
        &self,
        proposal: Proposal,
    ) -> impl Future<Output = Result<Committed, Objection>> + use<> {
        let (answer, answered) = oneshot::channel();
        let sent = self.send(Message::Propose(Waiting { proposal, answer }));
        async move {
            sent?;
            answered.await.unwrap_or_else(|_| Err(stopping().into()))
        }
    }

    /// The same for threads that may block, inside a runtime or not.
    pub(crate) fn propose_blocking(&self, proposal: Proposal) -> Result<Committed, Objection> {
        let (answer, answered) = oneshot::channel();
        self.send(Message::Propose(Waiting { proposal, answer }))?;
        let answered = std::thread::scope(|scope| scope.spawn(|| answered.blocking_recv()).join());
        match answered {
            Ok(Ok(result)) => result,
            _ => Err(stopping().into()),
        }
    }

    /// Puts a row on the trail, durable within a second.
    pub(crate) fn trail(&self, row: TrailDraft) -> Result<(), Refusal> {
        self.send(Message::Trail(row))
    }

    /// Puts a row on the trail and waits until it is durable.
    pub(crate) async fn trail_now(&self, row: TrailDraft) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        self.send(Message::TrailNow(row, answer))?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Brings the witness up to date and waits until that is durable.
    pub(crate) fn witness_now(&self) -> Result<(), String> {
        if self.failed.get().is_some() {
            return Err(storage_failed().message);
        }
        let (answer, answered) = oneshot::channel();
        // A full queue drains by itself: who waits for the witness blocks anyway.
        self.sender.send(Message::Witness(answer)).map_err(|_| stopping().message)?;
        let answered = std::thread::scope(|scope| scope.spawn(|| answered.blocking_recv()).join());
        answered.ok().and_then(Result::ok).unwrap_or_else(|| Err(stopping().message))
    }

    /// Whether the log takes entries at all.
    pub(crate) fn is_well(&self) -> bool {
        self.end().is_none()
    }

    /// Why the log takes no more entries until the server is started again; none if it does.
    pub(crate) fn end(&self) -> Option<String> {
        if let Some(why) = self.failed.get() {
            return Some(format!(
                "a commit failed and cannot be told from one that did not: {why}; restart the server"
            ));
        }
        let runs = self.thread.lock().as_ref().is_some_and(|thread| !thread.is_finished());
        (!runs).then(|| "the writer of the log has stopped; restart the server".to_owned())
    }

    /// Commits what waits and ends the thread.
    pub(crate) fn close(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A full queue drains by itself; the message then finds a place.
            let _gone = self.sender.send(Message::Close);
            let _panicked = thread.join();
        }
    }

    fn send(&self, message: Message) -> Result<(), Refusal> {
        match &message {
            Message::Trail(row)
            | Message::TrailNow(row, _)
            | Message::Propose(Waiting { proposal: Proposal { trail: row, .. }, .. }) => {
                if let Err(refusal) = &row.sealed {
                    return Err(refusal.clone());
                }
            }
            Message::Witness(_) | Message::Close => {}
        }
        if self.failed.get().is_some() {
            return Err(storage_failed());
        }
        self.sender.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => overloaded(),
            TrySendError::Disconnected(_) => stopping(),
        })
    }
}

fn overloaded() -> Refusal {
    Refusal::new(Code::Overloaded, "too many writes are waiting; try again shortly")
        .retry_after(Period::from_secs(1))
}

fn stopping() -> Refusal {
    Refusal::new(Code::Overloaded, "the server is shutting down; nothing was written")
        .retry_after(Period::from_secs(5))
}

fn storage_failed() -> Refusal {
    Refusal::new(Code::StorageFailed, "the storage refused; nothing was written")
        .retry_after(Period::from_secs(5))
}

/// A row of the trail, and whom to tell once it is durable.
struct Row {
    draft: TrailDraft,
    answer: Option<oneshot::Sender<Result<(), Refusal>>>,
}

struct Writer {
    shared: Arc<Shared>,
    signing: SigningKey,
    batch_max: usize,
    failed: Arc<OnceLock<String>>,
    memory: Tip,
    audit: Tip,
    held: VecDeque<Waiting>,
    trail: Vec<Row>,
    awaited: usize,
    closing: bool,
    trail_since: Option<Instant>,
    unwitnessed: Option<Instant>,
    heads: [Option<SignedHead>; 2],
}

#[expect(
    clippy::disallowed_methods,
    reason = "pacing of the thread itself; no decision about memory depends on it"
)]
fn tick() -> Instant {
    Instant::now()
}

impl Writer {
    fn new(
        shared: Arc<Shared>,
        signing: SigningKey,
        batch_max: usize,
        failed: Arc<OnceLock<String>>,
    ) -> Result<Self, StoreError> {
        let memory = Tip::load(&*shared.store, LogName::Memory)?;
        let audit = Tip::load(&*shared.store, LogName::Audit)?;
        let heads = [shared.store.latest_head(LogName::Memory)?, shared.store.latest_head(LogName::Audit)?];
        Ok(Self {
            shared,
            signing,
            batch_max,
            failed,
            memory,
            audit,
            held: VecDeque::new(),
            trail: Vec::new(),
            awaited: 0,
            closing: false,
            trail_since: None,
            // After a kill the witness is behind: it is brought up to date without waiting for a commit.
            unwitnessed: Some(tick()),
            heads,
        })
    }

    fn run(&mut self, receiver: &Receiver<Message>) {
        let mut open = true;
        while open || !self.held.is_empty() || !self.trail.is_empty() {
            let mut batch: Vec<Waiting> = Vec::new();
            if open {
                open = self.gather(receiver, &mut batch);
                self.closing = !open;
            }
            let asked = !batch.is_empty() || !self.held.is_empty() || self.awaited > 0;
            if asked || self.trail_is_due() || !open {
                self.commit(batch);
            } else {
                self.shared.checkpoint_if_due(tenant::Writer::Idle);
            }
            if !open || self.unwitnessed.is_some_and(|since| since.elapsed() >= WITNESS_EVERY) {
                let _reported = self.witness();
            }
        }
        let _reported = self.witness();
    }

    /// Takes what has arrived, waiting for the first message. False once closed.
    fn gather(&mut self, receiver: &Receiver<Message>, batch: &mut Vec<Waiting>) -> bool {
        let mut wait = if self.held.is_empty() { self.patience() } else { Duration::ZERO };
        while batch.len() + self.held.len() < self.batch_max {
            match receiver.recv_timeout(wait) {
                Ok(Message::Propose(waiting)) => batch.push(waiting),
                Ok(Message::Trail(draft)) => self.push_trail(Row { draft, answer: None }),
                Ok(Message::TrailNow(draft, answer)) => self.push_trail(Row { draft, answer: Some(answer) }),
                Ok(Message::Witness(answer)) => {
                    self.unwitnessed.get_or_insert_with(tick);
                    let _gone = answer.send(self.witness());
                }
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => return true,
            }
            if self.trail_is_due() {
                return true;
            }
            // Whoever has come is enough: those who come meanwhile prepare while this batch is on its way to the disk.
            wait = if batch.is_empty() && self.awaited == 0 { self.patience() } else { Duration::ZERO };
        }
        true
    }

    /// How long to sleep when nothing is to be done.
    fn patience(&self) -> Duration {
        let until =
            |since: Option<Instant>, wait: Duration| since.map(|since| wait.saturating_sub(since.elapsed()));
        let trail = until(self.trail_since, TRAIL_WAIT);
        let witness = until(self.unwitnessed, WITNESS_EVERY);
        trail.into_iter().chain(witness).min().unwrap_or(Duration::from_secs(3600))
    }

    /// Rows that were not taken are tried again after a while only, however many they are.
    fn trail_is_due(&self) -> bool {
        let is_full = self.trail.len() >= TRAIL_MAX && !self.shared.troubles.is_in(Part::Log);
        is_full || self.trail_since.is_some_and(|since| since.elapsed() >= TRAIL_WAIT)
    }

    fn push_trail(&mut self, row: Row) {
        if row.answer.is_none() && self.trail.len() >= ROWS_KEPT_MAX {
            metrics::counter!("tabellion_audit_rows_lost_total").increment(1);
            return;
        }
        self.awaited += usize::from(row.answer.is_some());
        self.trail.push(row);
        self.trail_since.get_or_insert_with(tick);
    }

    /// Keeps for the next try what nobody was told is lost. There is always a row to try with: so the log is found to take
    /// entries again without anybody writing.
    fn keep_rows(&mut self, rows: Vec<Row>) {
        if self.closing {
            return;
        }
        self.trail = rows;
        if self.trail.is_empty() {
            let draft = trail::server_row(&self.shared, "storage", "recovered", Vec::new());
            self.trail.push(Row { draft, answer: None });
        }
        self.trail_since = Some(tick());
    }

    fn commit(&mut self, fresh: Vec<Waiting>) {
        let now = self.shared.clock.now().max(self.memory.time).max(self.audit.time);
        let before = (self.memory.frontier.clone(), self.audit.frontier.clone());
        let (mut memory, mut audit) = (Page::default(), Page::default());
        let mut folded: Vec<(Entry, Opened)> = Vec::new();
        let mut answers = Vec::new();
        for waiting in self.admit(fresh) {
            let Waiting { proposal, answer } = waiting;
            let verdict = (proposal.check)(&self.shared.views.read(), now);
            let mut row = proposal.trail;
            let result = match verdict {
                Ok(()) => {
                    for draft in proposal.drafts {
                        let entry =
                            memory.add(&mut self.memory, (draft.actor, draft.event, draft.sealed), now);
                        folded.push((entry, draft.opened));
                    }
                    Ok(Committed { lsn: Lsn::new(self.memory.frontier.size()) })
                }
                Err(Objection::Stale) => {
                    answers.push((answer, Err(Objection::Stale)));
                    continue;
                }
                Err(objection) => Err(objection),
            };
            row.record.outcome = outcome(&row.record.outcome, &result);
            row.record.memory = Lsn::new(self.memory.frontier.size());
            audit.add(&mut self.audit, row.entry(), now);
            answers.push((answer, result));
        }
        let rows = std::mem::take(&mut self.trail);
        for Row { draft, .. } in &rows {
            audit.add(&mut self.audit, draft.entry(), now);
        }
        let (awaited, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.answer.is_some());
        (self.trail_since, self.awaited) = (None, 0);
        let entries = memory.records.len();
        let written = self.write(memory, audit, now);
        if let Err(error) = &written {
            (self.memory.frontier, self.audit.frontier) = before;
            self.shared.troubles.report(Part::Log, error);
            self.fail_if_uncertain(error);
            self.keep_rows(rows);
        } else {
            self.shared.troubles.clear(Part::Log);
            self.shared.publish(folded);
            metrics::histogram!("tabellion_commit_entries").record(entries as f64);
        }
        self.answer(answers, awaited, written.is_ok());
    }

    /// The proposals of this batch: those held before, then the fresh ones, without two that touch the same thing.
    fn admit(&mut self, fresh: Vec<Waiting>) -> Vec<Waiting> {
        let mut touched: HashSet<Touch> = HashSet::new();
        let mut batch = Vec::with_capacity(fresh.len());
        for waiting in std::mem::take(&mut self.held).into_iter().chain(fresh) {
            let conflict = waiting.proposal.touches.iter().any(|touch| touched.contains(touch));
            touched.extend(waiting.proposal.touches.iter().cloned());
            if conflict {
                self.held.push_back(waiting);
            } else {
                batch.push(waiting);
            }
        }
        batch
    }

    fn write(&mut self, memory: Page, audit: Page, now: Timestamp) -> Result<(), StoreError> {
        let tenant = self.shared.tenant;
        let memory = memory.append(&self.memory, tenant, &self.signing, now);
        let audit = audit.append(&self.audit, tenant, &self.signing, now);
        let appends: Vec<Append> = memory.into_iter().chain(audit).collect();
        if appends.is_empty() {
            return Ok(());
        }
        let began = tick();
        self.shared.store.append(&appends)?;
        metrics::histogram!("tabellion_commit_seconds").record(began.elapsed().as_secs_f64());
        for append in &appends {
            let (tip, head) = match append.log {
                LogName::Memory => (&mut self.memory, &mut self.heads[0]),
                LogName::Audit => (&mut self.audit, &mut self.heads[1]),
            };
            tip.time = now;
            *head = Some(append.head);
        }
        self.unwitnessed.get_or_insert_with(tick);
        Ok(())
    }

    /// After a failed commit the log must be as it was; if that cannot be seen, no further write is taken.
    fn fail_if_uncertain(&self, error: &StoreError) {
        let as_before = |log, size: u64| self.shared.store.size(log) == Ok(size);
        let certain = as_before(LogName::Memory, self.memory.frontier.size())
            && as_before(LogName::Audit, self.audit.frontier.size());
        if !certain {
            let _first = self.failed.set(error.to_string());
        }
    }

    fn answer(&self, answers: Vec<Answer>, awaited: Vec<Row>, is_written: bool) {
        let refusal = (!is_written).then(storage_failed);
        for (answer, result) in answers {
            // A caller that no longer waits has its write all the same.
            let _gone = answer.send(match &refusal {
                None => result,
                Some(refusal) => Err(refusal.clone().into()),
            });
        }
        for answer in awaited.into_iter().filter_map(|row| row.answer) {
            let _gone = answer.send(refusal.clone().map_or(Ok(()), Err));
        }
    }

    /// Writes the witness if it is behind. One that could not be written is tried again after a while.
    fn witness(&mut self) -> Result<(), String> {
        if self.unwitnessed.take().is_none() {
            return Ok(());
        }
        match self.shared.witness(&self.heads) {
            Ok(()) => {
                self.shared.troubles.clear(Part::Witness);
                Ok(())
            }
            Err(error) => {
                self.shared.troubles.report(Part::Witness, &error);
                self.unwitnessed = Some(tick());
                Err(error.to_string())
            }
        }
    }
}

/// What the trail says of a proposal's end.
fn outcome(success: &str, result: &Result<Committed, Objection>) -> String {
    match result {
        Ok(_) => success.to_owned(),
        Err(Objection::Replayed(_)) => "already_committed".to_owned(),
        Err(Objection::Refused(refusal)) => refusal.code.as_str().to_owned(),
        Err(Objection::Stale) => "stale".to_owned(),
    }
}

/// What the writer and the readers of a tenant share.
pub(crate) type SharedViews = RwLock<Views>;

/// The clock that every tenant is given.
pub(crate) type SharedClock = Arc<dyn Clock>;
