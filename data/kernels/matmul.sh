#!/bin/sh
# Build matmul.c for one configuration and run it: what a search calls for each evaluation.
# matmul.sh FLAGS TILE_M TILE_N TILE_K ROWS PACK THREADS M N K REPEATS
# FLAGS is one argument, such as "-O3 -march=native". The compiler is $CC, else cc.
set -eu
[ $# -eq 11 ] || { echo "usage: matmul.sh FLAGS TILE_M TILE_N TILE_K ROWS PACK THREADS M N K REPEATS" >&2; exit 2; }
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
trap 'exit 143' HUP INT TERM
# FLAGS is split on purpose
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 $1 -DTILE_M="$2" -DTILE_N="$3" -DTILE_K="$4" -DROWS="$5" -DPACK="$6" \
    "$(dirname "$0")/matmul.c" -o "$built/matmul" -pthread -lm
"$built/matmul" "$8" "$9" "${10}" "$7" "${11}"
