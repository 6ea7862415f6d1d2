//! Snapshots: a tenant's logs, kept writes and wrapped data keys in one encrypted file, its secrets in another.
//!
//! The first file alone opens nothing: the epoch keys that its data keys are wrapped under are in the second, which is kept
//! apart. Destroying the epoch keys therefore makes every older snapshot unreadable.
//!
//! File: `TABSNAP2`, then frames of kind (1 byte), length (4 bytes, big-endian) and bytes. Kind 1 begins a tenant (its 16
//! id bytes), kind 2 is a chunk sealed under a key derived from the tenant's secret, kind 3 ends the file.

mod key_file;
mod report;

pub use key_file::keys_path;
pub use report::{ExportReport, RestoreReport};

use crate::OpenError;
use crate::fold::{self, Progress};
use crate::ports::{Entropy, SystemEntropy};
use crate::witness::{self, Witness};
use key_file::{KeyFile, read_keys};
use minicbor::bytes::ByteVec;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tabellion_core::canonical::{Hash, hex};
use tabellion_core::id::TenantId;
use tabellion_core::log::{Event, Frontier, Head, LogName, Lsn, Payload, SignedHead};
use tabellion_core::seal::{Secret, close, open, unwrap};
use tabellion_core::time::Timestamp;
use tabellion_store::{
    Append, DataDir, KeptStore, KeptWrite, KeyStore, Record, SqliteStore, Store, unless_missing,
    write_private,
};

const MAGIC: &[u8; 8] = b"TABSNAP2";
/// The same without kept writes; still restored.
const MAGIC_BEFORE: &[u8; 8] = b"TABSNAP1";
const PAGE: usize = 1_000;
const FRAME_MAX: u32 = 512 * 1024 * 1024;

#[derive(minicbor::Encode, minicbor::Decode)]
enum Chunk {
    /// Entries with the head that covers them, log by log, in order.
    #[n(0)]
    Commits {
        #[n(0)]
        audit: bool,
        #[n(1)]
        commits: Vec<Commit>,
    },
    /// Wrapped data keys.
    #[n(1)]
    Keys(#[n(0)] Vec<(u64, u64, ByteVec)>),
    /// The tenant is complete, with so many entries in memory and audit.
    #[n(2)]
    End(#[n(0)] u64, #[n(1)] u64),
    /// Writes that wait to be committed, or were refused.
    #[n(3)]
    Kept(#[n(0)] Vec<KeptRow>),
}

/// A kept write, closed as it lies in its file.
#[derive(minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct KeptRow {
    #[cbor(n(0), with = "minicbor::bytes")]
    id: [u8; 16],
    #[cbor(n(1), with = "minicbor::bytes")]
    author: [u8; 32],
    #[cbor(n(2), with = "minicbor::bytes")]
    token: Hash,
    #[n(3)]
    due: Option<Timestamp>,
    #[n(4)]
    ends: Timestamp,
    #[n(5)]
    attempts: u32,
    #[n(6)]
    made: Timestamp,
    #[n(7)]
    closed: ByteVec,
}

impl From<KeptWrite> for KeptRow {
    fn from(kept: KeptWrite) -> Self {
        let KeptWrite { id, author, token, due, ends, attempts, made, closed } = kept;
        Self { id, author, token, due, ends, attempts, made, closed: closed.into() }
    }
}

impl From<KeptRow> for KeptWrite {
    fn from(row: KeptRow) -> Self {
        let KeptRow { id, author, token, due, ends, attempts, made, closed } = row;
        Self { id, author, token, due, ends, attempts, made, closed: closed.to_vec() }
    }
}

#[derive(minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Commit {
    #[n(0)]
    size: u64,
    #[n(1)]
    time: Timestamp,
    #[cbor(n(2), with = "minicbor::bytes")]
    root: Hash,
    #[n(3)]
    signature: ByteVec,
    #[n(4)]
    entries: Vec<(ByteVec, Option<ByteVec>)>,
}

/// One tenant to be written.
pub(crate) struct Source {
    pub(crate) tenant: TenantId,
    pub(crate) store: SqliteStore,
    pub(crate) keys: KeyStore,
    /// The file of its kept writes.
    pub(crate) kept: PathBuf,
}

pub(crate) fn export(
    sources: &[Source],
    master: Option<&Secret>,
    out: &Path,
    entropy: &dyn Entropy,
    progress: Progress<'_>,
) -> Result<ExportReport, OpenError> {
    let failed = |error: std::io::Error| OpenError::new(format!("{}: {error}", out.display()));
    let mut secrets = Vec::new();
    for source in sources {
        let rows: Vec<_> = source
            .keys
            .secret_rows()
            .map_err(text)?
            .iter()
            .map(|(name, wrapped)| serde_json::json!({"name": name, "wrapped": hex(wrapped)}))
            .collect();
        secrets.push(serde_json::json!({"tenant": source.tenant.to_string(), "secrets": rows}));
    }
    let keys = serde_json::json!({"master": master.map(|master| hex(master.as_bytes())), "tenants": secrets});
    // Under their own names only when both are whole: an export that fails leaves nothing, and what was there before.
    let unfinished = out.with_added_extension("unfinished");
    let written = write_snapshot(sources, &unfinished, entropy, progress);
    let named = written.and_then(|report| {
        write_private(&keys_path(out), keys.to_string().as_bytes()).map_err(failed)?;
        std::fs::rename(&unfinished, out).map_err(failed).map(|()| report)
    });
    named.inspect_err(|_| {
        let _already_gone = std::fs::remove_file(&unfinished);
    })
}

fn write_snapshot(
    sources: &[Source],
    out: &Path,
    entropy: &dyn Entropy,
    progress: Progress<'_>,
) -> Result<ExportReport, OpenError> {
    let failed = |error: std::io::Error| OpenError::new(format!("{}: {error}", out.display()));
    // Made private before the first byte.
    write_private(out, MAGIC).map_err(failed)?;
    let file = File::options().append(true).open(out).map_err(failed)?;
    let mut writer =
        SnapshotWriter { out: BufWriter::new(file), entropy, frames: 0, kept: 0, bytes: MAGIC.len() as u64 };
    let total = sources
        .iter()
        .map(|source| sizes(&source.store).map(|(memory, audit)| memory + audit))
        .sum::<Result<u64, _>>()?;
    let mut done = 0;
    for source in sources {
        done += writer
            .tenant(source, &mut |entries| progress(done + entries, total))
            .map_err(|error| OpenError::new(format!("{}: {}", out.display(), error)))?;
    }
    writer.frame(3, &[]).map_err(failed)?;
    writer.out.flush().map_err(failed)?;
    writer.out.get_ref().sync_all().map_err(failed)?;
    Ok(ExportReport { tenants: sources.len() as u64, entries: done, kept: writer.kept, bytes: writer.bytes })
}

fn sizes(store: &SqliteStore) -> Result<(u64, u64), OpenError> {
    Ok((store.size(LogName::Memory).map_err(text)?, store.size(LogName::Audit).map_err(text)?))
}

fn text(error: impl std::fmt::Display) -> OpenError {
    OpenError::new(error.to_string())
}

fn snapshot_key(tenant_secret: &Secret) -> Secret {
    tenant_secret.derive("tabellion/v1/snapshot")
}

fn place(tenant: TenantId, frame: u64) -> Vec<u8> {
    [tenant.as_bytes().as_slice(), &frame.to_be_bytes()].concat()
}

struct SnapshotWriter<'a> {
    out: BufWriter<File>,
    entropy: &'a dyn Entropy,
    frames: u64,
    kept: u64,
    bytes: u64,
}

impl SnapshotWriter<'_> {
    fn tenant(&mut self, source: &Source, progress: &mut dyn FnMut(u64)) -> Result<u64, OpenError> {
        self.frame(1, source.tenant.as_bytes()).map_err(text)?;
        // Before the logs: a write that is committed meanwhile is then in both, and known as committed when it is tried
        // again. The other way round it could be in neither.
        self.kept(source)?;
        let (memory, audit) = sizes(&source.store)?;
        let memory = self.log(source, LogName::Memory, memory, progress)?;
        let audit = self.log(source, LogName::Audit, audit, &mut |entries| progress(memory + entries))?;
        let mut from = 1;
        loop {
            let rows = source.keys.data_key_rows(from, PAGE).map_err(text)?;
            let Some((last, _, _)) = rows.last() else { break };
            from = last + 1;
            let rows = rows.into_iter().map(|(id, epoch, wrapped)| (id, epoch, wrapped.into())).collect();
            self.chunk(source, &Chunk::Keys(rows))?;
        }
        self.chunk(source, &Chunk::End(memory, audit))?;
        Ok(memory + audit)
    }

    fn kept(&mut self, source: &Source) -> Result<(), OpenError> {
        let mut after = None;
        loop {
            let rows = KeptStore::rows(&source.kept, after, PAGE).map_err(text)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.id);
            self.kept += rows.len() as u64;
            self.chunk(source, &Chunk::Kept(rows.into_iter().map(Into::into).collect()))?;
        }
    }

    /// Writes whole commits up to the last head within `size`, and tells how many entries they hold.
    fn log(
        &mut self,
        source: &Source,
        log: LogName,
        size: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, OpenError> {
        let mut done = 0;
        loop {
            let mut heads = source.store.heads(log, done, PAGE).map_err(text)?;
            heads.retain(|signed| signed.head.size <= size);
            let mut commits = Vec::new();
            for signed in heads {
                let count = usize::try_from(signed.head.size - done).map_err(text)?;
                let records = source.store.records(log, Lsn::new(done + 1), count).map_err(text)?;
                done = signed.head.size;
                let entries = records
                    .into_iter()
                    .map(|record| (record.body.into(), record.sealed.map(Into::into)))
                    .collect();
                let Head { size, time, root } = signed.head;
                commits.push(Commit {
                    size,
                    time,
                    root,
                    signature: signed.signature.to_vec().into(),
                    entries,
                });
            }
            if commits.is_empty() {
                return Ok(done);
            }
            self.chunk(source, &Chunk::Commits { audit: log == LogName::Audit, commits })?;
            progress(done);
        }
    }

    fn chunk(&mut self, source: &Source, chunk: &Chunk) -> Result<(), OpenError> {
        let mut bytes = Vec::new();
        minicbor::encode(chunk, &mut bytes).map_err(text)?;
        let key = snapshot_key(source.keys.tenant_secret());
        let closed = close(&key, &self.entropy.bytes(), &place(source.tenant, self.frames), &bytes);
        self.frame(2, &closed).map_err(text)
    }

    fn frame(&mut self, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
        self.out.write_all(&[kind])?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(bytes)?;
        self.frames += 1;
        self.bytes += 5 + u64::from(length);
        Ok(())
    }
}

pub(crate) fn restore(
    from: &Path,
    data: &DataDir,
    master: Option<Secret>,
    progress: Progress<'_>,
) -> Result<RestoreReport, OpenError> {
    let keys = read_keys(from)?;
    let from_file = master.is_none();
    let master = master
        .or_else(|| keys.master.clone())
        .ok_or_else(|| OpenError::new("the key file holds no master key; give it in TABELLION_MASTER_KEY"))?;
    let in_snapshot = |error: &dyn std::fmt::Display| OpenError::new(format!("{}: {error}", from.display()));
    let file = File::open(from).map_err(|error| in_snapshot(&error))?;
    let total = file.metadata().map_or(0, |meta| meta.len());
    let mut reader = SnapshotReader { input: BufReader::new(file), frames: 0, bytes: 0 };
    reader.magic().map_err(|error| in_snapshot(&error))?;

    let failed = |error: std::io::Error| OpenError::new(format!("{}: {error}", data.path().display()));
    let is_new = !data.path().exists();
    data.create_base().map_err(failed)?;
    let held = data.lock().map_err(text)?;
    if data.restore_mark().exists() {
        // What is here is the half of a restore that was broken off; nothing else can be.
        clear(data).map_err(failed)?;
    }
    if !data.traces().map_err(text)?.is_empty() || data.master_key().exists() {
        let what = format!("{} holds data already; restore into a new directory", data.path().display());
        return Err(OpenError::new(what));
    }
    // From here to its removal the mark says that the directory is not whole, whatever happens to this process.
    write_private(&data.restore_mark(), b"a restore is under way, or was broken off\n").map_err(failed)?;
    let mut make = || {
        // The mark of a first start would speak for a directory that is not new any more.
        unless_missing(std::fs::remove_file(data.founding_mark())).map_err(failed)?;
        data.create().map_err(failed)?;
        if from_file {
            let text = crate::offline::master_text(&master);
            write_private(&data.master_key(), text.as_bytes()).map_err(failed)?;
        }
        reader
            .run(data, &keys, &master, &mut |bytes| progress(bytes, total))
            .map_err(|error| in_snapshot(&error))
    };
    let made = make();
    match &made {
        Ok(_) => data.remove_mark(&data.restore_mark()).map_err(failed)?,
        Err(_) => {
            clear(data).and_then(|()| data.remove_mark(&data.restore_mark())).map_err(failed)?;
            drop(held);
            let lock = unless_missing(std::fs::remove_file(data.path().join("lock")));
            if is_new && lock.is_ok() {
                let _others_use_it = std::fs::remove_dir(data.path());
            }
        }
    }
    made
}

/// Removes what a restore makes.
fn clear(data: &DataDir) -> std::io::Result<()> {
    unless_missing(std::fs::remove_dir_all(data.keys()))?;
    unless_missing(std::fs::remove_dir_all(data.tenant_folders()))
}

struct SnapshotReader {
    input: BufReader<File>,
    frames: u64,
    bytes: u64,
}

/// A tenant that is being written.
struct Target {
    tenant: TenantId,
    key: Secret,
    store: SqliteStore,
    keys: tabellion_store::Restoring,
    kept: KeptStore,
    kept_count: u64,
    tips: [Frontier; 2],
    heads: [Option<SignedHead>; 2],
}

/// A tenant that was written, and its witness.
struct Finished {
    tenant: TenantId,
    name: Option<String>,
    is_operator: bool,
    kept: u64,
    witness: Witness,
}

/// Names the other tenants in the witness of the first one, once all of them are whole.
fn name_others(data: &DataDir, master: &Secret, restored: &[Finished]) -> Result<(), OpenError> {
    let Some(first) = restored.iter().find(|tenant| tenant.is_operator) else { return Ok(()) };
    let keys = KeyStore::open_read_only(&data.key_store(first.tenant), first.tenant, master).map_err(text)?;
    let others = restored.iter().filter(|tenant| tenant.tenant != first.tenant);
    let seal = |other: &Finished| {
        let sealed = other.name.as_deref().map(|name| sealed_name(name, other.tenant, &keys));
        (other.tenant, sealed.unwrap_or_default())
    };
    let witness = Witness { tenants: others.map(seal).collect(), ..first.witness.clone() };
    witness.write(&data.witness(first.tenant)).map_err(text)
}

fn sealed_name(name: &str, tenant: TenantId, keys: &KeyStore) -> Vec<u8> {
    let entropy: &dyn Entropy = &SystemEntropy;
    witness::seal_name(name, tenant, keys.tenant_secret(), &entropy.bytes())
}

impl SnapshotReader {
    fn magic(&mut self) -> Result<(), OpenError> {
        let mut magic = [0; 8];
        let known = self.input.read_exact(&mut magic).is_ok() && [MAGIC, MAGIC_BEFORE].contains(&&magic);
        if known { Ok(()) } else { Err(OpenError::new("not a snapshot of Tabellion")) }
    }

    fn run(
        &mut self,
        data: &DataDir,
        keys: &KeyFile,
        master: &Secret,
        progress: &mut dyn FnMut(u64),
    ) -> Result<RestoreReport, OpenError> {
        let mut report = RestoreReport { tenants: 0, entries: 0, kept: 0, newest: Timestamp::default() };
        let mut target: Option<Target> = None;
        let mut restored = Vec::new();
        loop {
            let frame = self.frames;
            let (kind, bytes) = self.frame()?;
            match kind {
                1 if target.is_none() => target = Some(begin(data, keys, master, &bytes)?),
                2 => {
                    let open_target =
                        target.as_mut().ok_or_else(|| OpenError::new("damaged: a chunk without a tenant"))?;
                    if let Some(entries) = open_target.chunk(frame, &bytes)? {
                        report.tenants += 1;
                        report.entries += entries;
                        let finished = open_target.finish(data, master)?;
                        report.kept += finished.kept;
                        let times = finished.witness.heads.iter().flatten().map(|signed| signed.head.time);
                        report.newest = times.fold(report.newest, Timestamp::max);
                        restored.push(finished);
                        target = None;
                    }
                }
                3 if target.is_none() => {
                    name_others(data, master, &restored)?;
                    return Ok(report);
                }
                _ => return Err(OpenError::new("damaged or cut short")),
            }
            progress(self.bytes);
        }
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>), OpenError> {
        let mut head = [0; 5];
        self.input.read_exact(&mut head).map_err(|_| OpenError::new("damaged or cut short"))?;
        let [kind, a, b, c, d] = head;
        let length = u32::from_be_bytes([a, b, c, d]);
        if length > FRAME_MAX {
            return Err(OpenError::new("damaged: a frame of impossible length"));
        }
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(u64::from(length)).read_to_end(&mut bytes).map_err(text)?;
        if read as u64 != u64::from(length) {
            return Err(OpenError::new("damaged or cut short"));
        }
        self.frames += 1;
        self.bytes += 5 + u64::from(length);
        Ok((kind, bytes))
    }
}

fn begin(data: &DataDir, keys: &KeyFile, master: &Secret, bytes: &[u8]) -> Result<Target, OpenError> {
    let id: [u8; 16] = bytes.try_into().map_err(|_| OpenError::new("damaged: not a tenant"))?;
    let tenant = TenantId::from_bytes(id);
    let (_, secrets) = keys.tenants.iter().find(|(known, _)| *known == tenant).ok_or_else(|| {
        OpenError::new(format!("the key file has no secrets of {tenant}: it is of another snapshot"))
    })?;
    let wrapped = secrets
        .iter()
        .find(|(name, _)| name == "tenant")
        .map(|(_, wrapped)| wrapped.as_slice())
        .unwrap_or_default();
    let associated = [b"tabellion/v1/secret".as_slice(), tenant.as_bytes(), b"tenant"].concat();
    let tenant_secret = unwrap(master, &associated, wrapped)
        .map_err(|_| OpenError::new("the master key does not open the key file; give the one of the exported data in TABELLION_MASTER_KEY"))?;
    data.create_tenant(tenant).map_err(text)?;
    Ok(Target {
        tenant,
        key: snapshot_key(&tenant_secret),
        store: SqliteStore::open(&data.log(tenant)).map_err(text)?,
        keys: KeyStore::restore(&data.key_store(tenant), secrets).map_err(text)?,
        kept: KeptStore::open(Some(&data.kept(tenant)), tenant).map_err(text)?,
        kept_count: 0,
        tips: [Frontier::default(), Frontier::default()],
        heads: [None, None],
    })
}

impl Target {
    /// Takes in one chunk; at the tenant's end, tells its entries.
    fn chunk(&mut self, frame: u64, closed: &[u8]) -> Result<Option<u64>, OpenError> {
        let bytes = open(&self.key, &place(self.tenant, frame), closed)
            .map_err(|_| OpenError::new("damaged: a chunk does not open"))?;
        match minicbor::decode::<Chunk>(&bytes).map_err(text)? {
            Chunk::Commits { audit, commits } => self.commits(audit, commits).map(|()| None),
            Chunk::Keys(rows) => {
                let rows: Vec<_> =
                    rows.into_iter().map(|(id, epoch, wrapped)| (id, epoch, wrapped.to_vec())).collect();
                self.keys.add(&rows).map_err(text).map(|()| None)
            }
            Chunk::End(memory, audit) => {
                let [have_memory, have_audit] = [self.tips[0].size(), self.tips[1].size()];
                if (memory, audit) != (have_memory, have_audit) {
                    return Err(OpenError::new("damaged: entries are missing"));
                }
                Ok(Some(memory + audit))
            }
            Chunk::Kept(rows) => {
                self.kept_count += rows.len() as u64;
                let rows: Vec<KeptWrite> = rows.into_iter().map(Into::into).collect();
                self.kept.restore(&rows).map_err(text).map(|()| None)
            }
        }
    }

    /// Checks the newest heads, and writes the witness: from here on the tenant is known to be whole.
    fn finish(&self, data: &DataDir, master: &Secret) -> Result<Finished, OpenError> {
        self.store.settle().map_err(text)?;
        self.kept.settle().map_err(text)?;
        self.keys.settle().map_err(text)?;
        let keys =
            KeyStore::open_read_only(&data.key_store(self.tenant), self.tenant, master).map_err(text)?;
        let key = keys.signing_key().verifying_key();
        for (log, head) in LogName::ALL.into_iter().zip(&self.heads) {
            if head.is_some_and(|head| !key.confirms(self.tenant, log, &head)) {
                return Err(OpenError::new(format!(
                    "damaged: the {} log is not signed by its key",
                    log.as_str()
                )));
            }
        }
        let kept_changes = self.kept.changes().load(Ordering::Acquire);
        let first = Lsn::new(1);
        let event = fold::event(&self.store, first)?;
        let is_operator = matches!(event, Some(Event::TenantCreated { operator: true, .. }));
        let payload = fold::payload(&self.store, &keys, self.tenant, first).ok().flatten();
        let name = if let Some(Payload::Principal(words)) = payload { Some(words.name) } else { None };
        let sealed = name.as_deref().map(|name| sealed_name(name, self.tenant, &keys));
        let witness = Witness { heads: self.heads, kept_changes, name: sealed, tenants: BTreeMap::new() };
        witness.write(&data.witness(self.tenant)).map_err(text)?;
        Ok(Finished { tenant: self.tenant, name, is_operator, kept: self.kept_count, witness })
    }

    fn commits(&mut self, audit: bool, commits: Vec<Commit>) -> Result<(), OpenError> {
        let [memory_tip, audit_tip] = &mut self.tips;
        let [memory_head, audit_head] = &mut self.heads;
        let (log, tip, newest) = match audit {
            true => (LogName::Audit, audit_tip, audit_head),
            false => (LogName::Memory, memory_tip, memory_head),
        };
        let mut appends = Vec::new();
        for commit in commits {
            let mut tiles = Vec::new();
            let mut records = Vec::new();
            for (body, sealed) in commit.entries {
                let body: Vec<u8> = body.into();
                let leaf = tabellion_core::log::leaf_hash(&body);
                tip.append(leaf, &mut tiles);
                records.push(Record {
                    lsn: Lsn::new(tip.size()),
                    body,
                    sealed: sealed.map(Into::into),
                    leaf,
                });
            }
            let signature = commit.signature.as_slice().try_into().map_err(text)?;
            let head = SignedHead {
                head: Head { size: commit.size, time: commit.time, root: commit.root },
                signature,
            };
            if head.head.size != tip.size() || head.head.root != tip.root() {
                let what =
                    format!("damaged: the {} log does not fit its head of {}", log.as_str(), commit.size);
                return Err(OpenError::new(what));
            }
            *newest = Some(head);
            appends.push(Append { log, records, tiles, head });
        }
        self.store.append(&appends).map_err(text)
    }
}
