"""Names of GPU kernels: the kind of operator that each stands for, and the type its products compute in.

Libraries name their kernels by templates of hundreds of characters. What a reader and an analyser need of
them is the operator (``Add``, ``Gemm``, ``LayerNorm``) and, of a product, the type: both stand in the name.

Source:
    PyTorch, ``aten/src/ATen/native/cuda``: functors inside ``elementwise_kernel`` and ``reduce_kernel``;
    CUTLASS and cuBLAS: ``s1688`` is an instruction of TF32 from compute capability 8.0 on, ``884`` and
    ``16816`` of 16-bit types, ``sgemm`` and ``simt_s`` are 32 bit without tensor cores; AMD Tensile: the
    letters behind the index names are the types (``SB`` single, ``HHS`` half, ``BBS`` bfloat16).
"""

import csv
import re
from functools import cache, lru_cache

from data import text

MOST_NAMES = 1 << 16
"""Names that are remembered; a program has a few thousand kernels."""
SHORT = 60
"""Characters that are kept of a name which stands for no known operator."""

_PRODUCT = re.compile(
    r"(?i)gemm|gemv|^Cijk_|s?cudnn_.{0,300}(?:relu|conv|nhwc|interior|small|medium|large)|"
    r"xmma_|(?:f|d|w)(?:prop|grad)_|wgrad_alg|dgrad_engine|implicit_convolve|winograd|conv2d_grouped|"
    r"cutlass.{0,300}(?:tensorop|simt)|igemm|naive_conv|nvjet_",
)
_CONVOLUTION = re.compile(r"(?i)cudnn|conv|fprop|dgrad|wgrad|winograd|implicit_gemm|igemm_(?:fwd|bwd|wrw)")
_TENSILE = re.compile(r"^Cijk_[A-Za-z]+_[A-Za-z]+_([A-Z0-9]+)")
_ELEMENTWISE = re.compile(r"elementwise|unrolled|gpu_kernel_impl")
FILE = "profiles/gpu_kernels.csv"
"""Kinds of kernels and types of products by what stands in their names. ``before products`` are names that
may hold a product's; ``elementwise`` is a part, in small letters, of the functor that PyTorch applies."""


@cache
def _kinds(where: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kinds and the patterns of their names, in order: the first that fits counts."""
    rows = csv.DictReader(text(FILE).splitlines())
    return tuple((row["kind"], re.compile(row["in_the_name"])) for row in rows if row["where"] == where)


def _kind(where: str, name: str) -> str:
    return next((kind for kind, pattern in _kinds(where) if pattern.search(name)), "")


@lru_cache(maxsize=MOST_NAMES)
def gpu_kernel(name: str) -> tuple[str, str]:
    """The kind of a GPU kernel and, of a product, the type of its inputs (empty if the name has none).

    A kernel that stands for no operator known here keeps its own name, without arguments and namespaces.
    """
    if name.startswith("triton_"):
        return short_name(name).rstrip("0123456789").rstrip("_"), ""  # numbered in each module
    if kind := _kind("before products", name):
        return kind, ""
    bare = name.replace("fbgemm", "")  # a library whose kernels are no products
    if _PRODUCT.search(bare):
        return ("Conv2D" if _CONVOLUTION.search(bare) else "Gemm"), _type_of(bare)
    if kind := _kind("after products", bare):
        return kind, ""
    if _ELEMENTWISE.search(bare):
        return _kind("elementwise", bare.lower()) or "Elementwise", ""
    return short_name(name), ""


def _type_of(name: str) -> str:
    tensile = _TENSILE.match(name)
    return _kind("Tensile type", tensile[1]) if tensile else _kind("product type", name)


def short_name(name: str) -> str:
    """A kernel's own name: without return type, arguments, template arguments and namespaces."""
    bare = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    pieces, depth = [], 0
    for char in bare:
        if char == "<":
            depth += 1
        elif char == ">":
            depth = max(0, depth - 1)
        elif char == "(" and not depth:
            break
        elif not depth:
            pieces.append(char)
    plain = "".join(pieces).strip().rpartition("::")[2]
    return (plain or name.strip())[:SHORT]
