//! The one thread that keeps writes: those that come at the same time share a flush of the disk (AM-7).

use std::sync::Arc;
use tabellion_store::{KeptPut, KeptStore, PutOutcome, StoreError};
use tokio::sync::{mpsc, oneshot};

/// Writes that share a flush at most.
const TOGETHER_MAX: usize = 256;
/// Writes that may wait for the thread; whoever comes after waits for a place.
const WAITING_MAX: usize = 1_024;

/// The way to the thread; it ends when this is dropped.
pub(super) struct Queue(mpsc::Sender<Waiting>);

struct Waiting {
    put: KeptPut,
    answer: oneshot::Sender<Result<PutOutcome, StoreError>>,
}

impl Queue {
    pub(super) fn start(store: Arc<KeptStore>) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        std::thread::Builder::new().name("kept".into()).spawn(move || run(&store, receiver))?;
        Ok(Self(sender))
    }

    /// Keeps a write; it is durable when this returns.
    pub(super) async fn put(&self, put: KeptPut) -> Result<PutOutcome, StoreError> {
        let stopped = || StoreError::Engine("the thread that keeps writes has stopped".to_owned());
        let (answer, answered) = oneshot::channel();
        self.0.send(Waiting { put, answer }).await.map_err(|_| stopped())?;
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

fn run(store: &KeptStore, mut receiver: mpsc::Receiver<Waiting>) {
    while let Some(first) = receiver.blocking_recv() {
        let (mut puts, mut answers) = (vec![first.put], vec![first.answer]);
        while puts.len() < TOGETHER_MAX
            && let Ok(next) = receiver.try_recv()
        {
            puts.push(next.put);
            answers.push(next.answer);
        }
        // Whoever no longer waits for the answer has its write kept all the same.
        match store.put_all(&puts) {
            Ok(outcomes) => {
                for (answer, outcome) in answers.into_iter().zip(outcomes) {
                    let _gone = answer.send(Ok(outcome));
                }
            }
            Err(error) => {
                for answer in answers {
                    let _gone = answer.send(Err(error.clone()));
                }
            }
        }
    }
}
