//! Snapshots: a tenant's logs and wrapped data keys in one encrypted file, its secrets in another.
//!
//! The first file alone opens nothing: the epoch keys that its data keys are wrapped under are in the second, which is kept
//! apart. Destroying the epoch keys therefore makes every older snapshot unreadable.
//!
//! File: `TABSNAP1`, then frames of kind (1 byte), length (4 bytes, big-endian) and bytes. Kind 1 begins a tenant (its 16
//! id bytes), kind 2 is a chunk sealed under a key derived from the tenant's secret, kind 3 ends the file.

use crate::OpenError;
use crate::fold::Progress;
use crate::ports::Entropy;
use minicbor::bytes::ByteVec;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tabellion_core::canonical::{Hash, hex, unhex32};
use tabellion_core::id::TenantId;
use tabellion_core::log::{Frontier, Head, LogName, Lsn, SignedHead};
use tabellion_core::seal::{Secret, close, open, unwrap};
use tabellion_core::time::Timestamp;
use tabellion_store::{Append, DataDir, KeyStore, Record, SqliteStore, Store, write_private};

const MAGIC: &[u8; 8] = b"TABSNAP1";
const PAGE: usize = 1_000;
const FRAME_MAX: u32 = 512 * 1024 * 1024;

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportReport {
    /// Tenants in it.
    pub tenants: u64,
    /// Entries in it.
    pub entries: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What a restore wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreReport {
    /// Tenants restored.
    pub tenants: u64,
    /// Entries restored.
    pub entries: u64,
}

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

/// Where the secrets of a snapshot go.
#[must_use]
pub fn keys_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".keys");
    PathBuf::from(name)
}

/// One tenant to be written.
pub(crate) struct Source {
    pub(crate) tenant: TenantId,
    pub(crate) store: SqliteStore,
    pub(crate) keys: KeyStore,
}

pub(crate) fn export(
    sources: &[Source],
    master: Option<&Secret>,
    out: &Path,
    entropy: &dyn Entropy,
    progress: Progress<'_>,
) -> Result<ExportReport, OpenError> {
    let failed = |error: std::io::Error| OpenError(format!("{}: {error}", out.display()));
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
    write_private(&keys_path(out), keys.to_string().as_bytes()).map_err(failed)?;
    // Made private before the first byte; replaced whole is not possible for a file of this size, so it ends with a frame
    // that a reader insists on.
    write_private(out, MAGIC).map_err(failed)?;
    let file = File::options().append(true).open(out).map_err(failed)?;
    let mut writer =
        SnapshotWriter { out: BufWriter::new(file), entropy, frames: 0, bytes: MAGIC.len() as u64 };
    let total = sources
        .iter()
        .map(|source| sizes(&source.store).map(|(memory, audit)| memory + audit))
        .sum::<Result<u64, _>>()?;
    let mut done = 0;
    for source in sources {
        done += writer
            .tenant(source, &mut |entries| progress(done + entries, total))
            .map_err(|error| OpenError(format!("{}: {}", out.display(), error.0)))?;
    }
    writer.frame(3, &[]).map_err(failed)?;
    writer.out.flush().map_err(failed)?;
    writer.out.get_ref().sync_all().map_err(failed)?;
    Ok(ExportReport { tenants: sources.len() as u64, entries: done, bytes: writer.bytes })
}

fn sizes(store: &SqliteStore) -> Result<(u64, u64), OpenError> {
    Ok((store.size(LogName::Memory).map_err(text)?, store.size(LogName::Audit).map_err(text)?))
}

fn text(error: impl std::fmt::Display) -> OpenError {
    OpenError(error.to_string())
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
    bytes: u64,
}

impl SnapshotWriter<'_> {
    fn tenant(&mut self, source: &Source, progress: &mut dyn FnMut(u64)) -> Result<u64, OpenError> {
        self.frame(1, source.tenant.as_bytes()).map_err(text)?;
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

/// A tenant's secrets by name, each wrapped under the master key.
type WrappedSecrets = Vec<(String, Vec<u8>)>;

/// The secrets of a snapshot.
struct KeyFile {
    master: Option<Secret>,
    tenants: Vec<(TenantId, WrappedSecrets)>,
}

fn read_keys(from: &Path) -> Result<KeyFile, OpenError> {
    let path = keys_path(from);
    let missing = |error| {
        OpenError(format!(
            "{}: {error}; a snapshot opens only with the key file that was written beside it",
            path.display()
        ))
    };
    let bytes = std::fs::read(&path).map_err(missing)?;
    let bad = || OpenError(format!("{}: not a key file of a snapshot", path.display()));
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    let master =
        value.get("master").and_then(|master| master.as_str()).and_then(unhex32).map(Secret::from_bytes);
    let mut tenants = Vec::new();
    for tenant in value.get("tenants").and_then(|tenants| tenants.as_array()).ok_or_else(bad)? {
        let id =
            tenant.get("tenant").and_then(|id| id.as_str()).and_then(|id| id.parse().ok()).ok_or_else(bad)?;
        let mut secrets = Vec::new();
        for secret in tenant.get("secrets").and_then(|secrets| secrets.as_array()).ok_or_else(bad)? {
            let name = secret.get("name").and_then(|name| name.as_str()).ok_or_else(bad)?;
            let wrapped = secret.get("wrapped").and_then(|wrapped| wrapped.as_str()).ok_or_else(bad)?;
            let wrapped = data_encoding_hex(wrapped).ok_or_else(bad)?;
            secrets.push((name.to_owned(), wrapped));
        }
        tenants.push((id, secrets));
    }
    Ok(KeyFile { master, tenants })
}

fn data_encoding_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect()
}

pub(crate) fn restore(
    from: &Path,
    data: &DataDir,
    master: Option<Secret>,
    progress: Progress<'_>,
) -> Result<RestoreReport, OpenError> {
    let keys = read_keys(from)?;
    let from_file = master.is_none();
    let master = master.or_else(|| keys.master.clone()).ok_or_else(|| {
        OpenError("the key file holds no master key; give it in TABELLION_MASTER_KEY".into())
    })?;
    let failed = |error: std::io::Error| OpenError(format!("{}: {error}", data.path().display()));
    data.create().map_err(failed)?;
    let _held = data.lock().map_err(text)?;
    if !data.tenants().map_err(failed)?.is_empty() {
        return Err(OpenError(format!(
            "{} holds data already; restore into a new directory",
            data.path().display()
        )));
    }
    if from_file {
        write_private(&data.master_key(), format!("{}\n", hex(master.as_bytes())).as_bytes())
            .map_err(failed)?;
    }
    let file = File::open(from).map_err(|error| OpenError(format!("{}: {error}", from.display())))?;
    let total = file.metadata().map_or(0, |meta| meta.len());
    let mut reader = SnapshotReader { input: BufReader::new(file), frames: 0, bytes: 0 };
    reader
        .run(data, &keys, &master, &mut |bytes| progress(bytes, total))
        .map_err(|error| OpenError(format!("{}: {}", from.display(), error.0)))
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
    tips: [Frontier; 2],
}

impl SnapshotReader {
    fn run(
        &mut self,
        data: &DataDir,
        keys: &KeyFile,
        master: &Secret,
        progress: &mut dyn FnMut(u64),
    ) -> Result<RestoreReport, OpenError> {
        let mut magic = [0; 8];
        self.input.read_exact(&mut magic).map_err(text)?;
        if &magic != MAGIC {
            return Err(OpenError("not a snapshot of Tabellion".into()));
        }
        let mut report = RestoreReport { tenants: 0, entries: 0 };
        let mut target: Option<Target> = None;
        loop {
            let frame = self.frames;
            let (kind, bytes) = self.frame()?;
            match kind {
                1 if target.is_none() => target = Some(begin(data, keys, master, &bytes)?),
                2 => {
                    let open_target = target
                        .as_mut()
                        .ok_or_else(|| OpenError("damaged: a chunk without a tenant".into()))?;
                    if let Some(entries) = open_target.chunk(frame, &bytes)? {
                        report.tenants += 1;
                        report.entries += entries;
                        target = None;
                    }
                }
                3 if target.is_none() => return Ok(report),
                _ => return Err(OpenError("damaged or cut short".into())),
            }
            progress(self.bytes);
        }
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>), OpenError> {
        let mut head = [0; 5];
        self.input.read_exact(&mut head).map_err(|_| OpenError("damaged or cut short".into()))?;
        let [kind, a, b, c, d] = head;
        let length = u32::from_be_bytes([a, b, c, d]);
        if length > FRAME_MAX {
            return Err(OpenError("damaged: a frame of impossible length".into()));
        }
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(u64::from(length)).read_to_end(&mut bytes).map_err(text)?;
        if read as u64 != u64::from(length) {
            return Err(OpenError("damaged or cut short".into()));
        }
        self.frames += 1;
        self.bytes += 5 + u64::from(length);
        Ok((kind, bytes))
    }
}

fn begin(data: &DataDir, keys: &KeyFile, master: &Secret, bytes: &[u8]) -> Result<Target, OpenError> {
    let id: [u8; 16] = bytes.try_into().map_err(|_| OpenError("damaged: not a tenant".into()))?;
    let tenant = TenantId::from_bytes(id);
    let (_, secrets) = keys.tenants.iter().find(|(known, _)| *known == tenant).ok_or_else(|| {
        OpenError(format!("the key file has no secrets of {tenant}: it is of another snapshot"))
    })?;
    let wrapped = secrets
        .iter()
        .find(|(name, _)| name == "tenant")
        .map(|(_, wrapped)| wrapped.as_slice())
        .unwrap_or_default();
    let associated = [b"tabellion/v1/secret".as_slice(), tenant.as_bytes(), b"tenant"].concat();
    let tenant_secret = unwrap(master, &associated, wrapped)
        .map_err(|_| OpenError("the master key does not open the key file; give the one of the exported data in TABELLION_MASTER_KEY".into()))?;
    data.create_tenant(tenant).map_err(text)?;
    Ok(Target {
        tenant,
        key: snapshot_key(&tenant_secret),
        store: SqliteStore::open(&data.log(tenant)).map_err(text)?,
        keys: KeyStore::restore(&data.key_store(tenant), secrets).map_err(text)?,
        tips: [Frontier::default(), Frontier::default()],
    })
}

impl Target {
    /// Takes in one chunk; at the tenant's end, tells its entries.
    fn chunk(&mut self, frame: u64, closed: &[u8]) -> Result<Option<u64>, OpenError> {
        let bytes = open(&self.key, &place(self.tenant, frame), closed)
            .map_err(|_| OpenError("damaged: a chunk does not open".into()))?;
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
                    return Err(OpenError("damaged: entries are missing".into()));
                }
                Ok(Some(memory + audit))
            }
        }
    }

    fn commits(&mut self, audit: bool, commits: Vec<Commit>) -> Result<(), OpenError> {
        let (log, tip) =
            if audit { (LogName::Audit, &mut self.tips[1]) } else { (LogName::Memory, &mut self.tips[0]) };
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
            appends.push(Append { log, records, tiles, head });
        }
        self.store.append(&appends).map_err(text)
    }
}
