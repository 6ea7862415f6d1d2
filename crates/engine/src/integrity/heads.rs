//! Whether a log is the one whose heads were signed: its root at the witnessed size, and at every head after that.
//!
//! Knows nothing of files. Reads tiles and the leaves behind the witnessed size, never a body.

use tabellion_core::id::TenantId;
use tabellion_core::log::{AcceptedLoss, Frontier, LogName, LostPart, Lsn, SignedHead, VerifyingKey};
use tabellion_store::{Obstacle, SqliteStore, Store, StoreError, subtree};

/// Heads read at once.
const PAGE: usize = 512;

/// Why a log does not fit its own heads, or cannot be read.
pub(super) struct HeadFault {
    pub(super) what: String,
    pub(super) obstacle: Option<Obstacle>,
}

impl From<String> for HeadFault {
    fn from(what: String) -> Self {
        Self { what, obstacle: None }
    }
}

impl From<StoreError> for HeadFault {
    fn from(error: StoreError) -> Self {
        Self { what: error.to_string(), obstacle: error.obstacle() }
    }
}

/// The check of one log.
pub(super) struct HeadCheck<'a> {
    pub(super) tenant: TenantId,
    pub(super) store: &'a SqliteStore,
    pub(super) log: LogName,
    pub(super) key: VerifyingKey,
}

impl HeadCheck<'_> {
    /// Holds the log against the witnessed head. A log that is whole in itself, but shorter than what was witnessed or
    /// different from it, is a loss; one that does not fit its own heads is an error.
    pub(super) fn run(&self, witnessed: Option<&SignedHead>) -> Result<Option<AcceptedLoss>, HeadFault> {
        // The newest head is read before the size: a server beside us may append in between.
        let newest = self.store.latest_head(self.log)?;
        let size = self.store.size(self.log)?;
        let signed = newest.map_or(0, |head| head.head.size);
        if signed > size {
            return Err(
                format!("entries {} to {signed} are missing: a signed head covers them", size + 1).into()
            );
        }
        if signed < size && self.store.latest_head(self.log)? == newest {
            return Err(format!("entries {} to {size} are covered by no signed head", signed + 1).into());
        }
        let Some(witnessed) = witnessed else {
            return self.since(Frontier::default(), signed).map(|()| None);
        };
        let loss = AcceptedLoss {
            part: match self.log {
                LogName::Memory => LostPart::Memory,
                LogName::Audit => LostPart::Audit,
            },
            found: signed,
            seen: witnessed.head.size,
            root: Some(witnessed.head.root),
        };
        if signed < witnessed.head.size {
            return self.newest_fits(newest).map(|()| Some(loss));
        }
        let before = self.frontier(witnessed.head.size)?;
        if before.root() != witnessed.head.root {
            return self.newest_fits(newest).map(|()| Some(loss));
        }
        self.since(before, signed).map(|()| None)
    }

    fn frontier(&self, size: u64) -> Result<Frontier, StoreError> {
        Frontier::load(size, &mut |start, end| subtree(self.store, self.log, start, end))
    }

    fn newest_fits(&self, newest: Option<SignedHead>) -> Result<(), HeadFault> {
        let Some(signed) = newest else { return Ok(()) };
        self.must_fit(&signed, &self.frontier(signed.head.size)?)
    }

    fn must_fit(&self, signed: &SignedHead, tree: &Frontier) -> Result<(), HeadFault> {
        let size = signed.head.size;
        if tree.root() != signed.head.root {
            return Err(
                format!("the first {size} entries are not those that their head was signed over").into()
            );
        }
        if !self.key.confirms(self.tenant, self.log, signed) {
            return Err(format!("the head of {size} entries is not signed by the key of the log").into());
        }
        Ok(())
    }

    /// Every head behind a tree that is known to be good, up to a size.
    fn since(&self, mut tree: Frontier, to: u64) -> Result<(), HeadFault> {
        // A log that ends where the tree does still has its newest head to show.
        let mut after = tree.size().saturating_sub(1);
        loop {
            let mut heads = self.store.heads(self.log, after, PAGE)?;
            heads.retain(|signed| signed.head.size <= to);
            let Some(last) = heads.last() else { return Ok(()) };
            after = last.head.size;
            let leaves = match tree.size() < after {
                true => self.store.leaves(self.log, Lsn::new(tree.size() + 1), Lsn::new(after))?,
                false => Vec::new(),
            };
            let mut leaves = leaves.into_iter();
            for signed in &heads {
                while tree.size() < signed.head.size {
                    let missing = || format!("entry {} is missing", tree.size() + 1);
                    let leaf = leaves.next().ok_or_else(missing)?;
                    tree.append(leaf, &mut Vec::new());
                }
                self.must_fit(signed, &tree)?;
            }
        }
    }
}
