"""Number formats by one name each."""

import re
from functools import lru_cache

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
    return _ALIASES.get(text, text)


def is_precision(text: str) -> bool:
    """Return whether ``text`` names a number format, as ``torch.int8`` does."""
    return _FORMAT.match(canonical_precision(text)) is not None
