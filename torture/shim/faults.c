// Faults for one data folder, preloaded into the processes of the torture suite (Linux, glibc).
//
// The suite and all of its processes map one control file of 64-bit integers (`src/faults.rs` has the same layout). What the
// suite writes there holds from the next call on, in processes that run already too. Only files whose path contains
// `.graphloom` are touched.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 512, RULES = 8, FIRST_RULE = 16, RULE_SLOTS = 8 };
enum { CLOCK_OFFSET_NS = 1, SPACE_LEFT = 2, SPACE_HITS = 3, LOCK_CHANCE = 4, LOCK_DELAY_US = 5, LOCK_HITS = 6 };
// Fields of a rule.
enum { ARMED, OPERATIONS, FILES, TAG, SKIP, COUNT, ACTION, VALUE };
// Hits of rule i are counted at FIRST_HIT + i.
enum { FIRST_HIT = FIRST_RULE + RULES * RULE_SLOTS };
enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, OPEN = 8, WRITE_LOCK = 16, ANY_LOCK = 32, READ = 64 };
enum { STORE = 1, LOG = 2, SHARED = 4, PROJECTION = 8, OTHER = 16 };
enum { FAIL = 1, KILL = 2, STOP = 3, DELAY = 4, SHORT = 5 };

// Where SQLite locks its shared memory file to be the one writer of a write-ahead log.
enum { WAL_WRITE_LOCK = 120 };

static _Atomic int64_t *control;
static int64_t own_tag;
static unsigned char class_of[65536];

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }
// Looks a function up once.
#define CALL(name, ...) ({ \
    static __typeof__(&name) found; \
    if (!found) found = REAL(name); \
    found(__VA_ARGS__); })

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TORTURE_CONTROL"), *tag = getenv("TORTURE_TAG");
    if (tag) own_tag = atoll(tag);
    if (!path) return;
    int fd = CALL(open, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *at = mmap(NULL, SLOTS * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CALL(close, fd);
    if (at != MAP_FAILED) control = at;
}

static unsigned char classify(const char *path) {
    if (!path || !strstr(path, ".graphloom")) return 0;
    size_t length = strlen(path);
    if (strstr(path, ".projections")) return PROJECTION;
    if (length > 4 && !strcmp(path + length - 4, "-wal")) return LOG;
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return SHARED;
    if (length > 11 && !strcmp(path + length - 10, ".graphloom") && path[length - 11] != '/') return STORE;
    return OTHER;
}

static unsigned char known(int fd) { return fd >= 0 && fd < (int)sizeof class_of ? class_of[fd] : 0; }
static void remember(int fd, unsigned char class) {
    if (fd >= 0 && fd < (int)sizeof class_of) class_of[fd] = class;
}
// The C library closes folders that it lists without `close`, so their numbers must not stay.
static void opened(int fd, const char *path, int flags) {
    remember(fd, flags & O_DIRECTORY ? 0 : classify(path));
}

static void pause_us(int64_t us) {
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

// What the rules do to one call: 0, an error number, or -1 for a short write.
static int fault(int operation, unsigned char class) {
    if (!control || !class) return 0;
    for (int i = 0; i < RULES; i++) {
        _Atomic int64_t *rule = control + FIRST_RULE + i * RULE_SLOTS;
        if (!rule[ARMED] || !(rule[OPERATIONS] & operation) || !(rule[FILES] & class)) continue;
        if (rule[TAG] && rule[TAG] != own_tag) continue;
        if (atomic_fetch_sub(&rule[SKIP], 1) > 0) continue;
        if (atomic_fetch_sub(&rule[COUNT], 1) <= 0) {
            rule[ARMED] = 0;
            continue;
        }
        int64_t action = rule[ACTION], value = rule[VALUE];
        atomic_fetch_add(control + FIRST_HIT + i, 1);
        switch (action) {
        case FAIL: return (int)value;
        case SHORT: return -1;
        case DELAY: pause_us(value); break;
        case KILL: kill(getpid(), SIGKILL); break;
        case STOP: kill(getpid(), SIGSTOP); break;
        }
    }
    return 0;
}

// Whether a write that ends at `end` still fits on the disk; takes the space it needs.
static int fits(int fd, int64_t end) {
    if (!control || control[SPACE_LEFT] < 0) return 1;
    struct stat it;
    if (fstat(fd, &it)) return 1;
    int64_t growth = end - it.st_size;
    if (growth <= 0) return 1;
    // What does not fit leaves the rest to smaller writes. A disk that was freed meanwhile (-1) stays so.
    int64_t now = control[SPACE_LEFT];
    while (now >= growth) {
        if (atomic_compare_exchange_weak(control + SPACE_LEFT, &now, now - growth)) return 1;
    }
    if (now < 0) return 1;
    atomic_fetch_add(control + SPACE_HITS, 1);
    return 0;
}

// What a smaller or removed file gives back to a full disk.
static void give_back(int64_t bytes) {
    if (!control || bytes <= 0) return;
    int64_t now = control[SPACE_LEFT];
    while (now >= 0 && !atomic_compare_exchange_weak(control + SPACE_LEFT, &now, now + bytes)) {}
}
static int is_full(void) { return control && control[SPACE_LEFT] >= 0; }

static int64_t place(int fd) {
    int flags = CALL(fcntl, fd, F_GETFL);
    if (flags >= 0 && flags & O_APPEND) {
        struct stat it;
        return fstat(fd, &it) ? 0 : it.st_size;
    }
    int64_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 ? 0 : at;
}

// The bytes to write now, or -1 with errno set.
static ssize_t allowed(int fd, size_t length, int64_t at) {
    unsigned char class = known(fd);
    if (!class) return length;
    int failed = fault(WRITE, class);
    if (failed > 0) { errno = failed; return -1; }
    if (!fits(fd, (at < 0 ? place(fd) : at) + (int64_t)length)) { errno = ENOSPC; return -1; }
    return failed < 0 && length > 1 ? (ssize_t)(length / 2) : (ssize_t)length;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    ssize_t now = allowed(fd, length, -1);
    return now < 0 ? -1 : CALL(write, fd, bytes, now);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    ssize_t now = allowed(fd, length, at);
    return now < 0 ? -1 : CALL(pwrite, fd, bytes, now, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    ssize_t now = allowed(fd, length, at);
    return now < 0 ? -1 : CALL(pwrite64, fd, bytes, now, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    return allowed(fd, length, -1) < 0 ? -1 : CALL(writev, fd, parts, count);
}

static int refused(int operation, int fd) {
    int failed = fault(operation, known(fd));
    if (failed > 0) errno = failed;
    return failed > 0;
}
ssize_t read(int fd, void *bytes, size_t length) {
    return refused(READ, fd) ? -1 : CALL(read, fd, bytes, length);
}
ssize_t pread(int fd, void *bytes, size_t length, off_t at) {
    return refused(READ, fd) ? -1 : CALL(pread, fd, bytes, length, at);
}
ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) {
    return refused(READ, fd) ? -1 : CALL(pread64, fd, bytes, length, at);
}
ssize_t readv(int fd, const struct iovec *parts, int count) {
    return refused(READ, fd) ? -1 : CALL(readv, fd, parts, count);
}
int fsync(int fd) { return refused(SYNC, fd) ? -1 : CALL(fsync, fd); }
int fdatasync(int fd) { return refused(SYNC, fd) ? -1 : CALL(fdatasync, fd); }
static int64_t size_of(int fd) {
    struct stat it;
    return is_full() && known(fd) && !fstat(fd, &it) ? it.st_size : 0;
}
int ftruncate(int fd, off_t length) {
    if (refused(TRUNCATE, fd)) return -1;
    int64_t size = size_of(fd);
    int result = CALL(ftruncate, fd, length);
    if (!result) give_back(size - length);
    return result;
}
int ftruncate64(int fd, off64_t length) {
    if (refused(TRUNCATE, fd)) return -1;
    int64_t size = size_of(fd);
    int result = CALL(ftruncate64, fd, length);
    if (!result) give_back(size - length);
    return result;
}
int unlinkat(int folder, const char *path, int flags) {
    struct stat it;
    int64_t size = is_full() && classify(path) && !fstatat(folder, path, &it, 0) ? it.st_size : 0;
    int result = CALL(unlinkat, folder, path, flags);
    if (!result) give_back(size);
    return result;
}
int unlink(const char *path) {
    struct stat it;
    int64_t size = is_full() && classify(path) && !stat(path, &it) ? it.st_size : 0;
    int result = CALL(unlink, path);
    if (!result) give_back(size);
    return result;
}

static int opening(const char *path, int flags) {
    if ((flags & O_ACCMODE) == O_RDONLY) return 0;
    int failed = fault(OPEN, classify(path));
    if (failed > 0) errno = failed;
    return failed > 0;
}
#define MODE(flags) \
    int mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, int); \
        va_end(rest); \
    }
int open(const char *path, int flags, ...) {
    MODE(flags);
    if (opening(path, flags)) return -1;
    int fd = CALL(open, path, flags, mode);
    opened(fd, path, flags);
    return fd;
}
int open64(const char *path, int flags, ...) {
    MODE(flags);
    if (opening(path, flags)) return -1;
    int fd = CALL(open64, path, flags, mode);
    opened(fd, path, flags);
    return fd;
}
int openat(int folder, const char *path, int flags, ...) {
    MODE(flags);
    if (opening(path, flags)) return -1;
    int fd = CALL(openat, folder, path, flags, mode);
    opened(fd, path, flags);
    return fd;
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags);
    if (opening(path, flags)) return -1;
    int fd = CALL(openat64, folder, path, flags, mode);
    opened(fd, path, flags);
    return fd;
}
int close(int fd) {
    remember(fd, 0);
    return CALL(close, fd);
}

static void before_lock(int fd, int command, void *argument) {
    if (!control || !known(fd) || (command != F_SETLK && command != F_SETLKW)) return;
    struct flock *lock = argument;
    if (lock->l_type == F_UNLCK) return;
    int writes = known(fd) == SHARED && lock->l_type == F_WRLCK && lock->l_start == WAL_WRITE_LOCK;
    fault(ANY_LOCK, known(fd));
    if (!writes) return;
    fault(WRITE_LOCK, known(fd));
    // A number that differs between processes and calls is all that is wanted here.
    static _Atomic uint64_t calls;
    uint64_t mixed = (atomic_fetch_add(&calls, 1) + 1) * 0x9e3779b97f4a7c15u + (uint64_t)getpid() * 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 29;
    int64_t chance = control[LOCK_CHANCE], delay = control[LOCK_DELAY_US];
    if (chance > 0 && delay > 0 && (int64_t)(mixed % 1000) < chance) {
        atomic_fetch_add(control + LOCK_HITS, 1);
        pause_us((int64_t)(mixed / 1000 % (uint64_t)delay));
    }
}
int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    before_lock(fd, command, argument);
    int result = CALL(fcntl, fd, command, argument);
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) remember(result, known(fd));
    return result;
}
int fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    before_lock(fd, command, argument);
    int result = CALL(fcntl64, fd, command, argument);
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) remember(result, known(fd));
    return result;
}

static void shift(struct timespec *at) {
    int64_t offset = control ? control[CLOCK_OFFSET_NS] : 0;
    if (!offset) return;
    int64_t ns = at->tv_nsec + offset % 1000000000;
    at->tv_sec += offset / 1000000000;
    if (ns < 0) { ns += 1000000000; at->tv_sec--; }
    if (ns >= 1000000000) { ns -= 1000000000; at->tv_sec++; }
    at->tv_nsec = ns;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = CALL(clock_gettime, clock, at);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(at);
    return result;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    int result = CALL(gettimeofday, at, zone);
    if (result) return result;
    struct timespec shifted = {at->tv_sec, at->tv_usec * 1000};
    shift(&shifted);
    at->tv_sec = shifted.tv_sec;
    at->tv_usec = shifted.tv_nsec / 1000;
    return 0;
}
