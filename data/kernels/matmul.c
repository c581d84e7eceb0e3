/* C = A B in single precision, blocked: a kernel to tune on any machine with a C compiler.
 *
 * Set at compile time: TILE_M, TILE_N, TILE_K (sizes of the blocks), ROWS (rows of C updated together; divides
 * TILE_M) and PACK (copy the block of B so that it is contiguous). Run: matmul M N K THREADS REPEATS.
 *
 * Prints the line of JSON that kernel.h describes; max_error is the largest deviation of 64 elements from double
 * precision, over the largest magnitude of C.
 */
#include "kernel.h"

#if TILE_M % ROWS
#error "ROWS must divide TILE_M"
#endif

typedef struct {
    const float *a, *b;
    float *c;
    long m, n, k;
} Product;

static void block(const Product *p, const float *b, long stride, long i0, long end, long j0, long k0, long wide,
                  long deep)
{
    const long n = p->n, k = p->k;
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

static void stripe(const void *work, long first, long last)
{
    const Product *p = work;
#if PACK
    float *packed = malloc(sizeof(float) * TILE_K * TILE_N);
    if (!packed)
        exit(3);
#endif
    memset(p->c + first * p->n, 0, sizeof(float) * (size_t)((last - first) * p->n));
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
            for (long i0 = first; i0 < last; i0 += TILE_M)
                block(p, b, stride, i0, SMALLER(i0 + TILE_M, last), j0, k0, wide, deep);
        }
#if PACK
    free(packed);
#endif
}

static double deviation(const void *work)
{
    const Product *p = work;
    double largest = 1e-30, error = 0;
    for (long s = 0; s < 64; s++) {
        const long i = (s * 7919) % p->m, j = (s * 104729) % p->n;
        double exact = 0;
        for (long kk = 0; kk < p->k; kk++)
            exact += (double)p->a[i * p->k + kk] * (double)p->b[kk * p->n + j];
        error = fmax(error, fabs(exact - (double)p->c[i * p->n + j]));
        largest = fmax(largest, fabs(exact));
    }
    return error / largest;
}

int main(int argc, char **argv)
{
    long s[5];
    arguments(argc, argv, 3, s, "matmul M N K");
    const long m = s[0], n = s[1], k = s[2];
    const Product work = {numbers(m * k), numbers(k * n), numbers(m * n), m, n, k};
    return measure(stripe, deviation, &work, m, s[3], s[4]);
}
