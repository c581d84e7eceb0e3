/* Attention of every query to all keys in single precision, softmax kept online: a kernel to tune on any machine.
 *
 * Set at compile time: TILE_Q (queries that share a block of keys), TILE_KEYS (keys of a block), TURN (turn the block
 * of keys so that scores of neighbouring keys lie side by side) and LATE (divide by the sum of the weights once at the
 * end, not after every block). Run: attention HEADS TOKENS SIZE THREADS REPEATS. Prints the line of JSON that kernel.h
 * describes; max_error is the largest deviation of 64 outputs from double precision, over the largest magnitude.
 */
#include "kernel.h"

#define MOST_SIZE 256

typedef struct {
    const float *queries, *keys, *values; /* each [HEADS][TOKENS][SIZE] */
    float *found;
    long heads, tokens, size;
} Attention;

static void scores(const float *query, const float *keys, float *out, long n, long size)
{
    const float scale = 1.0f / sqrtf((float)size);
#if TURN
    for (long j = 0; j < n; j++)
        out[j] = 0;
    for (long d = 0; d < size; d++) {
        const float *restrict row = keys + d * TILE_KEYS;
        const float x = query[d] * scale;
        for (long j = 0; j < n; j++)
            out[j] += x * row[j];
    }
#else
    for (long j = 0; j < n; j++) {
        const float *restrict row = keys + j * size;
        float sum = 0;
        for (long d = 0; d < size; d++)
            sum += query[d] * row[d];
        out[j] = sum * scale;
    }
#endif
}

/* One block of keys for one query: ``top`` is the largest score so far, ``sum`` the sum of weights. */
static void block(const float *score, const float *values, float *to, long n, long size, float *top, float *sum)
{
    float largest = *top, added = 0, weight[TILE_KEYS];
    for (long j = 0; j < n; j++)
        largest = score[j] > largest ? score[j] : largest;
    for (long j = 0; j < n; j++)
        added += weight[j] = expf(score[j] - largest);
    const float kept = expf(*top - largest) * *sum, total = kept + added;
#if LATE
    const float before = *sum > 0 ? kept / *sum : 0, after = 1;
#else
    const float before = kept / total, after = 1 / total;
#endif
    for (long d = 0; d < size; d++)
        to[d] *= before;
    for (long j = 0; j < n; j++) {
        const float *restrict row = values + j * size;
        const float w = weight[j] * after;
        for (long d = 0; d < size; d++)
            to[d] += w * row[d];
    }
    *top = largest;
    *sum = total;
}

static void stripe(const void *work, long first, long last)
{
    const Attention *p = work;
    const long size = p->size, tokens = p->tokens;
    float score[TILE_KEYS], top[TILE_Q], sum[TILE_Q];
#if TURN
    float *turned = malloc(sizeof(float) * (size_t)(size * TILE_KEYS));
    if (!turned)
        exit(3);
#endif
    for (long q0 = first, q1; q0 < last; q0 = q1) {
        const long head = q0 / tokens;
        q1 = SMALLER(SMALLER(q0 + TILE_Q, last), (head + 1) * tokens);
        memset(p->found + q0 * size, 0, sizeof(float) * (size_t)((q1 - q0) * size));
        for (long q = q0; q < q1; q++) {
            top[q - q0] = -1e30f;
            sum[q - q0] = 0;
        }
        for (long j0 = 0; j0 < tokens; j0 += TILE_KEYS) {
            const long n = SMALLER(TILE_KEYS, tokens - j0);
            const float *keys = p->keys + (head * tokens + j0) * size;
#if TURN
            for (long j = 0; j < n; j++)
                for (long d = 0; d < size; d++)
                    turned[d * TILE_KEYS + j] = keys[j * size + d];
            keys = turned;
#endif
            for (long q = q0; q < q1; q++) {
                scores(p->queries + q * size, keys, score, n, size);
                block(score, p->values + (head * tokens + j0) * size, p->found + q * size, n, size, &top[q - q0],
                      &sum[q - q0]);
            }
        }
#if LATE
        for (long q = q0; q < q1; q++)
            for (long d = 0; d < size; d++)
                p->found[q * size + d] /= sum[q - q0];
#endif
    }
#if TURN
    free(turned);
#endif
}

static double deviation(const void *work)
{
    const Attention *p = work;
    double largest = 1e-30, error = 0;
    for (long s = 0; s < 64; s++) {
        const long q = (s * 7919) % (p->heads * p->tokens), d = (s * 104729) % p->size, head = q / p->tokens;
        double sum = 0, exact = 0;
        for (long j = head * p->tokens; j < (head + 1) * p->tokens; j++) {
            double score = 0;
            for (long e = 0; e < p->size; e++)
                score += (double)p->queries[q * p->size + e] * (double)p->keys[j * p->size + e];
            const double weight = exp(score / sqrt((double)p->size));
            sum += weight;
            exact += weight * (double)p->values[j * p->size + d];
        }
        exact /= sum;
        error = fmax(error, fabs(exact - (double)p->found[q * p->size + d]));
        largest = fmax(largest, fabs(exact));
    }
    return error / largest;
}

int main(int argc, char **argv)
{
    long s[5];
    arguments(argc, argv, 3, s, "attention HEADS TOKENS SIZE");
    const long heads = s[0], tokens = s[1], size = s[2], n = heads * tokens * size;
    if (size > MOST_SIZE)
        return fprintf(stderr, "SIZE is at most %d\n", MOST_SIZE), 2;
    const Attention work = {numbers(n), numbers(n), numbers(n), numbers(n), heads, tokens, size};
    return measure(stripe, deviation, &work, heads * tokens, s[3], s[4]);
}
