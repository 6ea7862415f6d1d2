//! What the engine asks of the outside: the time, chance, and what a text means. Everything else it is given.

use parking_lot::Mutex;
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
