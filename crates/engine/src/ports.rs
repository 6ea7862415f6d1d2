//! What the engine asks of the outside: the time, chance, what a text means, and what gates and models there say of a write.
//! Everything else it is given.

use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use tabellion_core::access::KeySet;
use tabellion_core::gate::{GateName, RemoteAnswer};
use tabellion_core::item::Layer;
use tabellion_core::policy::{Note, Notes};
use tabellion_core::provenance::Evidence;
use tabellion_core::time::Timestamp;

/// Tells the time. Asked once per operation.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Gives unpredictable bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy + '_ {
    /// So many unpredictable bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

/// Turns texts into vectors, so that texts that mean the same lie close together.
pub trait Embedder: Send + Sync {
    /// Which model this is, down to its weights. Recorded with every vector: those of two models are never compared.
    fn model(&self) -> &str;

    /// How long its vectors are.
    fn dimensions(&self) -> usize;

    /// How many texts it likes to be given at once.
    fn batch_texts_max(&self) -> usize;

    /// One vector of unit length for each text, in order. Blocks; called on threads that may.
    ///
    /// # Errors
    /// When the model cannot be asked, or answers something that is not a vector for each text. Then nothing is kept.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why there is no vector. The words are for the operator's log: they hold neither text nor secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model cannot be asked now; later it may be.
    #[error("the embedding model cannot be reached: {0}")]
    Unavailable(String),
    /// The model answered within its time, but not with vectors of its own kind.
    #[error("the embedding model answered nonsense: {0}")]
    Nonsense(String),
}

/// A gate outside this process, asked about every write of its layers that the gates inside let through.
pub trait RemoteGate: Send + Sync {
    /// What the operator calls it.
    fn name(&self) -> &str;

    /// The gate of this process that it stands beside.
    fn at(&self) -> GateName;

    /// Whether it is asked about writes of this layer.
    fn looks_at(&self, layer: Layer) -> bool;

    /// Its answer. Blocks, no longer than its time limit; called on threads that may.
    ///
    /// # Errors
    /// When there is no answer, or none of the contract's. Then the write waits.
    fn ask(&self, question: &GateQuestion) -> Result<RemoteAnswer, GateError>;
}

/// A write, as a gate outside this process is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateQuestion {
    /// The request's number; empty for a write that is tried again.
    pub request_id: String,
    /// Where it would live.
    pub namespace: String,
    /// The layer.
    pub layer: Layer,
    /// The agent that writes.
    pub agent: String,
    /// The user it writes for.
    pub user: String,
    /// The content, as canonical JSON.
    pub content: String,
    /// What it cites.
    pub evidence: Vec<Evidence>,
    /// What the writer claims, 0 to 1.
    pub confidence: f64,
}

/// Why a gate gave no answer. The words are for the operator's log: they hold nothing of the write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateError(pub String);

/// Models that read two texts and say how they stand to each other.
pub trait Judge: Send + Sync {
    /// The models, by name. The first compares; all of them verify.
    fn models(&self) -> &[String];

    /// How surely each known statement and the new one cannot both hold, 0 to 1, in order. Blocks, within a time limit.
    ///
    /// # Errors
    /// When the model cannot be asked, or its answer is not of the form asked for. Then nothing of it counts.
    fn compare(&self, known: &[String], new: &str) -> Result<Vec<f64>, JudgeError>;

    /// Whether a model finds a statement borne out by excerpts. Blocks, within a time limit.
    ///
    /// # Errors
    /// As for `compare`.
    fn bears_out(&self, model: &str, statement: &str, excerpts: &[String]) -> Result<bool, JudgeError>;
}

/// Why a model said nothing. The words are for the operator's log: they hold neither text nor secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// Nobody there.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within its time.
    #[error("it took too long")]
    Slow,
    /// It refuses to answer.
    #[error("it answered with status {0}")]
    Status(u16),
    /// An answer larger than any should be.
    #[error("its answer is too large")]
    TooLarge,
    /// An answer of another form than was asked for.
    #[error("it answered nonsense: {0}")]
    Nonsense(&'static str),
}

impl JudgeError {
    /// One word for the metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Slow => "timeout",
            Self::Status(_) => "status",
            Self::TooLarge => "too_large",
            Self::Nonsense(_) => "nonsense",
        }
    }
}

/// A model that writes anew what somebody wants remembered (SHARE-18). It decides nothing: what it says passes the steps of
/// the policy that asked for it.
pub trait Scribe: Send + Sync {
    /// The same in other words. Blocks, within a time limit.
    ///
    /// # Errors
    /// When the model cannot be asked, or its answer is not of the form asked for. Then nothing of it counts.
    fn rewrite(&self, page: &Page, intent: Intent) -> Result<Note, JudgeError>;

    /// What of it is worth remembering, each memory for itself; none if nothing is. Blocks, within a time limit.
    ///
    /// # Errors
    /// As for `rewrite`.
    fn extract(&self, page: &Page, intent: Intent) -> Result<Notes, JudgeError>;
}

/// What a scribe is shown: of what its writer sent, what the policy leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What it is about, if the writer said so.
    pub key: Option<String>,
    /// What it says.
    pub text: String,
}

/// For whom a scribe writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// For the user whose memory it is.
    Private,
    /// For everybody who may see it.
    Shared,
}

/// Who outside this process is asked about writes; by default nobody.
#[derive(Clone, Default)]
pub struct Advisers {
    /// Gates.
    pub gates: Vec<Arc<dyn RemoteGate>>,
    /// Models.
    pub judge: Option<Arc<dyn Judge>>,
    /// A model that writes anew what policies ask it to.
    pub scribe: Option<Arc<dyn Scribe>>,
}

/// A model that is told rules and a document, and says something.
pub trait Chat: Send + Sync {
    /// What it says. Blocks, within a time limit; called on threads that may. What people and agents wrote is in the document
    /// and nowhere else.
    ///
    /// # Errors
    /// When it cannot be asked, or its answer is not of the form of an answer.
    fn say(&self, rules: &str, document: &Value) -> Result<String, JudgeError>;
}

/// A resource outside this process that can be called.
pub trait Callable: Send + Sync {
    /// What it answers. Blocks, within a time limit; called on threads that may.
    ///
    /// # Errors
    /// When it gives no answer, or says that it cannot do this.
    fn call(&self, args: &Map<String, Value>) -> Result<Value, CallError>;
}

/// Why a resource gave nothing. Shown to the operator but for `Refused`, whose words are the resource's own and for the
/// caller alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nobody there.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within its time.
    #[error("it took too long")]
    Slow,
    /// It answers with an error of its own making.
    #[error("it answered with status {0}")]
    Status(u16),
    /// An answer larger than any should be.
    #[error("its answer is too large")]
    TooLarge,
    /// An answer of another form than was asked for.
    #[error("it answered nonsense: {0}")]
    Nonsense(&'static str),
    /// It says that it cannot do this, and why.
    #[error("it refused")]
    Refused(String),
}

/// The public keys of whoever signs tokens that are taken here.
pub trait TokenKeys: Send + Sync {
    /// Those that are known.
    fn known(&self) -> Arc<KeySet>;

    /// Looks for newer ones, no more often than it may and within a time limit. What cannot be had changes nothing.
    fn renew(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the port behind which the clock is read")]
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is set (D18).
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self(Mutex::new(now))
    }

    /// Sets the time; the log's own times still never go back.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock() = now;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        #[expect(
            clippy::disallowed_methods,
            clippy::expect_used,
            reason = "without randomness nothing may be sealed: stop"
        )]
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

/// Reproducible bytes, for tests and simulations: SHA-256 in counter mode over a seed.
#[derive(Debug)]
pub struct SeededEntropy {
    seed: u64,
    counter: Mutex<u64>,
}

impl SeededEntropy {
    /// The stream of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, counter: Mutex::new(0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            let mut counter = self.counter.lock();
            *counter += 1;
            let block =
                tabellion_core::canonical::framed_sha256(&[&self.seed.to_be_bytes(), &counter.to_be_bytes()]);
            chunk.iter_mut().zip(block).for_each(|(to, from)| *to = from);
        }
    }
}
