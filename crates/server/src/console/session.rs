//! Who is signed in?
//!
//! A session is a random number that the browser holds in a cookie, and beside it here the key that was given once. The key
//! is nowhere else: not in the cookie, not in a page, not on disk. It is looked up again for every request, so a revoked
//! key ends its sessions at once. When the server ends, so do all sessions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tabellion_core::canonical::{Hash, hex, sha256};
use tabellion_engine::ports::{Entropy, SystemEntropy};
use tokio::time::Instant;

/// How long a person stays signed in.
pub(super) const LIFETIME: Duration = Duration::from_secs(8 * 3_600);

/// Sessions at a time; one more ends the oldest.
const SESSIONS_MAX: usize = 1_024;

/// Everyone who is signed in. Sessions are found by the hash of their number, so no comparison of the number itself tells
/// anything by how long it takes.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<Hash, Session>>);

/// One person's session.
#[derive(Clone)]
pub(super) struct Session {
    /// The credential that was given.
    pub(super) key: String,
    /// What every form of this session must bring back.
    pub(super) form_token: String,
    begun: Instant,
}

impl Sessions {
    /// Begins a session and returns its number, for the cookie.
    pub(super) fn begin(&self, key: &str, now: Instant) -> String {
        let id = random();
        let mut sessions = self.locked();
        sessions.retain(|_, session| session.lives_at(now));
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.begun).map(|(id, _)| *id);
            oldest.map(|oldest| sessions.remove(&oldest));
        }
        sessions
            .insert(sha256(id.as_bytes()), Session { key: key.to_owned(), form_token: random(), begun: now });
        id
    }

    /// The session of this number, unless it is over.
    pub(super) fn find(&self, id: &str, now: Instant) -> Option<Session> {
        self.locked().get(&sha256(id.as_bytes())).filter(|session| session.lives_at(now)).cloned()
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        self.locked().remove(&sha256(id.as_bytes()));
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Hash, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn lives_at(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) < LIFETIME
    }

    /// Whether a form brought the token of this session.
    pub(super) fn gave(&self, form_token: &str) -> bool {
        sha256(self.form_token.as_bytes()) == sha256(form_token.as_bytes())
    }
}

/// 256 random bits.
fn random() -> String {
    hex(&<dyn Entropy>::bytes::<32>(&SystemEntropy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_lives_until_its_end() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let id = sessions.begin("tab_a", now);
        assert_eq!(id.len(), 64);
        let session = sessions.find(&id, now).unwrap();
        assert!(
            session.key == "tab_a"
                && session.gave(&session.form_token)
                && !session.gave("")
                && !session.gave(&id)
        );
        assert!(sessions.find(&id, now + LIFETIME).is_none() && sessions.find("", now).is_none());
        let other = sessions.begin("tab_a", now);
        assert!(!sessions.find(&other, now).unwrap().gave(&session.form_token), "each session has its own");
        sessions.end(&id);
        assert!(sessions.find(&id, now).is_none() && sessions.find(&other, now).is_some());
    }

    #[tokio::test]
    async fn sessions_are_bounded() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let first = sessions.begin("tab_a", start);
        for n in 1..=SESSIONS_MAX as u64 {
            sessions.begin("tab_b", start + Duration::from_millis(n));
        }
        assert_eq!(sessions.locked().len(), SESSIONS_MAX);
        assert!(sessions.find(&first, start).is_none(), "the oldest went");
        sessions.begin("tab_c", start + LIFETIME + LIFETIME);
        assert_eq!(sessions.locked().len(), 1, "those that are over make room");
    }
}
