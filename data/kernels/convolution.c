/* Direct convolution of one picture in single precision, stride 1, no padding: a kernel to tune on any machine.
 *
 * Set at compile time: TILE_X (columns of the output done together), CHANNELS (output channels updated together),
 * UNROLL (3: the three columns of a 3-wide filter in one pass; 1: one at a time) and ROWS (output rows done for one
 * block of weights before the next). Run: convolution IN OUT HEIGHT WIDTH FILTER THREADS REPEATS; HEIGHT and WIDTH
 * are those of the output. Prints the line of JSON that kernel.h describes; max_error is the largest deviation of 64
 * outputs from double precision, over the largest magnitude of them.
 */
#include "kernel.h"

#if UNROLL != 1 && UNROLL != 3
#error "UNROLL is 1 or 3"
#endif

typedef struct {
    const float *picture, *weights; /* [IN][HEIGHT + FILTER - 1][WIDTH + FILTER - 1], [OUT][IN][FILTER][FILTER] */
    float *found;                   /* [OUT][HEIGHT][WIDTH] */
    long in, out, height, width, filter;
} Convolution;

/* Adds input channel ``c`` to ``together`` output channels from ``o`` on, at rows y0 to y1, columns x0 to x1. */
static void block(const Convolution *p, long o, long together, long c, long y0, long y1, long x0, long x1)
{
    const long wide = p->width + p->filter - 1, high = p->height + p->filter - 1, filter = p->filter, n = x1 - x0;
    for (long y = y0; y < y1; y++)
        for (long r = 0; r < filter; r++) {
            const float *restrict row = p->picture + (c * high + y + r) * wide + x0;
            for (long k = 0; k < together; k++) {
                const float *w = p->weights + (((o + k) * p->in + c) * filter + r) * filter;
                float *restrict to = p->found + ((o + k) * p->height + y) * p->width + x0;
                long q = 0;
#if UNROLL == 3
                for (; q + 3 <= filter; q += 3)
                    for (long x = 0; x < n; x++)
                        to[x] += w[q] * row[x + q] + w[q + 1] * row[x + q + 1] + w[q + 2] * row[x + q + 2];
#endif
                for (; q < filter; q++)
                    for (long x = 0; x < n; x++)
                        to[x] += w[q] * row[x + q];
            }
        }
}

static void stripe(const void *work, long first, long last)
{
    const Convolution *p = work;
    const long plane = p->height * p->width;
    memset(p->found + first * plane, 0, sizeof(float) * (size_t)((last - first) * plane));
    for (long o = first; o < last; o += CHANNELS)
        for (long y = 0; y < p->height; y += ROWS)
            for (long x = 0; x < p->width; x += TILE_X)
                for (long c = 0; c < p->in; c++)
                    block(p, o, SMALLER(CHANNELS, last - o), c, y, SMALLER(y + ROWS, p->height), x,
                          SMALLER(x + TILE_X, p->width));
}

static double deviation(const void *work)
{
    const Convolution *p = work;
    const long wide = p->width + p->filter - 1, high = p->height + p->filter - 1;
    double largest = 1e-30, error = 0;
    for (long s = 0; s < 64; s++) {
        const long o = (s * 7919) % p->out, y = (s * 104729) % p->height, x = (s * 1299709) % p->width;
        double exact = 0;
        for (long c = 0; c < p->in; c++)
            for (long r = 0; r < p->filter; r++)
                for (long q = 0; q < p->filter; q++)
                    exact += (double)p->picture[(c * high + y + r) * wide + x + q] *
                             (double)p->weights[((o * p->in + c) * p->filter + r) * p->filter + q];
        error = fmax(error, fabs(exact - (double)p->found[(o * p->height + y) * p->width + x]));
        largest = fmax(largest, fabs(exact));
    }
    return error / largest;
}

int main(int argc, char **argv)
{
    long s[7];
    arguments(argc, argv, 5, s, "convolution IN OUT HEIGHT WIDTH FILTER");
    const long in = s[0], out = s[1], height = s[2], width = s[3], filter = s[4];
    const Convolution work = {numbers(in * (height + filter - 1) * (width + filter - 1)),
                              numbers(out * in * filter * filter), numbers(out * height * width),
                              in, out, height, width, filter};
    return measure(stripe, deviation, &work, out, s[5], s[6]);
}
