/* A disk that is full, or may only be read, from the n-th call that would change it.
 *
 * Loaded with LD_PRELOAD. Calls on what lies below a folder are counted; from the one of the given number they fail with the
 * given error until there is room again. A full disk still removes and shortens; one that may only be read does not.
 * The folder and the number come from FULL_ROOT, FULL_FROM and FULL_ERROR, or from disk_fails. Writes of C's own streams
 * and of mapped pages are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static long from_call = 0;
static int fault = ENOSPC;
static atomic_long calls = 0;

long disk_fails(const char *folder, long from, int error) {
    snprintf(root, sizeof root, "%s", folder);
    from_call = from;
    fault = error;
    return atomic_exchange(&calls, 0);
}

__attribute__((constructor)) static void read_environment(void) {
    const char *folder = getenv("FULL_ROOT"), *from = getenv("FULL_FROM"), *error = getenv("FULL_ERROR");
    if (folder && from) disk_fails(folder, atol(from), error ? atoi(error) : ENOSPC);
}

static int below(const char *path) {
    return root[0] && strncmp(path, root, strlen(root)) == 0;
}

static int fails(void) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (!from_call || number < from_call) return 0;
    errno = fault;
    return 1;
}

static int path_fails(int folder, const char *path) {
    char place[PATH_MAX], link[64];
    if (!root[0]) return 0;
    if (path[0] == '/') return below(path) && fails();
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, place, sizeof place - 1);
    if (length <= 0) return 0;
    place[length] = 0;
    return below(place) && fails();
}

static int file_fails(int fd) {
    char link[64], path[PATH_MAX];
    if (!root[0]) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path) && fails();
}

#define PLAIN(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static int open_fails(int folder, const char *path, int flags) {
    if (!root[0] || (flags & O_ACCMODE) == O_RDONLY) return 0;
    int is_there = faccessat(folder, path, F_OK, 0) == 0;
    if (is_there && fault == ENOSPC) return 0;
    if (!is_there && !(flags & O_CREAT)) return 0;
    return path_fails(folder, path);
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) {
    MODE
    return open_fails(AT_FDCWD, path, flags) ? -1 : PLAIN(int, "open", const char *, int, mode_t)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE
    return open_fails(AT_FDCWD, path, flags) ? -1 : PLAIN(int, "open64", const char *, int, mode_t)(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE
    return open_fails(folder, path, flags) ? -1 : PLAIN(int, "openat", int, const char *, int, mode_t)(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE
    return open_fails(folder, path, flags) ? -1 : PLAIN(int, "openat64", int, const char *, int, mode_t)(folder, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
    return file_fails(fd) ? -1 : PLAIN(ssize_t, "write", int, const void *, size_t)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return file_fails(fd) ? -1 : PLAIN(ssize_t, "pwrite", int, const void *, size_t, off_t)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return file_fails(fd) ? -1 : PLAIN(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(fd, data, size, at);
}
ssize_t writev(int fd, const struct iovec *parts, int number) {
    return file_fails(fd) ? -1 : PLAIN(ssize_t, "writev", int, const struct iovec *, int)(fd, parts, number);
}
int fsync(int fd) { return file_fails(fd) ? -1 : PLAIN(int, "fsync", int)(fd); }
int fdatasync(int fd) { return file_fails(fd) ? -1 : PLAIN(int, "fdatasync", int)(fd); }
int posix_fallocate(int fd, off_t at, off_t size) {
    return file_fails(fd) ? fault : PLAIN(int, "posix_fallocate", int, off_t, off_t)(fd, at, size);
}
int fallocate(int fd, int how, off_t at, off_t size) {
    return file_fails(fd) ? -1 : PLAIN(int, "fallocate", int, int, off_t, off_t)(fd, how, at, size);
}

int mkdir(const char *path, mode_t mode) {
    return path_fails(AT_FDCWD, path) ? -1 : PLAIN(int, "mkdir", const char *, mode_t)(path, mode);
}
int rename(const char *old, const char *new) {
    return path_fails(AT_FDCWD, new) ? -1 : PLAIN(int, "rename", const char *, const char *)(old, new);
}
int link(const char *old, const char *new) {
    return path_fails(AT_FDCWD, new) ? -1 : PLAIN(int, "link", const char *, const char *)(old, new);
}
int symlink(const char *old, const char *new) {
    return path_fails(AT_FDCWD, new) ? -1 : PLAIN(int, "symlink", const char *, const char *)(old, new);
}
int unlink(const char *path) {
    return fault == EROFS && path_fails(AT_FDCWD, path) ? -1 : PLAIN(int, "unlink", const char *)(path);
}
int unlinkat(int folder, const char *path, int flags) {
    return fault == EROFS && path_fails(folder, path) ? -1 : PLAIN(int, "unlinkat", int, const char *, int)(folder, path, flags);
}
int rmdir(const char *path) {
    return fault == EROFS && path_fails(AT_FDCWD, path) ? -1 : PLAIN(int, "rmdir", const char *)(path);
}
int ftruncate64(int fd, off64_t size) {
    return fault == EROFS && file_fails(fd) ? -1 : PLAIN(int, "ftruncate64", int, off64_t)(fd, size);
}
