"""Number formats by one name each."""

import csv
import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import data

_ALIASES = {
    alias: name
    for name, aliases in {
        "bfloat16": "bf16 bfp16",
        "float16": "fp16 half f16",
        "float32": "fp32 single float f32",
        "float64": "fp64 double f64",
        "fp8": "float8 f8",
        "fp4": "float4 f4",
        "complex64": "complexsingle",
        "complex128": "complexdouble",
    }.items()
    for alias in aliases.split()
}
_PREFIXES = ("torch.", "jnp.", "np.", "numpy.", "tf.", "paddle.", "mindspore.")
_FORMAT = re.compile(r"(bfloat16|tf32|bool|(mx|nv)?fp\d|(b?float|u?int|complex)\d|w\d+a\d+|sq$)")

_GGUF = tuple(csv.DictReader(data.text("models/gguf_types.csv").splitlines()))
GGUF_BITS: Mapping[str, float] = MappingProxyType(
    {row["name"]: float(row["bits_per_weight"]) for row in _GGUF}
)
"""Bits of a weight with its scales in the types of GGUF files, over all tensors of an 8B network."""
GGUF_FILE_TYPES: Mapping[int, str] = MappingProxyType({int(row["file_type"]): row["name"] for row in _GGUF})
"""The same types by ``general.file_type`` of a header (llama.h, ``llama_ftype``)."""
GGUF_NAME = r"(i?q[1-8])_?([k01]|nl|xxs|xs|[sm])(?:_?(xl|[sml]))?"
"""A type as files, commands and people write it: bits, kind, size."""
_GGUF_NAME = re.compile(GGUF_NAME)


def gguf_type(text: str) -> str:
    """The type of a GGUF file that a word says: ``Q4_K`` is ``q4_k_m``; empty if it says none.

    Names without a size are llama.cpp's aliases; sizes of others (``UD-Q4_K_XL``) are taken as the nearest.
    """
    if not (found := _GGUF_NAME.fullmatch(text.strip().lower().removeprefix("ud-"))):
        return ""
    bits, kind, size = found.groups()
    plain = f"{bits}_{kind}"
    nearest = {"": ("", "_m"), "xl": ("_l", "_m", ""), "l": ("_l", "_m", "")}.get(
        size or "", (f"_{size}", "")
    )
    names = [f"{plain}{ending}" for ending in nearest] + [f"{bits}_0"] * (kind == "k")
    return next((name for name in names if name in GGUF_BITS), "")


@lru_cache(maxsize=4096)
def canonical_precision(text: str) -> str:
    """Return the canonical name of a number format: ``torch.bfloat16`` and ``BF16`` are ``"bfloat16"``.

    Pairs such as ``bfloat16/int8`` keep their order. A name that nobody knows stays, in lower case.
    """
    text = text.strip().lower()
    if "/" in text:
        return "/".join(canonical_precision(part) for part in text.split("/"))
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return _ALIASES.get(text) or gguf_type(text) or text


def is_narrow(text: str) -> bool:
    """Return whether ``text`` names a format of weights alone, which are widened before each product."""
    name = canonical_precision(text)
    return name in GGUF_BITS or re.fullmatch(r"w[2-8]a16", name) is not None


def is_precision(text: str) -> bool:
    """Return whether ``text`` names a number format, as ``torch.int8`` does."""
    name = canonical_precision(text)
    return name in GGUF_BITS or _FORMAT.match(name) is not None
