#!/bin/sh
# Two products of a transformer block, each with blocks of its own: attention scores and the first of the MLP.
# layers.sh FLAGS THREADS A_TILE_M A_TILE_N A_TILE_K A_ROWS A_PACK M_TILE_M M_TILE_N M_TILE_K M_ROWS M_PACK \
#     TOKENS HIDDEN REPEATS
# Prints one line of JSON: the time of each, of both, and the larger error. FLAGS is one argument.
set -eu
[ $# -eq 15 ] || { echo "layers.sh: 15 arguments, not $#" >&2; exit 2; }
here=$(dirname "$0")
tokens=${13} hidden=${14} repeats=${15}
attention=$(sh "$here/matmul.sh" "$1" "$3" "$4" "$5" "$6" "$7" "$2" "$tokens" "$tokens" "$hidden" "$repeats")
mlp=$(sh "$here/matmul.sh" "$1" "$8" "$9" "${10}" "${11}" "${12}" "$2" "$tokens" "$((4 * hidden))" "$hidden" "$repeats")
number() { printf '%s' "$2" | sed -n "s/.*\"$1\": *\([-+.0-9e]*\).*/\1/p"; }
awk -v a="$(number time_s "$attention")" -v m="$(number time_s "$mlp")" \
    -v e="$(number max_error "$attention")" -v f="$(number max_error "$mlp")" \
    'BEGIN { printf "{\"attention_s\": %.9g, \"mlp_s\": %.9g, \"time_s\": %.9g, \"max_error\": %.6g}\n",
             a, m, a + m, (e > f ? e : f) }'
