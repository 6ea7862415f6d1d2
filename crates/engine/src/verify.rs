//! Verify: the whole log against its tree, its signatures, its keys and its witness. Names what is wrong and where.
//!
//! The checks are those at the end of `docs/log-format.md`, in that order.

use crate::fold::{self, Progress, unseal};
use crate::reply::{LogFault, LogReport, VerifyReport};
use crate::witness::Witness;
use tabellion_core::canonical::Hash;
use tabellion_core::id::TenantId;
use tabellion_core::log::{
    AcceptedLoss, Entry, Event, Frontier, Head, LogName, Lsn, Payload, SignedHead, TILE_LEVELS, Tile,
    VerifyingKey, leaf_hash,
};
use tabellion_core::provenance::is_authentic;
use tabellion_core::seal::{Secret, commitment};
use tabellion_core::time::Timestamp;
use tabellion_store::{KeyStore, Record, Store, StoreError};

const PAGE: usize = 512;
/// More faults than this say nothing new.
const FAULTS_MAX: usize = 100;

/// What a verification is held against.
pub(crate) struct Against<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) store: &'a dyn Store,
    pub(crate) keys: Option<&'a KeyStore>,
    /// The witness file's text, read before the log.
    pub(crate) witness: Option<String>,
    /// A key that the verifier knows from elsewhere.
    pub(crate) pinned: Option<Hash>,
}

/// Verifies both logs.
pub(crate) fn verify(against: &Against<'_>, progress: Progress<'_>) -> VerifyReport {
    let total = LogName::ALL.iter().map(|log| against.store.size(*log).unwrap_or(0)).sum();
    let (key, wrong_key) = public_key(against);
    let mut done = 0;
    let logs = LogName::ALL
        .into_iter()
        .map(|log| {
            let mut check = LogCheck::new(against, log, key);
            if log == LogName::Memory
                && let Some(what) = &wrong_key
            {
                check.fault(Some(1), what.clone());
            }
            check.run(&mut |entries| progress(done + entries, total));
            done += check.frontier.size();
            check.report()
        })
        .collect();
    let name = against.keys.and_then(|keys| tenant_name(against.store, keys, against.tenant));
    VerifyReport { tenant: against.tenant, name, logs }
}

/// The name that the first entry gives a tenant, where its keys open it.
pub fn tenant_name(store: &dyn Store, keys: &KeyStore, tenant: TenantId) -> Option<String> {
    match fold::payload(store, keys, tenant, Lsn::new(1)) {
        Ok(Some(Payload::Principal(words))) => Some(words.name),
        _ => None,
    }
}

/// The key that heads are held against, and what is wrong with it: the first entry's, which must be the signing key of the
/// key store and the pinned one. Where the first entry is damaged, the key store still knows it.
fn public_key(against: &Against<'_>) -> (Option<VerifyingKey>, Option<String>) {
    let held = against.keys.map(|keys| keys.signing_key().verifying_key());
    let claimed = match first_key(against) {
        Ok(claimed) => claimed,
        Err(what) => return (held, Some(what)),
    };
    let what = if against.pinned.is_some_and(|pinned| pinned != claimed.to_bytes()) {
        Some("the log's public key is not the one given".to_owned())
    } else if held.is_some_and(|held| held != claimed) {
        Some("the key store's signing key is not the log's: one of them was swapped".to_owned())
    } else {
        None
    };
    (Some(claimed), what)
}

/// The key that the first entry founds the log with.
fn first_key(against: &Against<'_>) -> Result<VerifyingKey, String> {
    let record = match against.store.record(LogName::Memory, Lsn::new(1)) {
        Ok(Some(record)) => record,
        Ok(None) => return Err("the first entry is missing".into()),
        Err(error) => return Err(error.to_string()),
    };
    let entry = Entry::decode(&record.body).map_err(|_| "the first entry is damaged".to_owned())?;
    let Event::TenantCreated { tenant, public_key, .. } = entry.event else {
        return Err("the first entry does not found a tenant".into());
    };
    if tenant != against.tenant {
        return Err("the first entry founds another tenant".into());
    }
    VerifyingKey::from_bytes(&public_key).ok_or_else(|| "the first entry holds no valid public key".into())
}

struct LogCheck<'a> {
    against: &'a Against<'a>,
    log: LogName,
    key: Option<VerifyingKey>,
    provenance_key: Option<Secret>,
    frontier: Frontier,
    tiles: Vec<Tile>,
    time: Timestamp,
    /// Entries that the newest head covers.
    signed: u64,
    /// How far the entries' own numbers are off; 0 in a good log.
    shift: u64,
    /// Heads not yet reached, and the size at which the last good one stood.
    heads: std::collections::VecDeque<SignedHead>,
    heads_read: u64,
    good: u64,
    faults: Vec<LogFault>,
    losses: Vec<LogFault>,
    /// Whether an entry is known to be wrong since the last good head: a root that then differs says nothing new.
    explained: bool,
    /// The tree as the stored hashes give it, to tell a damaged body from a damaged history.
    stored: Frontier,
}

impl<'a> LogCheck<'a> {
    fn new(against: &'a Against<'a>, log: LogName, key: Option<VerifyingKey>) -> Self {
        Self {
            against,
            log,
            key,
            provenance_key: against.keys.map(|keys| keys.tenant_secret().derive("tabellion/v1/provenance")),
            frontier: Frontier::default(),
            tiles: Vec::new(),
            time: Timestamp::default(),
            signed: 0,
            shift: 0,
            heads: std::collections::VecDeque::new(),
            heads_read: 0,
            good: 0,
            faults: Vec::new(),
            losses: Vec::new(),
            explained: false,
            stored: Frontier::default(),
        }
    }

    fn fault(&mut self, lsn: Option<u64>, what: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(LogFault { lsn, what: what.into() });
        }
    }

    fn report(self) -> LogReport {
        LogReport {
            log: self.log,
            size: self.frontier.size(),
            root: self.frontier.root(),
            faults: self.faults,
            losses: self.losses,
        }
    }

    fn run(&mut self, progress: &mut dyn FnMut(u64)) {
        let size = match self.against.store.size(self.log) {
            Ok(size) => size,
            Err(error) => return self.fault(None, error.to_string()),
        };
        self.signed =
            self.against.store.latest_head(self.log).ok().flatten().map_or(0, |signed| signed.head.size);
        self.strays();
        let mut next = 1;
        while next <= size {
            next = self.skip_gap(next, size);
            let page = self.page(next, size);
            for (lsn, read) in page {
                next = lsn + 1;
                self.entry(lsn, read);
                self.heads_at(lsn);
            }
            progress(next - 1);
        }
        self.end(size);
    }

    /// Rows before the first place.
    fn strays(&mut self) {
        match self.against.store.records(self.log, Lsn::ZERO, 1) {
            Ok(rows) if rows.first().is_some_and(|row| row.lsn == Lsn::ZERO) => {
                self.fault(None, "a row stands before the first entry");
            }
            Err(StoreError::Damaged { lsn, what, .. }) if lsn == Lsn::ZERO => self.fault(None, what),
            _ => {}
        }
    }

    /// Where the next entry stands: a long run of missing ones is named once, not walked.
    fn skip_gap(&mut self, from: u64, size: u64) -> u64 {
        let next = match self.against.store.records(self.log, Lsn::new(from), 1) {
            Ok(rows) => rows.first().map_or(size + 1, |row| row.lsn.get()),
            Err(_) => from,
        };
        if next <= from + PAGE as u64 {
            return from;
        }
        self.explained = true;
        // Behind what was ever signed nothing can be missing: there is only a row that has no business there.
        if from <= self.signed {
            self.fault(Some(from), format!("entries {from} to {} are missing", next - 1));
        }
        next
    }

    /// The next entries, one by one where a row cannot be read.
    fn page(&self, from: u64, size: u64) -> Vec<(u64, Result<Option<Record>, StoreError>)> {
        let to = size.min(from + PAGE as u64 - 1);
        let one_by_one =
            |to| (from..=to).map(|lsn| (lsn, self.against.store.record(self.log, Lsn::new(lsn)))).collect();
        match self.against.store.records(self.log, Lsn::new(from), PAGE) {
            Ok(records) if records.iter().map(|record| record.lsn.get()).eq(from..=to) => {
                records.into_iter().map(|record| (record.lsn.get(), Ok(Some(record)))).collect()
            }
            // Up to the last row of this page: what is missing behind it is a gap before the next page.
            Ok(records) => {
                let within = records.iter().map(|record| record.lsn.get()).filter(|lsn| *lsn <= to);
                one_by_one(within.max().unwrap_or(to))
            }
            Err(_) => one_by_one(to),
        }
    }

    fn entry(&mut self, lsn: u64, read: Result<Option<Record>, StoreError>) {
        let record = match read {
            Ok(Some(record)) => record,
            Ok(None) => return self.broken(lsn, "is missing", None),
            Err(error) => return self.broken(lsn, &error.to_string(), None),
        };
        let leaf = leaf_hash(&record.body);
        if leaf != record.leaf {
            return self.broken(lsn, "does not have the hash that is stored with it", Some(&record));
        }
        self.frontier.append(leaf, &mut self.tiles);
        self.stored.append(leaf, &mut Vec::new());
        match Entry::decode(&record.body) {
            Err(_) => self.fault(Some(lsn), "its body is not the canonical form of an entry"),
            Ok(entry) => {
                if let Event::LossAccepted(loss) = &entry.event {
                    self.accepted(lsn, loss);
                }
                self.content(lsn, &record, &entry);
            }
        }
        self.tile_row(lsn);
    }

    /// An entry that cannot be what was written. The tree goes on with what its row claims, so later entries are still
    /// checked on their own.
    fn broken(&mut self, lsn: u64, what: &str, record: Option<&Record>) {
        let (hashed, stored) =
            record.map_or(([0; 32], [0; 32]), |record| (leaf_hash(&record.body), record.leaf));
        self.frontier.append(hashed, &mut self.tiles);
        self.stored.append(stored, &mut Vec::new());
        self.explained = true;
        self.tiles.clear();
        self.fault(Some(lsn), format!("entry {lsn} {what}"));
    }

    fn content(&mut self, lsn: u64, record: &Record, entry: &Entry) {
        // One inserted or lost entry moves all that follow: it is named once, where the numbers part. An entry in its own
        // place again is no fault, and only such entries tell the time.
        let shift = lsn.wrapping_sub(entry.lsn.get());
        if shift != self.shift && shift != 0 {
            self.fault(Some(lsn), format!("entry {lsn} says that it is entry {}", entry.lsn));
        }
        self.shift = shift;
        if shift == 0 {
            if entry.time < self.time {
                self.fault(Some(lsn), format!("entry {lsn} is older than the one before it"));
            }
            self.time = entry.time;
        } else {
            self.explained = true;
        }
        match (&entry.sealed, &record.sealed) {
            (None, None) => {}
            (None, Some(_)) => {
                self.fault(Some(lsn), format!("entry {lsn} has a sealed part that it does not mention"))
            }
            (Some(sealed), None) => self.destroyed(lsn, sealed.key),
            (Some(sealed), Some(bytes)) if sealed.commitment != commitment(bytes) => {
                self.fault(
                    Some(lsn),
                    format!("the sealed part of entry {lsn} is not what the entry commits to"),
                );
            }
            (Some(_), Some(_)) => self.opens(lsn, record, entry),
        }
    }

    /// A sealed part that is gone was destroyed if its key is gone too; else someone took it away.
    fn destroyed(&mut self, lsn: u64, key: u64) {
        let held = self.against.keys.is_none_or(|keys| !matches!(keys.data_key(key), Ok(None)));
        if held {
            self.fault(Some(lsn), format!("the sealed part of entry {lsn} is missing"));
        }
    }

    fn opens(&mut self, lsn: u64, record: &Record, entry: &Entry) {
        let Some(keys) = self.against.keys else { return };
        match unseal(record, entry, keys, self.against.tenant) {
            Err(error) => {
                self.fault(Some(lsn), format!("the sealed part of entry {lsn} does not open: {error}"))
            }
            Ok(None) => self.fault(Some(lsn), format!("the data key of entry {lsn} is missing")),
            Ok(Some(Payload::Version { provenance, signature, .. })) => {
                let key = self.provenance_key.as_ref();
                if !key.is_some_and(|key| is_authentic(&provenance, &signature, key.as_bytes())) {
                    self.fault(
                        Some(lsn),
                        format!("the provenance of entry {lsn} does not bear our signature"),
                    );
                }
            }
            Ok(Some(
                Payload::Principal(_)
                | Payload::Reason(_)
                | Payload::Staged { .. }
                | Payload::Policy { .. }
                | Payload::Schema(_),
            )) => {}
        }
    }

    /// The tiles that an entry completes must be stored as computed.
    fn tile_row(&mut self, lsn: u64) {
        for tile in std::mem::take(&mut self.tiles) {
            let stored = self.against.store.tile(self.log, tile.level, tile.index);
            if stored != Ok(Some(tile.hash)) && !self.explained {
                self.fault(
                    Some(lsn),
                    format!(
                        "tile {} of level {} is not the subtree that entry {lsn} completes",
                        tile.index, tile.level
                    ),
                );
            }
        }
    }

    /// The heads that cover exactly the entries so far.
    fn heads_at(&mut self, lsn: u64) {
        loop {
            if self.heads.is_empty() {
                match self.against.store.heads(self.log, self.heads_read, PAGE) {
                    Ok(heads) => self.heads.extend(heads),
                    Err(error) => self.fault(None, error.to_string()),
                }
                match self.heads.back() {
                    Some(last) => self.heads_read = last.head.size,
                    None => return,
                }
            }
            let Some(signed) = self.heads.front().copied().filter(|signed| signed.head.size <= lsn) else {
                return;
            };
            self.heads.pop_front();
            self.head(&signed);
        }
    }

    fn head(&mut self, signed: &SignedHead) {
        let Head { size, root, .. } = signed.head;
        // Without a key nothing can be said of signatures; that there is none is a fault already.
        let confirmed = self.key.is_none_or(|key| key.confirms(self.against.tenant, self.log, signed));
        if !confirmed {
            self.fault(Some(size), format!("the head of {size} entries is not signed by the log's key"));
        }
        if size != self.frontier.size() {
            return;
        }
        // The bodies or, where one is damaged, the stored hashes must give the signed root. Whichever does is the history
        // from which later heads are judged.
        if root == self.frontier.root() || root == self.stored.root() {
            if root != self.frontier.root() {
                self.frontier = self.stored.clone();
            }
            self.stored = self.frontier.clone();
            self.explained = false;
            self.good = size;
        } else if !self.explained {
            let first = self.good + 1;
            self.fault(
                Some(first),
                format!("entries {first} to {size} are not what the head of {size} entries was signed over"),
            );
            self.explained = true;
        }
    }

    /// A loss that the operator accepted.
    fn accepted(&mut self, lsn: u64, loss: &AcceptedLoss) {
        if self.losses.len() < FAULTS_MAX {
            self.losses.push(LogFault { lsn: Some(lsn), what: format!("accepted by the operator: {loss}") });
        }
    }

    fn end(&mut self, size: u64) {
        let newest = self.signed;
        if newest > size {
            self.fault(
                Some(size + 1),
                format!("entries {} to {newest} are missing: a signed head covers them", size + 1),
            );
        }
        if newest < size {
            // The first of them, unless it is a single row far behind.
            let first = if self.frontier.size() == size { newest + 1 } else { size };
            self.fault(Some(first), format!("entries {first} to {size} are covered by no signed head"));
        }
        self.extra_tiles(size);
        self.witness(size);
    }

    fn extra_tiles(&mut self, size: u64) {
        for level in TILE_LEVELS {
            let beyond = size >> level;
            if self.against.store.tile(self.log, level, beyond).is_ok_and(|tile| tile.is_some()) {
                self.fault(None, format!("tile {beyond} of level {level} covers entries that are not there"));
            }
        }
    }

    /// The witness lies with the keys: a log that lost its tail and its newest heads together still shows it.
    fn witness(&mut self, size: u64) {
        let Some(text) = &self.against.witness else { return };
        let Some(witness) = Witness::parse(text) else {
            return self.fault(None, "the witness is not readable");
        };
        let Some(signed) = witness.head(self.log).copied() else { return };
        if !self.key.is_some_and(|key| key.confirms(self.against.tenant, self.log, &signed)) {
            return self.fault(None, "the witness is not signed by the log's key");
        }
        let seen = signed.head.size;
        if seen > size {
            return self.fault(
                Some(size + 1),
                format!("entries {} to {seen} are missing: the witness has seen them", size + 1),
            );
        }
        let store = self.against.store;
        let root = tabellion_core::log::root_of(0, seen, &mut |start, end| {
            tabellion_store::subtree(store, self.log, start, end)
        });
        if root != Ok(signed.head.root) && self.faults.is_empty() {
            self.fault(None, format!("the first {seen} entries are not those that the witness has seen"));
        }
    }
}
