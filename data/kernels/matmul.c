/* C = A B in single precision, blocked: a kernel to tune on any machine with a C compiler.
 *
 * Set at compile time: TILE_M, TILE_N, TILE_K (sizes of the blocks), ROWS (rows of C updated together; divides
 * TILE_M) and PACK (copy the block of B so that it is contiguous). Run: matmul M N K THREADS REPEATS.
 *
 * Prints one line of JSON: time_s is the mean over the repeats of the longest CPU time of a thread, so that it
 * means the same on a machine that others use too; wall_s is what a clock on the wall shows; max_error is the
 * largest deviation of 64 elements from double precision, over the largest magnitude of C.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if TILE_M % ROWS
#error "ROWS must divide TILE_M"
#endif
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

typedef struct {
    const float *a, *b;
    float *c;
    long first, last, n, k;
    double cpu_s;
} Part;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void block(const Part *p, const float *b, long stride, long i0, long j0, long k0, long wide, long deep)
{
    const long n = p->n, k = p->k, end = SMALLER(i0 + TILE_M, p->last);
    long i = i0;
    for (; i + ROWS <= end; i += ROWS)
        for (long kk = 0; kk < deep; kk++) {
            const float *restrict row = b + kk * stride;
            for (long r = 0; r < ROWS; r++) {
                const float x = p->a[(i + r) * k + k0 + kk];
                float *restrict out = p->c + (i + r) * n + j0;
                for (long j = 0; j < wide; j++)
                    out[j] += x * row[j];
            }
        }
    for (; i < end; i++)
        for (long kk = 0; kk < deep; kk++) {
            const float x = p->a[i * k + k0 + kk];
            for (long j = 0; j < wide; j++)
                p->c[i * n + j0 + j] += x * b[kk * stride + j];
        }
}

static void *stripe(void *raw)
{
    Part *p = raw;
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
#if PACK
    float *packed = malloc(sizeof(float) * TILE_K * TILE_N);
    if (!packed)
        exit(3);
#endif
    memset(p->c + p->first * p->n, 0, sizeof(float) * (size_t)((p->last - p->first) * p->n));
    for (long j0 = 0; j0 < p->n; j0 += TILE_N)
        for (long k0 = 0; k0 < p->k; k0 += TILE_K) {
            const long wide = SMALLER(TILE_N, p->n - j0), deep = SMALLER(TILE_K, p->k - k0);
            const float *b = p->b + k0 * p->n + j0;
            long stride = p->n;
#if PACK
            for (long kk = 0; kk < deep; kk++)
                memcpy(packed + kk * TILE_N, b + kk * p->n, sizeof(float) * (size_t)wide);
            b = packed;
            stride = TILE_N;
#endif
            for (long i0 = p->first; i0 < p->last; i0 += TILE_M)
                block(p, b, stride, i0, j0, k0, wide, deep);
        }
#if PACK
    free(packed);
#endif
    p->cpu_s = now(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

static double once(const float *a, const float *b, float *c, long m, long n, long k, long threads)
{
    pthread_t ids[64];
    Part parts[64];
    double longest = 0;
    for (long t = 0; t < threads; t++) {
        parts[t] = (Part){a, b, c, m * t / threads, m * (t + 1) / threads, n, k, 0};
        if (pthread_create(&ids[t], NULL, stripe, &parts[t]))
            exit(3);
    }
    for (long t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        if (parts[t].cpu_s > longest)
            longest = parts[t].cpu_s;
    }
    return longest;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return fprintf(stderr, "usage: matmul M N K THREADS REPEATS\n"), 2;
    const long m = atol(argv[1]), n = atol(argv[2]), k = atol(argv[3]);
    const long threads = atol(argv[4]), repeats = atol(argv[5]);
    if (m < 1 || n < 1 || k < 1 || threads < 1 || threads > 64 || repeats < 1)
        return fprintf(stderr, "sizes and repeats are at least 1, threads 1 to 64\n"), 2;
    float *a = malloc(sizeof(float) * (size_t)(m * k)), *b = malloc(sizeof(float) * (size_t)(k * n));
    float *c = malloc(sizeof(float) * (size_t)(m * n));
    if (!a || !b || !c)
        return fprintf(stderr, "out of memory\n"), 3;
    unsigned state = 1;
    for (long i = 0; i < m * k; i++)
        a[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
    for (long i = 0; i < k * n; i++)
        b[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;

    once(a, b, c, m, n, k, threads); /* warm-up */
    double sum = 0, squares = 0;
    const double start = now(CLOCK_MONOTONIC);
    for (long r = 0; r < repeats; r++) {
        const double t = once(a, b, c, m, n, k, threads);
        sum += t;
        squares += t * t;
    }
    const double wall = (now(CLOCK_MONOTONIC) - start) / (double)repeats, mean = sum / (double)repeats;
    const double variance = repeats > 1 ? (squares - sum * mean) / (double)(repeats - 1) : 0;

    double largest = 1e-30, error = 0;
    for (long s = 0; s < 64; s++) {
        const long i = (s * 7919) % m, j = (s * 104729) % n;
        double exact = 0;
        for (long kk = 0; kk < k; kk++)
            exact += (double)a[i * k + kk] * (double)b[kk * n + j];
        error = fmax(error, fabs(exact - (double)c[i * n + j]));
        largest = fmax(largest, fabs(exact));
    }
    printf("{\"time_s\": %.9g, \"stdev_s\": %.9g, \"repeats\": %ld, \"wall_s\": %.9g, \"max_error\": %.3g}\n", mean,
           sqrt(fmax(variance, 0)), repeats, wall, error / largest);
    return 0;
}
