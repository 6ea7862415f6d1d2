//! The lines of an import keep their order: each is handed to the log after the one before it, so that a conversation is
//! remembered in the order in which it was held.

use tokio::sync::oneshot;

/// Gives each line of an import its turn.
#[derive(Debug, Default)]
pub struct Turns {
    last: Option<Before>,
}

impl Turns {
    /// The turn after the last one given.
    pub fn give(&mut self) -> Turn {
        let (over, after) = oneshot::channel();
        Turn { before: self.last.replace(Before(after)), over: Some(over) }
    }
}

/// Ends with the turn before; that one names its own predecessor if it gave up without waiting for it.
#[derive(Debug)]
struct Before(oneshot::Receiver<Option<Before>>);

/// A line's place in its import. The next line goes on when this is dropped.
#[derive(Debug)]
pub struct Turn {
    before: Option<Before>,
    over: Option<oneshot::Sender<Option<Before>>>,
}

impl Turn {
    /// Waits until every line before is through.
    pub(super) async fn comes(&mut self) {
        while let Some(Before(before)) = &mut self.before {
            self.before = before.await.unwrap_or_default();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(over) = self.over.take() {
            let _nobody_follows = over.send(self.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn has_come(turn: &mut Turn) -> bool {
        pin!(turn.comes()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// A line that gives up does not let the next one overtake those before it.
    #[test]
    fn nobody_overtakes() {
        let mut turns = Turns::default();
        let [mut first, second, mut third] = [turns.give(), turns.give(), turns.give()];
        assert!(has_come(&mut first));
        assert!(!has_come(&mut third));
        drop(second);
        assert!(!has_come(&mut third), "the first is not through yet");
        drop(first);
        assert!(has_come(&mut third));
    }
}
