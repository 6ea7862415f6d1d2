//! Ten thousand tamperings of a real log file: none is missed, and the entry is named.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use support::open;
use tabellion_engine::offline::{VerifyOptions, verify};

/// A small deterministic stream of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

struct Scene {
    folder: tempfile::TempDir,
    log: PathBuf,
    keys: PathBuf,
    good_log: Vec<u8>,
    good_keys: Vec<u8>,
    size: u64,
}

/// A directory with some hundred entries, closed in good order.
fn scene(seed: u64) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let bench = std::sync::Arc::new(open(Some(folder.path()), seed));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ana = bench.member("ana").await;
        // Ten at a time, so that a head covers several entries.
        for group in 0..6 {
            let mut tasks = tokio::task::JoinSet::new();
            for n in 0..10 {
                let (bench, ana, n) = (bench.clone(), ana.clone(), group * 10 + n);
                tasks.spawn(async move {
                    let id = bench.write(&ana, &format!("item {n} of the log")).await.id.unwrap().to_string();
                    if n % 3 == 0 {
                        bench.update(&ana, &id, &format!("item {n} again")).await;
                    }
                    if n % 7 == 0 {
                        bench.engine.retract(&ana, &id, Some("wrong".into())).await.unwrap();
                    }
                });
            }
            tasks.join_all().await;
        }
    });
    bench.engine.close();
    drop(bench);
    let tenant = std::fs::read_dir(folder.path().join("tenants")).unwrap().next().unwrap().unwrap();
    let log = tenant.path().join("log.db");
    let keys = folder.path().join("keys").join(format!("{}.db", tenant.file_name().to_str().unwrap()));
    for file in [&log, &keys] {
        let connection = Connection::open(file).unwrap();
        let _: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        let _: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).unwrap();
    }
    let size = Connection::open(&log)
        .unwrap()
        .query_row("SELECT max(lsn) FROM memory_entry", [], |row| row.get::<_, i64>(0))
        .unwrap();
    let (good_log, good_keys) = (std::fs::read(&log).unwrap(), std::fs::read(&keys).unwrap());
    Scene { folder, log, keys, good_log, good_keys, size: size.unsigned_abs() }
}

impl Scene {
    fn restore(&self) {
        std::fs::write(&self.log, &self.good_log).unwrap();
        std::fs::write(&self.keys, &self.good_keys).unwrap();
    }

    fn faults(&self) -> Vec<(Option<u64>, String)> {
        match verify(self.folder.path(), None, VerifyOptions::default(), &mut |_, _| {}) {
            Ok(found) => {
                let start = found.faults.iter().map(|fault| (None, fault.to_string()));
                let logs = found.tenants.iter().flat_map(|report| &report.logs);
                let named = logs.flat_map(|log| &log.faults).map(|fault| (fault.lsn, fault.what.clone()));
                named.chain(start).collect()
            }
            Err(error) => vec![(None, error.to_string())],
        }
    }
}

fn flip(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.roll(bytes.len() as u64) as usize;
    bytes[at] ^= 1 << dice.roll(8);
}

/// Tampers once; the answer is the entry that must be named, if one can be.
fn tamper(scene: &Scene, kind: u64, dice: &mut Dice) -> (String, Option<u64>) {
    let log = Connection::open(&scene.log).unwrap();
    log.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY").unwrap();
    let lsn = dice.roll(scene.size) + 1;
    let other = (lsn % scene.size) + 1;
    let blob = |column: &str, lsn: u64| -> Option<Vec<u8>> {
        log.query_row(&format!("SELECT {column} FROM memory_entry WHERE lsn = ?1"), [lsn as i64], |row| {
            row.get(0)
        })
        .unwrap()
    };
    match kind {
        0..=2 => {
            let column = ["body", "leaf", "sealed"][kind as usize];
            let (lsn, mut bytes) = (0..)
                .map(|n| (lsn + n - 1) % scene.size + 1)
                .find_map(|lsn| Some((lsn, blob(column, lsn)?)))
                .unwrap();
            flip(&mut bytes, dice);
            log.execute(
                &format!("UPDATE memory_entry SET {column} = ?1 WHERE lsn = ?2"),
                params![bytes, lsn as i64],
            )
            .unwrap();
            (format!("flip {column} of {lsn}"), Some(lsn))
        }
        3 => {
            log.execute("DELETE FROM memory_entry WHERE lsn = ?1", [lsn as i64]).unwrap();
            (format!("delete {lsn}"), Some(lsn))
        }
        4 => {
            // An inserted copy: everything from there on moves up by one.
            let lsn = lsn.max(2);
            log.execute("UPDATE memory_entry SET lsn = -lsn - 1 WHERE lsn >= ?1", [lsn as i64]).unwrap();
            log.execute("UPDATE memory_entry SET lsn = -lsn WHERE lsn < 0", []).unwrap();
            log.execute(
                "INSERT INTO memory_entry SELECT ?1, body, sealed, leaf FROM memory_entry WHERE lsn = ?2",
                [lsn as i64, lsn as i64 - 1],
            )
            .unwrap();
            (format!("insert at {lsn}"), Some(lsn))
        }
        5 => {
            log.execute("UPDATE memory_entry SET lsn = -?1 WHERE lsn = ?1", [lsn as i64]).unwrap();
            log.execute("UPDATE memory_entry SET lsn = ?1 WHERE lsn = ?2", [lsn as i64, other as i64])
                .unwrap();
            log.execute("UPDATE memory_entry SET lsn = ?1 WHERE lsn = -?2", [other as i64, lsn as i64])
                .unwrap();
            (format!("swap {lsn} and {other}"), Some(lsn.min(other)))
        }
        6 => {
            let from = lsn.max(2);
            log.execute("DELETE FROM memory_entry WHERE lsn >= ?1", [from as i64]).unwrap();
            (format!("cut the tail from {from}"), Some(from))
        }
        7 => {
            // The heads go with the tail: only the witness still knows.
            let from = lsn.max(5);
            log.execute("DELETE FROM memory_entry WHERE lsn >= ?1", [from as i64]).unwrap();
            log.execute("DELETE FROM memory_head WHERE size >= ?1", [from as i64]).unwrap();
            (format!("cut the tail and heads from {from}"), None)
        }
        8 => {
            let keys = Connection::open(&scene.keys).unwrap();
            keys.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY").unwrap();
            let named: Vec<i64> = (1..=scene.size as i64).collect();
            let (a, b) = (named[(lsn % 40) as usize + 1], named[(lsn % 40) as usize + 2]);
            let get = |id: i64| -> Vec<u8> {
                keys.query_row("SELECT wrapped FROM data_key WHERE id = ?1", [id], |row| row.get(0)).unwrap()
            };
            let (first, second) = (get(a), get(b));
            keys.execute("UPDATE data_key SET wrapped = ?1 WHERE id = ?2", params![second, a]).unwrap();
            keys.execute("UPDATE data_key SET wrapped = ?1 WHERE id = ?2", params![first, b]).unwrap();
            (format!("swap data keys {a} and {b}"), None)
        }
        9 => {
            let mut signature: Vec<u8> = log
                .query_row(
                    "SELECT signature FROM memory_head ORDER BY size LIMIT 1 OFFSET ?1",
                    [(lsn % 8) as i64],
                    |row| row.get(0),
                )
                .unwrap();
            let size: i64 = log
                .query_row(
                    "SELECT size FROM memory_head ORDER BY size LIMIT 1 OFFSET ?1",
                    [(lsn % 8) as i64],
                    |row| row.get(0),
                )
                .unwrap();
            flip(&mut signature, dice);
            log.execute("UPDATE memory_head SET signature = ?1 WHERE size = ?2", params![signature, size])
                .unwrap();
            (format!("flip the signature of head {size}"), Some(size.unsigned_abs()))
        }
        10 => {
            // A forger who also recomputes the stored hash: only the signed heads speak against it.
            let mut body = blob("body", lsn).unwrap();
            flip(&mut body, dice);
            let leaf = tabellion_core::log::leaf_hash(&body);
            log.execute(
                "UPDATE memory_entry SET body = ?1, leaf = ?2 WHERE lsn = ?3",
                params![body, leaf, lsn as i64],
            )
            .unwrap();
            (format!("forge {lsn} with its hash"), None)
        }
        _ => {
            drop(log);
            raw_flip(scene, dice)
        }
    }
}

/// Flips a bit in the file itself, inside the bytes of an entry.
fn raw_flip(scene: &Scene, dice: &mut Dice) -> (String, Option<u64>) {
    let lsn = dice.roll(scene.size) + 1;
    let body: Vec<u8> = Connection::open(&scene.log)
        .unwrap()
        .query_row("SELECT body FROM memory_entry WHERE lsn = ?1", [lsn as i64], |row| row.get(0))
        .unwrap();
    let mut file = std::fs::read(&scene.log).unwrap();
    // A page that was split keeps dead copies of rows behind: every copy gets the same flip, the live one among them.
    let places: Vec<usize> = file
        .windows(body.len())
        .enumerate()
        .filter(|(_, window)| *window == body)
        .map(|(at, _)| at)
        .collect();
    let (offset, bit) = (dice.roll(body.len() as u64) as usize, dice.roll(8));
    assert!(!places.is_empty());
    places.iter().for_each(|place| file[place + offset] ^= 1 << bit);
    write_raw(&scene.log, &file);
    (format!("flip a bit of {lsn} in the file"), Some(lsn))
}

fn write_raw(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

/// Tampers so many times with a log of its own; every time something is found, and the entry where one can be named.
fn campaign(seed: u64, trials: u64) {
    let scene = scene(seed);
    assert_eq!(scene.faults(), [], "the untouched log is good");
    let mut dice = Dice(seed);
    let mut named = 0;
    for trial in 0..trials {
        let (what, expected) = tamper(&scene, trial % 12, &mut dice);
        let faults = scene.faults();
        assert!(!faults.is_empty(), "missed: {what}");
        if let Some(lsn) = expected {
            assert!(faults.iter().any(|(at, _)| *at == Some(lsn)), "{what}: named {faults:?}");
            named += 1;
        }
        scene.restore();
    }
    println!("{trials} tamperings, none missed; {named} named to the entry");
}

/// GOV-4.5, GOV-5.4: one flipped byte, a deleted, inserted or reordered entry, a cut tail, a swapped key: `verify` says which
/// entry. 10,000 times in four campaigns side by side, none missed.
#[test]
fn no_tampering_is_missed_1() {
    campaign(41, 2_500);
}

/// GOV-5.4: the second quarter.
#[test]
fn no_tampering_is_missed_2() {
    campaign(42, 2_500);
}

/// GOV-5.4: the third quarter.
#[test]
fn no_tampering_is_missed_3() {
    campaign(43, 2_500);
}

/// GOV-5.4: the last quarter.
#[test]
fn no_tampering_is_missed_4() {
    campaign(44, 2_500);
}

/// A signing key that is not the log's: the first entry is named.
#[test]
fn a_swapped_signing_key_is_found() {
    let (scene, other) = (scene(1), scene(2));
    let read = |path: &Path| -> Vec<u8> {
        Connection::open(path)
            .unwrap()
            .query_row("SELECT wrapped FROM secret WHERE name = 'signing'", [], |row| row.get(0))
            .unwrap()
    };
    let foreign = read(&other.keys);
    Connection::open(&scene.keys)
        .unwrap()
        .execute("UPDATE secret SET wrapped = ?1 WHERE name = 'signing'", [foreign])
        .unwrap();
    assert!(!scene.faults().is_empty());
}
