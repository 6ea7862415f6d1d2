//! A signed statement of a log's size and root: the anchor that a verifier trusts.

use super::LogName;
use crate::canonical::Hash;
use crate::id::TenantId;
use crate::seal::Secret;
use crate::time::Timestamp;
use ed25519_dalek::{Signer, Verifier};

/// A log's size and root at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Entries covered.
    pub size: u64,
    /// The moment.
    pub time: Timestamp,
    /// Root of the tree over them.
    pub root: Hash,
}

/// A head and the tenant's signature over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedHead {
    /// What is signed.
    pub head: Head,
    /// Ed25519.
    pub signature: [u8; 64],
}

/// The key that signs heads.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// The key that checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl Head {
    fn signed_bytes(&self, tenant: TenantId, log: LogName) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        let mut encoder = minicbor::Encoder::new(&mut bytes);
        // INVARIANT (a Vec takes every byte), as for entries.
        let _infallible = encoder
            .array(6)
            .and_then(|e| e.str("tabellion/v1/head"))
            .and_then(|e| e.str(log.as_str()))
            .and_then(|e| e.bytes(tenant.as_bytes()))
            .and_then(|e| e.u64(self.size))
            .and_then(|e| e.u64(self.time.as_micros()))
            .and_then(|e| e.bytes(&self.root))
            .map(|_| ());
        bytes
    }
}

impl SigningKey {
    /// The key of this seed.
    #[must_use]
    pub fn from_seed(seed: &Secret) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed.as_bytes()))
    }

    /// The key that checks what this one signs.
    #[must_use]
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// Signs a head of one log of one tenant.
    #[must_use]
    pub fn sign(&self, tenant: TenantId, log: LogName, head: Head) -> SignedHead {
        SignedHead { head, signature: self.0.sign(&head.signed_bytes(tenant, log)).to_bytes() }
    }
}

impl VerifyingKey {
    /// The key of these bytes, if they are one.
    #[must_use]
    pub fn from_bytes(bytes: &Hash) -> Option<Self> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes).ok().map(Self)
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(self) -> Hash {
        self.0.to_bytes()
    }

    /// Whether the signature is this key's, over this head of this log of this tenant.
    #[must_use]
    pub fn confirms(&self, tenant: TenantId, log: LogName, signed: &SignedHead) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&signed.signature);
        self.0.verify(&signed.head.signed_bytes(tenant, log), &signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_signed_for_its_tenant_and_log() {
        let key = SigningKey::from_seed(&Secret::from_bytes([5; 32]));
        let tenant = TenantId::from_bytes([1; 16]);
        let head = Head { size: 3, time: Timestamp::from_micros(9), root: [2; 32] };
        let signed = key.sign(tenant, LogName::Memory, head);
        let check = key.verifying_key();
        assert!(check.confirms(tenant, LogName::Memory, &signed));
        assert!(!check.confirms(tenant, LogName::Audit, &signed));
        assert!(!check.confirms(TenantId::from_bytes([2; 16]), LogName::Memory, &signed));
        let longer = SignedHead { head: Head { size: 4, ..head }, ..signed };
        assert!(!check.confirms(tenant, LogName::Memory, &longer));
    }
}
