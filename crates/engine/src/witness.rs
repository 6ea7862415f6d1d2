//! The witness of a tenant: the newest signed heads of its logs, kept with the keys and away from the logs.
//!
//! Invariant (behind, never ahead): it is written only after what it speaks of is durable. A crash leaves it behind the
//! logs; logs that are behind it have lost something.

use std::collections::BTreeMap;
use std::path::Path;
use tabellion_core::canonical::{hex, unhex, unhex32};
use tabellion_core::id::TenantId;
use tabellion_core::log::{Head, LogName, SignedHead};
use tabellion_core::seal::{Secret, close, open};
use tabellion_core::time::Timestamp;
use tabellion_store::write_private;

/// What the witness of a tenant says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Witness {
    /// The newest heads of the memory log and the audit log; none before the first commit.
    pub(crate) heads: [Option<SignedHead>; 2],
    /// How often the file of kept writes was changed.
    pub(crate) kept_changes: u64,
    /// The tenant's name, sealed under its secret, for messages about a log that cannot be read.
    pub(crate) name: Option<Vec<u8>>,
    /// In the witness of the first tenant: all the others, each with its name sealed under the first one's secret; empty
    /// where the name is not known yet. A tenant is named here only after its own witness has seen its first commit.
    pub(crate) tenants: BTreeMap<TenantId, Vec<u8>>,
}

impl Witness {
    /// Reads a witness from its text; none if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        // A head is left out by nobody: an empty object is no witness that has seen nothing.
        let head = |log: LogName| match value.get(log.as_str())? {
            serde_json::Value::Null => Some(None),
            head => signed_head(head).map(Some),
        };
        let name = value.get("name").and_then(|name| name.as_str());
        value.is_object().then_some(Self {
            heads: [head(LogName::Memory)?, head(LogName::Audit)?],
            kept_changes: value.get("kept_changes").and_then(serde_json::Value::as_u64).unwrap_or(0),
            name: name.and_then(unhex),
            tenants: value.get("tenants").map(named_tenants).unwrap_or_default(),
        })
    }

    /// The text of the file, as `docs/log-format.md` has it.
    fn text(&self) -> String {
        let head = |signed: &SignedHead| {
            serde_json::json!({
                "size": signed.head.size,
                "time": signed.head.time.as_micros(),
                "root": hex(&signed.head.root),
                "signature": hex(&signed.signature),
            })
        };
        let [memory, audit] = self.heads.each_ref().map(|signed| signed.as_ref().map(head));
        let name = self.name.as_deref().map(hex);
        let mut text = serde_json::json!({
            "memory": memory, "audit": audit, "kept_changes": self.kept_changes, "name": name,
        });
        if let (Some(members), false) = (text.as_object_mut(), self.tenants.is_empty()) {
            let tenants = self.tenants.iter().map(|(id, name)| (id.to_string(), hex(name).into()));
            members.insert("tenants".to_owned(), serde_json::Value::Object(tenants.collect()));
        }
        text.to_string()
    }

    /// Replaces the file by this witness, durably.
    pub(crate) fn write(&self, path: &Path) -> std::io::Result<()> {
        write_private(path, self.text().as_bytes())
    }

    /// The head that was seen of a log.
    pub(crate) const fn head(&self, log: LogName) -> Option<&SignedHead> {
        let [memory, audit] = &self.heads;
        match log {
            LogName::Memory => memory.as_ref(),
            LogName::Audit => audit.as_ref(),
        }
    }

    /// Whether nothing was committed yet when it was written: the tenant was being founded.
    pub(crate) const fn is_of_founding(&self) -> bool {
        matches!(self.heads, [None, None])
    }
}

/// Seals a tenant's name for its witness.
pub(crate) fn seal_name(name: &str, tenant: TenantId, secret: &Secret, nonce: &[u8; 12]) -> Vec<u8> {
    close(&name_key(secret), nonce, tenant.as_bytes(), name.as_bytes())
}

/// The name that `seal_name` sealed.
pub(crate) fn open_name(sealed: &[u8], tenant: TenantId, secret: &Secret) -> Option<String> {
    String::from_utf8(open(&name_key(secret), tenant.as_bytes(), sealed).ok()?).ok()
}

fn name_key(secret: &Secret) -> Secret {
    secret.derive("tabellion/v1/tenant-name")
}

/// The tenants of a witness. One whose sealed name is damaged is still a tenant.
fn named_tenants(value: &serde_json::Value) -> BTreeMap<TenantId, Vec<u8>> {
    let named = value.as_object().into_iter().flatten().filter_map(|(id, name)| {
        let sealed = name.as_str().and_then(unhex).unwrap_or_default();
        Some((id.parse().ok()?, sealed))
    });
    named.collect()
}

fn signed_head(value: &serde_json::Value) -> Option<SignedHead> {
    let number = |name: &str| value.get(name)?.as_u64();
    let text = |name: &str| value.get(name)?.as_str();
    let head = Head {
        size: number("size")?,
        time: Timestamp::from_micros(number("time")?),
        root: unhex32(text("root")?)?,
    };
    Some(SignedHead { head, signature: unhex(text("signature")?)?.try_into().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn witness_is_read_back_as_written() {
        let head = Head { size: 7, time: Timestamp::from_micros(9), root: [3; 32] };
        let witness = Witness {
            heads: [Some(SignedHead { head, signature: [4; 64] }), None],
            kept_changes: 5,
            name: Some(vec![1, 2]),
            tenants: [
                (TenantId::from_bytes([6; 16]), vec![8, 9]),
                (TenantId::from_bytes([7; 16]), Vec::new()),
            ]
            .into(),
        };
        assert_eq!(Witness::parse(&witness.text()), Some(witness));
        let founding = Witness::default();
        assert!(!founding.text().contains("tenants"));
        assert!(Witness::parse(&founding.text()).is_some_and(|read| read.is_of_founding()));
        for bad in ["", "[]", "{\"memory\":{}}", "{\"memory\":3}", "x"] {
            assert_eq!(Witness::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn witness_without_tenants_or_with_damaged_ones_is_read() {
        let read = |members: &str| {
            let text = format!("{{\"memory\":null,\"audit\":null{members}}}");
            Witness::parse(&text).map(|witness| witness.tenants)
        };
        let id = TenantId::from_bytes([6; 16]);
        for none in ["", ",\"tenants\":null", ",\"tenants\":[1]", ",\"tenants\":{\"x\":\"00\"}"] {
            assert_eq!(read(none), Some(BTreeMap::new()), "{none}");
        }
        assert_eq!(Witness::parse("{}"), None, "heads are named, also where there are none");
        for damaged in ["7", "null", "\"zz\""] {
            let read = read(&format!(",\"tenants\":{{\"{id}\":{damaged}}}"));
            assert_eq!(read, Some([(id, Vec::new())].into()), "{damaged}");
        }
    }

    #[test]
    fn sealed_name_opens_for_its_own_tenant_only() {
        let (secret, tenant) = (Secret::from_bytes([1; 32]), TenantId::from_bytes([2; 16]));
        let sealed = seal_name("research", tenant, &secret, &[3; 12]);
        assert_eq!(open_name(&sealed, tenant, &secret).as_deref(), Some("research"));
        assert_eq!(open_name(&sealed, TenantId::from_bytes([9; 16]), &secret), None);
    }
}
