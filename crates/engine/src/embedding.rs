//! Vectors of texts on demand. Asks that come at the same time go to the model together, and what an owner asked before is
//! remembered, for that owner alone.

use crate::ports::{EmbedError, Embedder};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tabellion_core::canonical::{Hash, sha256};
use tabellion_core::id::{TenantId, UserId};
use tokio::sync::oneshot;

/// Asks that may wait.
const ASKS_MAX: usize = 1_024;
/// Vectors remembered.
const KNOWN_MAX: usize = 4_096;

/// A vector of unit length.
pub(crate) type Vector = Arc<[f32]>;

type Answer = oneshot::Sender<Result<Vector, EmbedError>>;

/// The way to the embedding model.
pub(crate) struct Embedding {
    embedder: Arc<dyn Embedder>,
    asks: SyncSender<(String, Answer)>,
    known: Mutex<Known>,
    /// Many texts at once go one caller at a time, so that queries still find a core.
    bulk: Mutex<()>,
}

#[derive(Default)]
struct Known {
    vectors: HashMap<Hash, Vector>,
    order: VecDeque<Hash>,
}

impl Known {
    fn keep(&mut self, place: Hash, vector: &Vector) {
        if self.vectors.insert(place, Arc::clone(vector)).is_none() {
            self.order.push_back(place);
        }
        while self.order.len() > KNOWN_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.vectors.remove(&oldest);
            }
        }
    }
}

impl Embedding {
    /// Starts the thread that asks the model.
    pub(crate) fn start(embedder: Arc<dyn Embedder>) -> std::io::Result<Self> {
        let (asks, asked) = sync_channel(ASKS_MAX);
        let model = Arc::clone(&embedder);
        std::thread::Builder::new().name("embedding".into()).spawn(move || answer_all(&*model, &asked))?;
        Ok(Self { embedder, asks, known: Mutex::default(), bulk: Mutex::default() })
    }

    pub(crate) fn model(&self) -> &str {
        self.embedder.model()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    /// How many texts are best given at once.
    pub(crate) fn bulk_max(&self) -> usize {
        self.embedder.batch_texts_max().max(1)
    }

    /// The vector of one text, for this owner.
    pub(crate) async fn one(
        &self,
        owner: (TenantId, UserId),
        text: &str,
        wait: Duration,
    ) -> Result<Vector, EmbedError> {
        let place = place(owner, text);
        let known = self.known.lock().vectors.get(&place).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (answer, answered) = oneshot::channel();
        self.asks.try_send((text.to_owned(), answer)).map_err(|error| match error {
            TrySendError::Full(_) => EmbedError::Unavailable("too many texts wait for it".into()),
            TrySendError::Disconnected(_) => EmbedError::Unavailable("it has stopped".into()),
        })?;
        let vector = match tokio::time::timeout(wait, answered).await {
            Ok(Ok(result)) => result?,
            Ok(Err(_)) => return Err(EmbedError::Unavailable("it has stopped".into())),
            Err(_) => return Err(EmbedError::Unavailable("it took too long".into())),
        };
        self.known.lock().keep(place, &vector);
        Ok(vector)
    }

    /// The vectors of many texts, in order. Blocking.
    pub(crate) fn many(
        &self,
        tenant: TenantId,
        texts: &[(UserId, String)],
    ) -> Result<Vec<Vector>, EmbedError> {
        let places: Vec<Hash> = texts.iter().map(|(user, text)| place((tenant, *user), text)).collect();
        let mut found: Vec<Option<Vector>> = {
            let known = self.known.lock();
            places.iter().map(|place| known.vectors.get(place).cloned()).collect()
        };
        let missing: Vec<&str> = texts
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|((_, text), _)| text.as_str())
            .collect();
        let made = {
            let _one_at_a_time = self.bulk.lock();
            embed(&*self.embedder, &missing)?
        };
        let mut made = made.into_iter();
        let mut known = self.known.lock();
        for (slot, place) in found.iter_mut().zip(places) {
            if slot.is_none()
                && let Some(vector) = made.next()
            {
                known.keep(place, &vector);
                *slot = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// Whose text it is, and which: what one owner asked tells another nothing, not even by being quicker.
fn place(owner: (TenantId, UserId), text: &str) -> Hash {
    sha256(&[owner.0.as_bytes().as_slice(), owner.1.as_bytes(), text.as_bytes()].concat())
}

/// Asks the model; no text, no ask.
fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(texts)?;
    if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != embedder.dimensions()) {
        return Err(EmbedError::Nonsense("not one vector of its length for each text".into()));
    }
    Ok(vectors.into_iter().map(Vector::from).collect())
}

fn answer_all(embedder: &dyn Embedder, asked: &Receiver<(String, Answer)>) {
    while let Ok(first) = asked.recv() {
        let mut batch = vec![first];
        while batch.len() < embedder.batch_texts_max()
            && let Ok(next) = asked.try_recv()
        {
            batch.push(next);
        }
        let texts: Vec<&str> = batch.iter().map(|(text, _)| text.as_str()).collect();
        metrics::histogram!("tabellion_embedding_batch_texts").record(texts.len() as f64);
        match embed(embedder, &texts) {
            Ok(vectors) => {
                for ((_, answer), vector) in batch.into_iter().zip(vectors) {
                    let _gone = answer.send(Ok(vector));
                }
            }
            Err(error) => {
                metrics::counter!("tabellion_embedding_failures_total").increment(1);
                for (_, answer) in batch {
                    let _gone = answer.send(Err(error.clone()));
                }
            }
        }
    }
}
