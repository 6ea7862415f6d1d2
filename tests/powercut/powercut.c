/* A power cut for one directory, as an LD_PRELOAD layer for Linux with glibc.
 *
 * A killed process loses nothing that it wrote: the page cache survives it. A power cut loses what was not flushed. This
 * layer writes down, before each change to a file below $POWERCUT_DIR, what the change destroys, and each flush. After
 * the process was killed, powercut.py takes back the changes that no flush made durable.
 *
 * The journal, $POWERCUT_JOURNAL, must lie outside the directory. Each record goes out with one write() to a file opened
 * O_APPEND, before the change it describes: a kill between the two leaves a record whose undoing does nothing.
 *
 *   POWERCUT_IGNORE_FSYNC=1    no flush counts: the server as it would be with its fsync taken out
 *   POWERCUT_FSYNC_US=1000     how long a flush takes, in microseconds; nothing is really flushed, the journal is the disk
 *
 * What it takes for granted: creating, renaming and removing a name is durable at once, as on a journalling file system;
 * the *content* of a renamed file is not. A file is known by its inode, so its history follows a rename. Files ending in
 * `-shm` are left out: SQLite maps them, and makes them anew after a crash. Writes through other mappings, fallocate,
 * copy_file_range and O_SYNC are not seen; neither SQLite's log nor the server's own files use them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE = 2, SYNC_BEGIN = 3, SYNC_END = 4, FORGET = 5 };

struct record { /* followed by `length` old bytes: those at `offset` for WRITE, those from the new size on for TRUNCATE */
    uint32_t kind, length;
    uint64_t inode, offset, span, old_size; /* span: bytes written, maybe beyond the old end; a flush's ticket is its offset */
};

static struct {
    int (*open)(const char *, int, ...), (*openat)(int, const char *, int, ...);
    ssize_t (*write)(int, const void *, size_t), (*pwrite)(int, const void *, size_t, off_t);
    ssize_t (*writev)(int, const struct iovec *, int), (*pwritev)(int, const struct iovec *, int, off_t);
    int (*ftruncate)(int, off_t), (*fsync)(int), (*fdatasync)(int);
    int (*unlink)(const char *), (*unlinkat)(int, const char *, int), (*rename)(const char *, const char *);
} real;

static char directory[PATH_MAX];
static int journal = -1, ignore_fsync;
static useconds_t fsync_us;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER; /* the journal's order is the order of the changes */

static void die(const char *why) {
    dprintf(2, "powercut: %s\n", why);
    _exit(70);
}

static void set_up(void) {
#define REAL(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)
    REAL(open); REAL(openat); REAL(write); REAL(pwrite); REAL(writev); REAL(pwritev); REAL(ftruncate);
    REAL(fsync); REAL(fdatasync); REAL(unlink); REAL(unlinkat); REAL(rename);
    const char *below = getenv("POWERCUT_DIR"), *path = getenv("POWERCUT_JOURNAL"), *us = getenv("POWERCUT_FSYNC_US");
    if (!below || !path) return;
    if (!realpath(below, directory)) die("POWERCUT_DIR does not exist");
    strncat(directory, "/", sizeof directory - strlen(directory) - 1);
    journal = real.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0) die("cannot open POWERCUT_JOURNAL");
    ignore_fsync = getenv("POWERCUT_IGNORE_FSYNC") != NULL;
    fsync_us = us ? (useconds_t)atoi(us) : 0;
}

/* Whether a descriptor is a file of ours. Asked anew each time: no table that a dup or a missed close could falsify. */
static int ours(int fd, struct stat *st) {
    char link[64], path[PATH_MAX];
    pthread_once(&once, set_up);
    int saved = errno;
    if (journal < 0 || fd == journal || fstat(fd, st) || !S_ISREG(st->st_mode)) return errno = saved, 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    path[length < 0 ? 0 : length] = 0;
    return !strncmp(path, directory, strlen(directory)) && !strstr(path, "-shm");
}

static void append(uint32_t kind, uint64_t inode, off_t offset, uint64_t span, off_t size, void *old, size_t length) {
    struct record head = {kind, (uint32_t)length, inode, (uint64_t)offset, span, (uint64_t)size};
    struct iovec parts[2] = {{&head, sizeof head}, {old, length}};
    if (real.writev(journal, parts, 2) != (ssize_t)(sizeof head + length)) die("cannot write the journal");
}

/* Records the old bytes in [offset, offset + span). The caller holds `order`. The descriptor may be write-only. */
static void remember(uint32_t kind, int fd, const struct stat *st, off_t offset, size_t span) {
    size_t length = offset >= st->st_size ? 0 : (size_t)(st->st_size - offset);
    if (length > span) length = span;
    char link[64], *old = malloc(length + 1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int readable = real.open(link, O_RDONLY | O_CLOEXEC);
    if (!old || readable < 0 || pread(readable, old, length, offset) != (ssize_t)length) die("cannot read old bytes");
    close(readable);
    append(kind, st->st_ino, offset, span, st->st_size, old, length);
    free(old);
}

/* Runs `change` on a file of ours after its undo record, on any other file at once. */
#define RECORDED(fd, kind, offset, span, change)                    \
    do {                                                            \
        struct stat st;                                             \
        if (!ours(fd, &st)) return change;                          \
        pthread_mutex_lock(&order);                                 \
        fstat(fd, &st);                                             \
        remember(kind, fd, &st, offset, span);                      \
        __typeof__(change) result = change;                         \
        int saved = errno;                                          \
        pthread_mutex_unlock(&order);                               \
        errno = saved;                                              \
        return result;                                              \
    } while (0)

static off_t position(int fd) {
    struct stat st;
    if (fcntl(fd, F_GETFL) & O_APPEND) return fstat(fd, &st) ? 0 : st.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

static size_t total(const struct iovec *parts, int count) {
    size_t sum = 0;
    for (int i = 0; i < count; i++) sum += parts[i].iov_len;
    return sum;
}

ssize_t write(int fd, const void *data, size_t n) { RECORDED(fd, WRITE, position(fd), n, real.write(fd, data, n)); }

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    RECORDED(fd, WRITE, at, n, real.pwrite(fd, data, n, at));
}

ssize_t writev(int fd, const struct iovec *v, int n) {
    RECORDED(fd, WRITE, position(fd), total(v, n), real.writev(fd, v, n));
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) {
    RECORDED(fd, WRITE, at, total(v, n), real.pwritev(fd, v, n, at));
}

int ftruncate(int fd, off_t size) { RECORDED(fd, TRUNCATE, size, SIZE_MAX, real.ftruncate(fd, size)); }

/* A flush of a file of ours is two records: once the second is there, the changes before the first are durable. */
static int flush(int fd, int (*fallback)(int)) {
    static off_t tickets;
    struct stat st;
    if (!ours(fd, &st)) return fallback(fd);
    if (ignore_fsync) return 0;
    pthread_mutex_lock(&order);
    off_t ticket = ++tickets;
    append(SYNC_BEGIN, st.st_ino, ticket, 0, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    if (fsync_us) usleep(fsync_us);
    append(SYNC_END, st.st_ino, ticket, 0, 0, NULL, 0);
    return 0;
}

int fsync(int fd) { pthread_once(&once, set_up); return flush(fd, real.fsync); }
int fdatasync(int fd) { pthread_once(&once, set_up); return flush(fd, real.fdatasync); }
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) { (void)fd, (void)at, (void)n, (void)flags; return 0; }

/* Opening with O_TRUNC empties a file: the only change that needs no descriptor yet. */
static void before_truncating_open(int at, const char *path, int flags) {
    struct stat st;
    pthread_once(&once, set_up);
    if (!(flags & O_TRUNC) || journal < 0) return;
    int saved = errno, fd = real.openat(at, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && ours(fd, &st)) {
        pthread_mutex_lock(&order);
        fstat(fd, &st);
        remember(TRUNCATE, fd, &st, 0, SIZE_MAX);
        pthread_mutex_unlock(&order);
    }
    if (fd >= 0) close(fd);
    errno = saved;
}

#define MODE(flags, mode)                                 \
    mode_t mode = 0;                                      \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list rest;                                     \
        va_start(rest, flags);                            \
        mode = va_arg(rest, mode_t);                      \
        va_end(rest);                                     \
    }

int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    before_truncating_open(AT_FDCWD, path, flags);
    return real.open(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
    MODE(flags, mode)
    before_truncating_open(at, path, flags);
    return real.openat(at, path, flags, mode);
}

int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* The inode that a name leads to and that goes with it, 0 if none of ours. */
static uint64_t last_name(int at, const char *path) {
    struct stat st;
    pthread_once(&once, set_up);
    int saved = errno, fd = journal < 0 ? -1 : real.openat(at, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint64_t inode = fd >= 0 && ours(fd, &st) && st.st_nlink == 1 ? st.st_ino : 0;
    if (fd >= 0) close(fd);
    errno = saved;
    return inode;
}

/* An inode whose last name went may come back as another file, so its history ends here. */
static int forget(uint64_t inode, int result) {
    if (result || !inode) return result;
    pthread_mutex_lock(&order);
    append(FORGET, inode, 0, 0, 0, NULL, 0);
    pthread_mutex_unlock(&order);
    return 0;
}

int unlink(const char *path) {
    uint64_t inode = last_name(AT_FDCWD, path);
    return forget(inode, real.unlink(path));
}

int unlinkat(int at, const char *path, int flags) {
    uint64_t inode = flags & AT_REMOVEDIR ? 0 : last_name(at, path);
    pthread_once(&once, set_up);
    return forget(inode, real.unlinkat(at, path, flags));
}

int rename(const char *from, const char *to) {
    uint64_t inode = last_name(AT_FDCWD, to);
    return forget(inode, real.rename(from, to));
}

/* On 64-bit Linux the large-file names are the same functions. */
int open64(const char *, int, ...) __attribute__((alias("open")));
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
int creat64(const char *, mode_t) __attribute__((alias("creat")));
ssize_t pwrite64(int, const void *, size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const struct iovec *, int, off64_t) __attribute__((alias("pwritev")));
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));
