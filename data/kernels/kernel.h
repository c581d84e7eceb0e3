/* What the C kernels share: threads over stripes of the work, time, spread, made-up numbers, one line of JSON.
 *
 * A kernel has work that is divided into ``count`` pieces (rows, channels, queries). ``stripe`` does the pieces
 * from ``first`` to before ``last``. ``measure`` runs it once to warm up, then ``repeats`` times, and prints
 * time_s (mean over the repeats of the longest CPU time of a thread, so that it means the same on a machine that
 * others use too), stdev_s, wall_s and max_error, which ``deviation`` computes from a few outputs.
 */
#ifndef KERNEL_H
#define KERNEL_H
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define MOST_THREADS 64

typedef void (*Stripe)(const void *work, long first, long last);
typedef double (*Deviation)(const void *work);

typedef struct {
    Stripe stripe;
    const void *work;
    long first, last;
    double cpu_s;
} Part;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *part(void *raw)
{
    Part *p = raw;
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
    p->stripe(p->work, p->first, p->last);
    p->cpu_s = now(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

static double once(Stripe stripe, const void *work, long count, long threads)
{
    pthread_t ids[MOST_THREADS];
    Part parts[MOST_THREADS];
    double longest = 0;
    for (long t = 0; t < threads; t++) {
        parts[t] = (Part){stripe, work, count * t / threads, count * (t + 1) / threads, 0};
        if (pthread_create(&ids[t], NULL, part, &parts[t]))
            exit(3);
    }
    for (long t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        if (parts[t].cpu_s > longest)
            longest = parts[t].cpu_s;
    }
    return longest;
}

/* Sizes from the command line: ``count`` of them, then THREADS and REPEATS. */
static void arguments(int argc, char **argv, int count, long *sizes, const char *usage)
{
    if (argc != count + 3) {
        fprintf(stderr, "usage: %s THREADS REPEATS\n", usage);
        exit(2);
    }
    for (int i = 0; i < count + 2; i++)
        if ((sizes[i] = atol(argv[i + 1])) < 1 || (i == count && sizes[i] > MOST_THREADS)) {
            fprintf(stderr, "sizes and repeats are at least 1, threads 1 to %d\n", MOST_THREADS);
            exit(2);
        }
}

/* ``n`` numbers between -0.5 and 0.5, the same in every run. */
static float *numbers(long n)
{
    static unsigned state = 1;
    float *found = malloc(sizeof(float) * (size_t)n);
    if (!found) {
        fprintf(stderr, "out of memory\n");
        exit(3);
    }
    for (long i = 0; i < n; i++)
        found[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
    return found;
}

static int measure(Stripe stripe, Deviation deviation, const void *work, long count, long threads, long repeats)
{
    once(stripe, work, count, threads); /* warm-up */
    double sum = 0, squares = 0;
    const double start = now(CLOCK_MONOTONIC);
    for (long r = 0; r < repeats; r++) {
        const double t = once(stripe, work, count, threads);
        sum += t;
        squares += t * t;
    }
    const double wall = (now(CLOCK_MONOTONIC) - start) / (double)repeats, mean = sum / (double)repeats;
    const double variance = repeats > 1 ? (squares - sum * mean) / (double)(repeats - 1) : 0;
    printf("{\"time_s\": %.9g, \"stdev_s\": %.9g, \"repeats\": %ld, \"wall_s\": %.9g, \"max_error\": %.3g}\n", mean,
           sqrt(fmax(variance, 0)), repeats, wall, deviation(work));
    return 0;
}
#endif
