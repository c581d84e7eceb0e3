/* A disk that a power cut has hit: of every file below POWER_ROOT, POWER_DISK holds what was synced, and no more.
 *
 * Loaded with LD_PRELOAD. A file's content, and its place, reach the disk by fsync or fdatasync of the file; a
 * rename by fsync of its folder. What a program wrote and did not sync stays in the page cache, which power takes.
 * Removals count at once. Mapped writes are left out: nothing that is tested rests on them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 4096
static char renamed[MOST][2][PATH_MAX];
static int waiting = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int on_disk(const char *path, char *place) {
    const char *root = getenv("POWER_ROOT"), *disk = getenv("POWER_DISK");
    if (!root || !disk || strncmp(path, root, strlen(root)) != 0) return 0;
    return snprintf(place, PATH_MAX, "%s%s", disk, path + strlen(root)) < PATH_MAX;
}

static void make_folders(const char *place) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", place);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(part, 0700);
        *at = '/';
    }
}

static void keep_file(const char *path, const char *place) {
    char block[1 << 16];
    int from = open(path, O_RDONLY);
    if (from < 0) return;
    make_folders(place);
    int to = open(place, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t count; to >= 0 && (count = read(from, block, sizeof block)) > 0;)
        if (write(to, block, count) != count) break;
    close(to);
    close(from);
}

static void keep_renames(const char *folder) {
    char old[PATH_MAX], new[PATH_MAX];
    int left = 0;
    for (int k = 0; k < waiting; k++) {
        const char *end = strrchr(renamed[k][1], '/');
        if (end && (size_t)(end - renamed[k][1]) == strlen(folder) &&
            strncmp(renamed[k][1], folder, strlen(folder)) == 0) {
            int (*plain)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
            if (on_disk(renamed[k][0], old) && on_disk(renamed[k][1], new)) plain(old, new);
        } else {
            memmove(renamed[left++], renamed[k], sizeof renamed[k]);
        }
    }
    waiting = left;
}

static void keep(int fd) {
    char link[64], path[PATH_MAX], place[PATH_MAX];
    struct stat about;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && fstat(fd, &about) == 0) {
        path[length] = 0;
        pthread_mutex_lock(&lock);
        if (on_disk(path, place)) {
            if (S_ISREG(about.st_mode)) keep_file(path, place);
            if (S_ISDIR(about.st_mode)) keep_renames(path);
        }
        pthread_mutex_unlock(&lock);
    }
    errno = before;
}

int fsync(int fd) {
    int (*plain)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int done = plain(fd);
    if (done == 0) keep(fd);
    return done;
}

int fdatasync(int fd) {
    int (*plain)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int done = plain(fd);
    if (done == 0) keep(fd);
    return done;
}

int rename(const char *old, const char *new) {
    int (*plain)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    int done = plain(old, new);
    char place[PATH_MAX];
    if (done == 0 && on_disk(old, place) && waiting < MOST) {
        pthread_mutex_lock(&lock);
        snprintf(renamed[waiting][0], PATH_MAX, "%s", old);
        snprintf(renamed[waiting][1], PATH_MAX, "%s", new);
        waiting++;
        pthread_mutex_unlock(&lock);
    }
    return done;
}

int unlink(const char *path) {
    int (*plain)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    int done = plain(path);
    char place[PATH_MAX];
    if (done == 0 && on_disk(path, place)) plain(place);
    return done;
}
