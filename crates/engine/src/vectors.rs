//! The vectors of a tenant's versions: the thread that makes them behind the log, and where they are kept.
//!
//! Invariant (a vector is of its model): a vector made by another model, or one that does not open, counts as missing. What
//! is missing is made again from the log, in order, while search goes on with what is there.

use crate::embedding::{Embedding, Vector};
use crate::ports::EmbedError;
use crate::tenant::Shared;
use crate::{OpenError, fold};
use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tabellion_core::canonical::{Hash, sha256};
use tabellion_core::id::{TenantId, UserId};
use tabellion_core::item::Content;
use tabellion_core::log::{Lsn, Payload};
use tabellion_core::seal::{Secret, close as seal, open as unseal};
use tabellion_core::vector::{Centroids, Lists, VectorView};
use tabellion_core::view::{ItemsView, Row};
use tabellion_store::VectorStore;
use tokio::sync::watch;

/// What vectors are made of. Another word here, and every vector that was kept is made anew.
const OF_WHAT: &str = "masked text";
/// The first wait after the model could not be asked; it doubles up to the longest.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// Rows put into lists under one lock.
const ASSIGN_STEP: Row = 4_096;
/// Vectors between two words to the log about progress.
const PROGRESS_EVERY: u64 = 10_000;

/// The vectors of a tenant.
pub(crate) struct Vectors {
    embedding: Arc<Embedding>,
    view: RwLock<VectorView>,
    /// Up to here every version has its vector.
    done: watch::Sender<Lsn>,
    failing: AtomicBool,
    kept: Option<Kept>,
    news: Mutex<News>,
    wake: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct News {
    arrived: bool,
    /// The model answers again.
    answers: bool,
    closed: bool,
}

/// Where vectors outlast the process.
struct Kept {
    store: VectorStore,
    key: Secret,
    tenant: TenantId,
    model: Hash,
}

impl Kept {
    fn open(
        path: &Path,
        tenant: TenantId,
        secret: &Secret,
        embedding: &Embedding,
        view: &mut VectorView,
        items: &ItemsView,
    ) -> Result<Self, OpenError> {
        let failed =
            |error: tabellion_store::StoreError| OpenError::new(format!("{}: {error}", path.display()));
        let model = format!("{}/{}/{OF_WHAT}", embedding.model(), embedding.dimensions());
        let model = sha256(model.as_bytes());
        let key = secret.derive("tabellion/v1/vectors");
        let mut kept = Self { store: VectorStore::open(path).map_err(failed)?, key, tenant, model };
        let loaded = kept.store.each(&model, |lsn, closed| {
            let vector = kept.unseal(lsn, closed);
            if let (Some(row), Some(vector)) = (items.row_at(lsn), vector) {
                let _not_of_this_length = view.insert(row, &vector);
            }
        });
        if let Err(error) = loaded {
            tracing::warn!(%error, "the file of vectors is damaged; what is missing is made again");
            kept.store = VectorStore::anew(path).map_err(failed)?;
        }
        kept.load_lists(view);
        Ok(kept)
    }

    fn load_lists(&self, view: &mut VectorView) {
        let closed = self.store.lists(&self.model).ok().flatten();
        let bytes = closed.and_then(|closed| unseal(&self.key, &self.place(Lsn::ZERO), &closed).ok());
        if let Some(lists) = bytes.and_then(|bytes| view.import_lists(&bytes).ok()) {
            view.adopt(lists);
        }
    }

    fn place(&self, lsn: Lsn) -> Vec<u8> {
        [self.tenant.as_bytes().as_slice(), &self.model, &lsn.get().to_be_bytes()].concat()
    }

    fn unseal(&self, lsn: Lsn, closed: &[u8]) -> Option<Vec<f32>> {
        let bytes = unseal(&self.key, &self.place(lsn), closed).ok()?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        rest.is_empty().then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    fn keep(&self, vectors: &[(Lsn, Vector)], nonce: &dyn Fn() -> [u8; 12]) {
        let closed: Vec<(Lsn, Vec<u8>)> = vectors
            .iter()
            .map(|(lsn, vector)| {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                (*lsn, seal(&self.key, &nonce(), &self.place(*lsn), &bytes))
            })
            .collect();
        if let Err(error) = self.store.put(&self.model, &closed) {
            tracing::warn!(%error, "vectors could not be kept; the next start makes them again");
        }
    }
}

impl Vectors {
    /// Opens what was kept; `path` none keeps nothing.
    pub(crate) fn open(
        path: Option<PathBuf>,
        tenant: TenantId,
        secret: &Secret,
        embedding: Arc<Embedding>,
        items: &ItemsView,
    ) -> Result<Self, OpenError> {
        let mut view = VectorView::new(embedding.dimensions());
        let kept = path.map(|path| Kept::open(&path, tenant, secret, &embedding, &mut view, items));
        Ok(Self {
            kept: kept.transpose()?,
            embedding,
            view: RwLock::new(view),
            done: watch::Sender::new(Lsn::ZERO),
            failing: AtomicBool::new(false),
            news: Mutex::default(),
            wake: Condvar::new(),
            thread: Mutex::default(),
        })
    }

    /// The vectors as they are. Whoever holds views and index too takes those first.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, VectorView> {
        self.view.read()
    }

    pub(crate) fn embedding(&self) -> &Arc<Embedding> {
        &self.embedding
    }

    /// Up to here every version has its vector.
    pub(crate) fn done(&self) -> Lsn {
        *self.done.borrow()
    }

    /// Whether the model refused when last asked.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Waits until every version up to a position has its vector. False if that takes too long.
    pub(crate) async fn reached(&self, lsn: Lsn, wait: Duration) -> bool {
        let mut done = self.done.subscribe();
        matches!(tokio::time::timeout(wait, done.wait_for(|at| *at >= lsn)).await, Ok(Ok(_)))
    }

    /// Tells that the log has grown.
    pub(crate) fn notify(&self) {
        self.news.lock().arrived = true;
        self.wake.notify_one();
    }

    /// Tells that the model has just answered: whoever waits for it to come back need not wait longer.
    pub(crate) fn answers(&self) {
        if self.is_failing() {
            self.news.lock().answers = true;
            self.wake.notify_one();
        }
    }

    /// Sleeps until there is news, at most so long. False once closed.
    fn sleep(&self, longest: Duration) -> bool {
        let mut news = self.news.lock();
        if !news.arrived && !news.closed {
            self.wake.wait_for(&mut news, longest);
        }
        news.arrived = false;
        !news.closed
    }

    /// Sleeps so long, unless the model answers before. False once closed.
    fn pause(&self, time: Duration) -> bool {
        let mut news = self.news.lock();
        if !news.closed {
            self.wake.wait_while_for(&mut news, |news| !news.closed && !news.answers, time);
        }
        news.answers = false;
        !news.closed
    }

    fn is_open(&self) -> bool {
        !self.news.lock().closed
    }
}

/// Starts the thread.
pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<()> {
    let Some(vectors) = &shared.vectors else { return Ok(()) };
    let own = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("vectors".into()).spawn(move || run(&own))?;
    *vectors.thread.lock() = Some(thread);
    Ok(())
}

/// Tells the thread to end.
pub(crate) fn stop(shared: &Shared) {
    if let Some(vectors) = &shared.vectors {
        vectors.news.lock().closed = true;
        vectors.wake.notify_one();
    }
}

/// Moves what the write-ahead log of the vectors holds into their file.
pub(crate) fn settle(shared: &Shared) -> Result<(), tabellion_store::StoreError> {
    let kept = shared.vectors.as_ref().and_then(|vectors| vectors.kept.as_ref());
    kept.map_or(Ok(()), |kept| kept.store.settle())
}

/// Ends the thread; what it has made is kept.
pub(crate) fn close(shared: &Shared) {
    let Some(vectors) = &shared.vectors else { return };
    stop(shared);
    let thread = vectors.thread.lock().take();
    if let Some(thread) = thread {
        let _panicked = thread.join();
    }
}

fn run(shared: &Shared) {
    let Some(vectors) = &shared.vectors else { return };
    let mut making = Making { shared, vectors, next: 0, made: 0 };
    if let Some(kept) = &vectors.kept
        && let Err(error) = kept.store.forget_others(&kept.model)
    {
        tracing::warn!(%error, "vectors of another model could not be deleted");
    }
    let mut retry = RETRY_FIRST;
    while vectors.is_open() {
        let goes_on = match making.step() {
            Ok(Step::Made) => true,
            Ok(Step::NothingToDo) => {
                making.arrange();
                vectors.sleep(Duration::from_secs(3600))
            }
            Err(error) => {
                if !vectors.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "vectors cannot be made; search goes by words until they can");
                }
                let waited = vectors.pause(retry);
                retry = (retry * 2).min(RETRY_LONGEST);
                if !waited {
                    return;
                }
                continue;
            }
        };
        retry = RETRY_FIRST;
        if vectors.failing.swap(false, Ordering::Relaxed) {
            tracing::info!("vectors can be made again");
        }
        if !goes_on {
            return;
        }
    }
}

enum Step {
    Made,
    NothingToDo,
}

/// A version that has no vector.
struct Missing {
    row: Row,
    lsn: Lsn,
    owner: UserId,
}

struct Making<'a> {
    shared: &'a Shared,
    vectors: &'a Vectors,
    /// Every row before this one has its vector, or has no content.
    next: Row,
    made: u64,
}

impl Making<'_> {
    /// Makes the vectors of the next versions that have none.
    fn step(&mut self) -> Result<Step, EmbedError> {
        let (missing, next, done) = self.missing();
        if missing.is_empty() {
            self.next = next;
            self.vectors.done.send_replace(done);
            return Ok(Step::NothingToDo);
        }
        let mut rows = Vec::with_capacity(missing.len());
        let mut texts = Vec::with_capacity(missing.len());
        for one in missing {
            if let Some(text) = self.text(one.lsn) {
                texts.push((one.owner, text));
                rows.push((one.row, one.lsn));
            }
        }
        let made = self.vectors.embedding.many(self.shared.tenant, &texts)?;
        self.keep(&rows, &made);
        self.next = next;
        self.vectors.done.send_replace(done);
        Ok(Step::Made)
    }

    /// The next versions without a vector, the row after them, and the position up to which nothing else is missing.
    fn missing(&self) -> (Vec<Missing>, Row, Lsn) {
        let views = self.shared.views.read();
        let view = self.vectors.view.read();
        let mut missing = Vec::new();
        let mut row = self.next;
        while let Some(version) = views.items.version(row) {
            if !view.contains(row) {
                missing.push(Missing { row, lsn: version.lsn, owner: version.owner });
            }
            row += 1;
            if missing.len() >= self.vectors.embedding.bulk_max() {
                return (missing, row, version.lsn);
            }
        }
        (missing, row, views.lsn())
    }

    /// What is embedded of a version; none once its content is destroyed.
    fn text(&self, lsn: Lsn) -> Option<String> {
        let source = self.shared.source();
        match fold::payload(source.store, source.keys, source.tenant, lsn) {
            Ok(Some(Payload::Version { content, .. })) => {
                serde_json::from_slice::<Content>(&content).ok().map(|content| content.embedded_text())
            }
            Ok(_) => None,
            Err(error) => {
                tracing::error!(%error, %lsn, "an entry could not be read");
                None
            }
        }
    }

    fn keep(&mut self, rows: &[(Row, Lsn)], made: &[Vector]) {
        let kept: Vec<(Lsn, Vector)> =
            rows.iter().zip(made).map(|((_, lsn), vector)| (*lsn, Arc::clone(vector))).collect();
        if let Some(keeper) = &self.vectors.kept {
            keeper.keep(&kept, &|| self.shared.random());
        }
        let mut view = self.vectors.view.write();
        for ((row, _), vector) in rows.iter().zip(made) {
            if let Err(error) = view.insert(*row, vector) {
                tracing::error!(%error, "a vector was refused");
            }
        }
        drop(view);
        metrics::counter!("tabellion_vectors_made_total").increment(made.len() as u64);
        let before = self.made / PROGRESS_EVERY;
        self.made += made.len() as u64;
        if self.made / PROGRESS_EVERY > before {
            let of = self.shared.views.read().items.versions_len();
            tracing::info!(done = rows.last().map(|(row, _)| row + 1), of, "making vectors");
        }
    }

    /// Sorts the vectors into lists, once there are many; searches and writes go on meanwhile.
    fn arrange(&self) {
        let (sample, wanted) = {
            let view = self.vectors.view.read();
            if !view.wants_lists() {
                return;
            }
            (view.sample(LISTS_SEED), view.lists_wanted())
        };
        let Some(centroids) = Centroids::train(&sample, wanted, LISTS_SEED) else { return };
        let mut lists = Lists::new(centroids);
        let rows = self.shared.views.read().items.versions_len() as Row;
        let mut from = 0;
        while from < rows && self.vectors.is_open() {
            let to = rows.min(from + ASSIGN_STEP);
            self.vectors.view.read().assign(&mut lists, from..to);
            from = to;
        }
        if !self.vectors.is_open() {
            return;
        }
        let before = self.vectors.view.write().adopt(lists);
        drop(before);
        let bytes = self.vectors.view.read().export_lists();
        if let (Some(kept), Some(bytes)) = (&self.vectors.kept, bytes) {
            let closed = seal(&kept.key, &self.shared.random(), &kept.place(Lsn::ZERO), &bytes);
            if let Err(error) = kept.store.put_lists(&kept.model, &closed) {
                tracing::warn!(%error, "lists could not be kept; they are made again when needed");
            }
        }
    }
}

/// Lists are made the same way each time.
const LISTS_SEED: u64 = 1;
