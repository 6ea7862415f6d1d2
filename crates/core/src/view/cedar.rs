//! Cedar policies over time, and the ones that stand compiled.
//!
//! Invariant (compiled is derived): the compiled rules follow from the rows and the names of principals, which never change.

use super::{IdentityView, Opened, Policy};
use crate::access::Rules;
use crate::log::{Entry, Event, Lsn};
use std::borrow::Cow;

/// A Cedar policy, and the interval of the log in which it stood.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct CedarRow {
    #[n(0)]
    name: String,
    #[n(1)]
    text: String,
    #[n(2)]
    from: Lsn,
    #[n(3)]
    to: Option<Lsn>,
}

/// Every Cedar policy that a tenant ever set.
#[derive(Debug, Clone, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct CedarView {
    #[n(0)]
    rows: Vec<CedarRow>,
    #[cbor(skip)]
    rules: Rules,
    /// Where the rules last changed.
    #[n(1)]
    changed: Lsn,
}

impl PartialEq for CedarView {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.changed == other.changed
    }
}

impl CedarView {
    /// The rules that stand.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Where the rules were set that stand at a position: there, these very rules stand.
    #[must_use]
    pub fn set_at(&self, lsn: Lsn) -> Lsn {
        self.changed.min(lsn)
    }

    /// The rules that stand at a position. Others than those of now are compiled for this question alone.
    #[must_use]
    pub fn rules_at(&self, lsn: Lsn, identity: &IdentityView) -> Cow<'_, Rules> {
        if lsn >= self.changed {
            return Cow::Borrowed(&self.rules);
        }
        let mut rules = Rules::default();
        let stood = self.rows.iter().filter(|row| row.from <= lsn && row.to.is_none_or(|to| lsn < to));
        for row in stood {
            rules.set(&row.name, &row.text, identity);
        }
        Cow::Owned(rules)
    }

    pub(super) fn apply(&mut self, entry: &Entry, opened: &Opened, identity: &IdentityView) {
        let (Event::PolicySet, Opened::Policy(name, body)) = (&entry.event, opened) else { return };
        let text = match serde_json::from_slice(body) {
            Ok(Policy::Cedar { text }) => Some(text),
            _ => None,
        };
        let stood = self.rows.iter_mut().filter(|row| row.to.is_none() && row.name == *name);
        let ended = stood.map(|row| row.to = Some(entry.lsn)).count();
        if ended == 0 && text.is_none() {
            return;
        }
        self.changed = entry.lsn;
        self.rules.remove(name);
        if let Some(text) = text {
            self.rules.set(name, &text, identity);
            self.rows.push(CedarRow { name: name.clone(), text, from: entry.lsn, to: None });
        }
    }

    pub(super) fn index(&mut self, identity: &IdentityView) {
        self.rules = Rules::default();
        for row in self.rows.iter().filter(|row| row.to.is_none()) {
            self.rules.set(&row.name, &row.text, identity);
        }
    }
}
