//! How content is closed and opened: authenticated encryption with everything that chance decides passed in.
//!
//! Invariant (one key, one entry): a data key seals one entry and no other, so destroying it destroys exactly that.

use crate::canonical::Hash;
use crate::id::TenantId;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A 256-bit secret, wiped when dropped and never printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Secret(Hash);

impl Secret {
    /// A secret of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: Hash) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &Hash {
        &self.0
    }

    /// Another secret, for one purpose, from which this one cannot be found (HKDF-SHA-256).
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Self {
        let mut derived = [0; 32];
        #[expect(clippy::expect_used, reason = "INVARIANT (32 bytes are within what HKDF-SHA-256 gives)")]
        hkdf::Hkdf::<Sha256>::new(None, &self.0)
            .expand(purpose.as_bytes(), &mut derived)
            .expect("32 bytes are within what HKDF-SHA-256 gives");
        Self(derived)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A data key and its number in the key store.
#[derive(Debug, Clone)]
pub struct DataKey {
    /// Its number.
    pub id: u64,
    /// The key itself.
    pub secret: Secret,
}

/// What could not be opened: another key, another place, or changed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("does not open: wrong key or changed bytes")]
pub struct CannotOpen;

const SALT: usize = 16;
const NONCE: usize = 12;

/// Random bytes for one sealed part: 16 of salt, 12 of nonce.
pub type SealEntropy = [u8; SALT + NONCE];

/// A closed part of an entry, with what the leaf says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The number of its data key.
    pub key: u64,
    /// Salt, nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

impl Sealed {
    /// Closes `plaintext` under a data key that is used for nothing else.
    #[must_use]
    pub fn close(tenant: TenantId, key: &DataKey, entropy: &SealEntropy, plaintext: &[u8]) -> Self {
        let (_, nonce) = entropy.split_at(SALT);
        let boxed = encrypt(&key.secret, nonce, &associated(tenant, key.id), plaintext);
        Self { key: key.id, bytes: [entropy.as_slice(), &boxed].concat() }
    }

    /// Opens it again.
    ///
    /// # Errors
    /// When the key is another one or any byte changed.
    pub fn open(tenant: TenantId, key: &DataKey, bytes: &[u8]) -> Result<Vec<u8>, CannotOpen> {
        let (_, rest) = bytes.split_at_checked(SALT).ok_or(CannotOpen)?;
        let (nonce, boxed) = rest.split_at_checked(NONCE).ok_or(CannotOpen)?;
        decrypt(&key.secret, nonce, &associated(tenant, key.id), boxed)
    }
}

/// What the leaf keeps of a sealed part: a hash that confirms no guess once the salt is gone.
#[must_use]
pub fn commitment(sealed: &[u8]) -> Hash {
    Sha256::new().chain_update([2]).chain_update(sealed).finalize().into()
}

/// A secret closed under another one.
#[must_use]
pub fn wrap(under: &Secret, nonce: &[u8; NONCE], associated: &[u8], secret: &Secret) -> Vec<u8> {
    close(under, nonce, associated, secret.as_bytes())
}

/// A wrapped secret opened again.
///
/// # Errors
/// When the outer key is another one or any byte changed.
pub fn unwrap(under: &Secret, associated: &[u8], wrapped: &[u8]) -> Result<Secret, CannotOpen> {
    let bytes: Hash = open(under, associated, wrapped)?.try_into().map_err(|_| CannotOpen)?;
    Ok(Secret::from_bytes(bytes))
}

/// Any bytes closed under a secret: nonce, ciphertext and tag.
#[must_use]
pub fn close(under: &Secret, nonce: &[u8; NONCE], associated: &[u8], plaintext: &[u8]) -> Vec<u8> {
    [nonce.as_slice(), &encrypt(under, nonce, associated, plaintext)].concat()
}

/// What `close` made, opened again.
///
/// # Errors
/// When the key is another one or any byte changed.
pub fn open(under: &Secret, associated: &[u8], closed: &[u8]) -> Result<Vec<u8>, CannotOpen> {
    let (nonce, boxed) = closed.split_at_checked(NONCE).ok_or(CannotOpen)?;
    decrypt(under, nonce, associated, boxed)
}

fn associated(tenant: TenantId, key: u64) -> Vec<u8> {
    [b"tabellion/v1/sealed".as_slice(), tenant.as_bytes(), &key.to_be_bytes()].concat()
}

fn encrypt(key: &Secret, nonce: &[u8], aad: &[u8], msg: &[u8]) -> Vec<u8> {
    let cipher = ChaCha20Poly1305::new(&Key::from(*key.as_bytes()));
    #[expect(
        clippy::expect_used,
        reason = "INVARIANT (bodies are far below the 256 GiB that the cipher takes)"
    )]
    let boxed =
        cipher.encrypt(&nonce_of(nonce), Payload { msg, aad }).expect("bodies are below the cipher's limit");
    boxed
}

fn decrypt(key: &Secret, nonce: &[u8], aad: &[u8], msg: &[u8]) -> Result<Vec<u8>, CannotOpen> {
    let cipher = ChaCha20Poly1305::new(&Key::from(*key.as_bytes()));
    cipher.decrypt(&nonce_of(nonce), Payload { msg, aad }).map_err(|_| CannotOpen)
}

fn nonce_of(bytes: &[u8]) -> Nonce {
    let mut nonce = [0; NONCE];
    nonce.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Nonce::from(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D9: a sealed part opens under its own key, number and tenant, and under nothing else.
    #[test]
    fn sealed_parts_open_only_in_their_own_place() {
        let tenant = TenantId::from_bytes([1; 16]);
        let key = DataKey { id: 7, secret: Secret::from_bytes([2; 32]) };
        let sealed = Sealed::close(tenant, &key, &[3; 28], b"the words");
        assert_eq!(Sealed::open(tenant, &key, &sealed.bytes).unwrap(), b"the words");
        let other_number = DataKey { id: 8, ..key.clone() };
        let other_secret = DataKey { id: 7, secret: Secret::from_bytes([9; 32]) };
        assert!(Sealed::open(tenant, &other_number, &sealed.bytes).is_err());
        assert!(Sealed::open(tenant, &other_secret, &sealed.bytes).is_err());
        assert!(Sealed::open(TenantId::from_bytes([4; 16]), &key, &sealed.bytes).is_err());
        for position in SALT..sealed.bytes.len() {
            let mut changed = sealed.bytes.clone();
            changed[position] ^= 1;
            assert!(Sealed::open(tenant, &key, &changed).is_err(), "{position}");
        }
        assert!(Sealed::open(tenant, &key, b"short").is_err());
    }
}
