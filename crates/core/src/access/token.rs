//! Places in the log as clients hold them: sealed, and bound to the caller they were given to.

use super::Caller;
use crate::log::Lsn;
use crate::seal::{Secret, close, open};
use data_encoding::BASE64URL_NOPAD;

/// What a token holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedPlace {
    /// A position in the memory log.
    Position(Lsn),
    /// Where a listing goes on.
    Cursor(u64),
}

/// Seals and opens the tokens of one tenant.
#[derive(Debug, Clone)]
pub struct TokenKey(Secret);

impl TokenKey {
    /// The token key derived from a tenant's secret.
    #[must_use]
    pub fn of(tenant: &Secret) -> Self {
        Self(tenant.derive("tabellion/v1/token"))
    }

    /// The token of a place, for this caller.
    #[must_use]
    pub fn seal(&self, caller: &Caller, place: SealedPlace, nonce: &[u8; 12]) -> String {
        let (kind, number) = match place {
            SealedPlace::Position(lsn) => (b'p', lsn.get()),
            SealedPlace::Cursor(number) => (b'c', number),
        };
        BASE64URL_NOPAD.encode(&close(&self.0, nonce, &bound_to(caller, kind), &number.to_be_bytes()))
    }

    /// The position in a token that was given to this caller.
    #[must_use]
    pub fn position(&self, caller: &Caller, token: &str) -> Option<Lsn> {
        self.number(caller, b'p', token).map(Lsn::new)
    }

    /// The cursor in a token that was given to this caller.
    #[must_use]
    pub fn cursor(&self, caller: &Caller, token: &str) -> Option<u64> {
        self.number(caller, b'c', token)
    }

    fn number(&self, caller: &Caller, kind: u8, token: &str) -> Option<u64> {
        let closed = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let number = open(&self.0, &bound_to(caller, kind), &closed).ok()?;
        Some(u64::from_be_bytes(number.try_into().ok()?))
    }
}

fn bound_to(caller: &Caller, kind: u8) -> Vec<u8> {
    let (tenant, user, agent) = (caller.tenant(), caller.user(), caller.agent());
    [&[kind], tenant.as_bytes().as_slice(), user.as_bytes(), agent.as_bytes()].concat()
}
