"""What a power cut leaves of a directory: builds the layer in powercut.c and takes back what was never flushed.

    layer = PowerCut(directory, journal)
    start a process with `layer.env()`, kill it
    layer.cut()         nothing that was not flushed is left, or
    layer.cut(rng)      a random part of it is: disks reorder writes, and tear them at sector bounds
"""

import os
import struct
import subprocess
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).with_name("powercut.c")
LIBRARY = SOURCE.parents[2] / "target" / "powercut" / "powercut.so"
RECORD = struct.Struct("=IIQQQQ")
WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, FORGET = 1, 2, 3, 4, 5
SECTOR = 512


def build():
    """The shared library, compiled if it is missing or older than its source."""
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        made = LIBRARY.with_suffix(f".{os.getpid()}")
        command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
        made.rename(LIBRARY)
    return LIBRARY


class PowerCut:
    """The layer over one directory, with the journal that stands in for its disk."""

    def __init__(self, directory, journal, ignore_fsync=False, fsync_us=2000):
        self.directory, self.journal = Path(directory), Path(journal)
        self.ignore_fsync, self.fsync_us = ignore_fsync, fsync_us
        self.directory.mkdir(parents=True, exist_ok=True)

    def env(self):
        """The environment of a process under the layer."""
        settings = {
            "LD_PRELOAD": str(build()),
            "POWERCUT_DIR": str(self.directory),
            "POWERCUT_JOURNAL": str(self.journal),
            "POWERCUT_FSYNC_US": str(self.fsync_us),
        }
        return {**settings, "POWERCUT_IGNORE_FSYNC": "1"} if self.ignore_fsync else settings

    def cut(self, rng=None):
        """Cuts the power after the process was killed. Counts what was seen, lost and kept of the unflushed."""
        seen = Counter()
        pending = unflushed(read_journal(self.journal), seen)
        paths = {path.stat().st_ino: path for path in self.directory.rglob("*") if path.is_file()}
        for inode, records in pending.items():
            if inode in paths:
                with open(paths[inode], "r+b", buffering=0) as file:
                    seen.update(take_back(file, records, rng))
        for shared_memory in self.directory.rglob("*-shm"):
            shared_memory.unlink()
        self.journal.write_bytes(b"")
        return seen


class Record:
    def __init__(self, fields, old):
        self.kind, _, self.inode, self.offset, self.span, self.old_size = fields
        self.old = old


def read_journal(path):
    """The records, in the order in which the changes were made. One cut off by the kill has changed nothing yet."""
    data = path.read_bytes() if path.exists() else b""
    at = 0
    while at + RECORD.size <= len(data):
        fields = RECORD.unpack_from(data, at)
        old = data[at + RECORD.size : at + RECORD.size + fields[1]]
        if len(old) < fields[1]:
            return
        yield Record(fields, old)
        at += RECORD.size + fields[1]


def unflushed(records, seen):
    """For each inode the changes that no finished flush covers. A flush covers what came before it began."""
    pending, begun = {}, {}
    for index, record in enumerate(records):
        if record.kind in (WRITE, TRUNCATE):
            pending.setdefault(record.inode, []).append((index, record))
            seen["changes"] += 1
        elif record.kind == SYNC_BEGIN:
            begun[record.offset] = index
        elif record.kind == SYNC_END:
            began = begun.pop(record.offset)
            pending[record.inode] = [change for change in pending.get(record.inode, []) if change[0] > began]
            seen["flushes"] += 1
        else:
            pending.pop(record.inode, None)
    return {inode: [record for _, record in changes] for inode, changes in pending.items()}


def take_back(file, records, rng):
    """Undoes all changes to one file, newest first; then, with `rng`, makes some of them again, oldest first."""
    again = []
    for record in reversed(records):
        if record.kind == WRITE:
            file.seek(record.offset)
            again.append((record.offset, file.read(record.span)))
            file.truncate(record.old_size)
        else:
            again.append((record.offset, None))
            file.truncate(record.old_size)
        file.seek(record.offset)
        file.write(record.old)
    kept = 0
    for offset, data in reversed(again) if rng else ():
        chance = rng.random()
        if chance < 0.45:
            continue
        kept += 1
        if data is None:
            file.truncate(offset)
            continue
        if chance < 0.55:  # torn: a run of sectors from the front or from the back
            middle = min(len(data), SECTOR * rng.randint(0, len(data) // SECTOR + 1))
            offset, data = (offset, data[:middle]) if rng.random() < 0.5 else (offset + middle, data[middle:])
        file.seek(offset)
        file.write(data)
    return {"lost": len(records) - kept, "kept": kept}
