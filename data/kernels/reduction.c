/* Root mean square of each row in single precision, as in a norm: a kernel to tune on any machine with a C compiler.
 *
 * Set at compile time: LANES (sums of a row that grow side by side), ROWS (rows done together), BLOCK (columns before
 * the lanes are added up; a multiple of LANES) and WIDE (add up the blocks in double precision). Run: reduction COUNT
 * COLUMNS THREADS REPEATS. Prints the line of JSON that kernel.h describes; max_error is the largest relative deviation
 * of 64 rows from double precision.
 */
#include "kernel.h"

#if BLOCK % LANES
#error "LANES must divide BLOCK"
#endif
#if WIDE
typedef double Total;
#else
typedef float Total;
#endif

typedef struct {
    const float *rows; /* [COUNT][COLUMNS] */
    float *found;      /* [COUNT] */
    long count, columns;
} Reduction;

static float sum_of_squares(const float *row, long n)
{
    float lane[LANES] = {0}, sum = 0;
    long j = 0;
    for (; j + LANES <= n; j += LANES)
        for (long k = 0; k < LANES; k++)
            lane[k] += row[j + k] * row[j + k];
    for (; j < n; j++)
        sum += row[j] * row[j];
    for (long k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

static void stripe(const void *work, long first, long last)
{
    const Reduction *p = work;
    for (long i = first; i < last; i += ROWS) {
        const long together = SMALLER(ROWS, last - i);
        Total total[ROWS] = {0};
        for (long j = 0; j < p->columns; j += BLOCK)
            for (long r = 0; r < together; r++)
                total[r] += (Total)sum_of_squares(p->rows + (i + r) * p->columns + j, SMALLER(BLOCK, p->columns - j));
        for (long r = 0; r < together; r++)
            p->found[i + r] = sqrtf((float)total[r] / (float)p->columns);
    }
}

static double deviation(const void *work)
{
    const Reduction *p = work;
    double error = 0;
    for (long s = 0; s < 64; s++) {
        const long i = (s * 7919) % p->count;
        double sum = 0;
        for (long j = 0; j < p->columns; j++)
            sum += (double)p->rows[i * p->columns + j] * (double)p->rows[i * p->columns + j];
        const double exact = sqrt(sum / (double)p->columns);
        error = fmax(error, fabs(exact - (double)p->found[i]) / fmax(exact, 1e-30));
    }
    return error;
}

int main(int argc, char **argv)
{
    long s[4];
    arguments(argc, argv, 2, s, "reduction COUNT COLUMNS");
    const long count = s[0], columns = s[1];
    const Reduction work = {numbers(count * columns), numbers(count), count, columns};
    return measure(stripe, deviation, &work, count, s[2], s[3]);
}
