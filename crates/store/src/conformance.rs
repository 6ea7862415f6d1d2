//! One suite that every store passes. A new engine calls `all` with a maker of empty stores.

use crate::{Append, Record, Store, StoreError, subtree};
use tabellion_core::canonical::Hash;
use tabellion_core::log::{Frontier, Head, LogName, Lsn, SignedHead, Tile, leaf_hash};
use tabellion_core::time::Timestamp;

/// `count` made-up entries from `first` on, for tests of stores.
#[must_use]
pub fn append_of(log: LogName, first: u64, count: u64) -> Append {
    let records: Vec<Record> = (first..first + count)
        .map(|lsn| {
            let body = format!("{} {lsn}", log.as_str()).into_bytes();
            let sealed = (lsn % 3 != 0).then(|| vec![lsn.to_be_bytes()[7]; 40]);
            Record { lsn: Lsn::new(lsn), leaf: leaf_hash(&body), body, sealed }
        })
        .collect();
    let size = first + count - 1;
    let head = Head { size, time: Timestamp::from_micros(size), root: [size.to_be_bytes()[7]; 32] };
    Append { log, records, tiles: Vec::new(), head: SignedHead { head, signature: [7; 64] } }
}

/// Runs the whole suite.
///
/// # Panics
/// When the store breaks its contract.
pub fn all(make: &mut dyn FnMut() -> Box<dyn Store>) {
    an_empty_store_is_empty(&*make());
    what_is_appended_is_read_back(&*make());
    an_append_that_does_not_follow_changes_nothing(&*make());
    both_logs_or_neither(&*make());
    heads_come_in_order(&*make());
    tiles_and_leaves_give_the_same_subtree(&*make());
    readers_run_beside_the_writer(&*make());
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn an_empty_store_is_empty(store: &dyn Store) {
    for log in LogName::ALL {
        assert_eq!(store.size(log).unwrap(), 0);
        assert_eq!(store.records(log, Lsn::new(1), 10).unwrap(), []);
        assert_eq!(store.record(log, Lsn::ZERO).unwrap(), None);
        assert_eq!(store.latest_head(log).unwrap(), None);
        assert_eq!(store.tile(log, 8, 0).unwrap(), None);
    }
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn what_is_appended_is_read_back(store: &dyn Store) {
    let first = append_of(LogName::Memory, 1, 5);
    let second = append_of(LogName::Memory, 6, 2);
    store.append(std::slice::from_ref(&first)).unwrap();
    store.append(std::slice::from_ref(&second)).unwrap();
    let all: Vec<Record> = first.records.iter().chain(&second.records).cloned().collect();
    assert_eq!(store.records(LogName::Memory, Lsn::new(1), 100).unwrap(), all);
    assert_eq!(store.records(LogName::Memory, Lsn::new(4), 2).unwrap().as_slice(), all.get(3..5).unwrap());
    assert_eq!(store.record(LogName::Memory, Lsn::new(7)).unwrap().as_ref(), all.last());
    assert_eq!(store.record(LogName::Memory, Lsn::new(8)).unwrap(), None);
    assert_eq!(store.size(LogName::Audit).unwrap(), 0);
    let leaves: Vec<Hash> = all.iter().skip(1).take(3).map(|record| record.leaf).collect();
    assert_eq!(store.leaves(LogName::Memory, Lsn::new(2), Lsn::new(4)).unwrap(), leaves);
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn an_append_that_does_not_follow_changes_nothing(store: &dyn Store) {
    store.append(&[append_of(LogName::Memory, 1, 3)]).unwrap();
    for first in [1, 3, 5] {
        let refused = store.append(&[append_of(LogName::Memory, first, 2)]);
        assert_eq!(refused, Err(StoreError::Behind { log: LogName::Memory, size: 3 }), "from {first}");
    }
    assert_eq!(store.size(LogName::Memory).unwrap(), 3);
    assert_eq!(store.latest_head(LogName::Memory).unwrap().unwrap().head.size, 3);
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn both_logs_or_neither(store: &dyn Store) {
    let refused = store.append(&[append_of(LogName::Memory, 1, 3), append_of(LogName::Audit, 2, 1)]);
    assert!(refused.is_err());
    assert_eq!((store.size(LogName::Memory).unwrap(), store.size(LogName::Audit).unwrap()), (0, 0));
    store.append(&[append_of(LogName::Memory, 1, 3), append_of(LogName::Audit, 1, 1)]).unwrap();
    assert_eq!((store.size(LogName::Memory).unwrap(), store.size(LogName::Audit).unwrap()), (3, 1));
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn heads_come_in_order(store: &dyn Store) {
    for first in [1, 3, 5, 7] {
        store.append(&[append_of(LogName::Audit, first, 2)]).unwrap();
    }
    let sizes: Vec<u64> =
        store.heads(LogName::Audit, 2, 2).unwrap().iter().map(|signed| signed.head.size).collect();
    assert_eq!(sizes, [4, 6]);
    assert_eq!(store.latest_head(LogName::Audit).unwrap().unwrap(), append_of(LogName::Audit, 7, 2).head);
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn tiles_and_leaves_give_the_same_subtree(store: &dyn Store) {
    let mut append = append_of(LogName::Memory, 1, 1024);
    let mut frontier = Frontier::default();
    append.records.iter().for_each(|record| frontier.append(record.leaf, &mut append.tiles));
    let tiles: Vec<Tile> = append.tiles.clone();
    store.append(&[append]).unwrap();
    assert_eq!(tiles.len(), 4);
    for tile in tiles {
        assert_eq!(store.tile(LogName::Memory, tile.level, tile.index).unwrap(), Some(tile.hash));
    }
    assert_eq!(subtree(store, LogName::Memory, 0, 1024).unwrap(), frontier.root());
    let mut naive = Frontier::default();
    let leaves = store.leaves(LogName::Memory, Lsn::new(513), Lsn::new(640)).unwrap();
    leaves.into_iter().for_each(|leaf| naive.append(leaf, &mut Vec::new()));
    assert_eq!(subtree(store, LogName::Memory, 512, 640).unwrap(), naive.root());
}

#[expect(clippy::unwrap_used, reason = "a test suite: a failure is a panic")]
fn readers_run_beside_the_writer(store: &dyn Store) {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut seen = 0;
                while seen < 200 {
                    let size = store.size(LogName::Memory).unwrap();
                    assert!(size >= seen, "a log never shrinks");
                    let read = store.records(LogName::Memory, Lsn::new(1), 1000).unwrap();
                    assert!(read.len() as u64 >= size, "what was counted can be read");
                    seen = size;
                }
            });
        }
        for first in (1..200).step_by(4) {
            store.append(&[append_of(LogName::Memory, first, 4)]).unwrap();
        }
    });
}
