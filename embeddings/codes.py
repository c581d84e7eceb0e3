"""Names as short vectors: the same on every machine, in every process, without a vocabulary.

Each name gets a vector of plus and minus one drawn by its hash and scaled to length one. Two names
are nearly orthogonal (their inner product has mean 0 and variance ``1/width``), so sums of codes
keep sets of names apart without a slot for each: what a one-hot encoding does, in bounded space.
"""

import hashlib
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=65536)
def code(name: str, width: int) -> NDArray[np.float64]:
    """Return the code of a name.

    Args:
        name: Any text; equal texts have equal codes.
        width: Length of the code, at most 512.

    Returns:
        Shape (width,), entries ``±1/sqrt(width)``; read-only, since it is shared.
    """
    drawn = hashlib.blake2b(name.encode(), digest_size=(width + 7) // 8).digest()
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8))[:width]
    signs: NDArray[np.float64] = (2.0 * bits - 1.0) / np.sqrt(width)
    signs.setflags(write=False)
    return signs


@lru_cache(maxsize=65536)
def name_code(name: str, width: int) -> NDArray[np.float64]:
    """Return the code of a name that shares part of itself with names of similar spelling.

    Half of it belongs to the whole name, half is the mean over its words, so ``gemm_a8w8`` is nearer
    to ``gemm`` than to ``copy``, and still not the same.

    Args:
        name: A name made of words; case, underscores and punctuation only separate.
        width: Length of the code.

    Returns:
        Shape (width,); read-only.
    """
    words = split(name)
    exact = code(name.lower(), width)
    parts = np.mean([code(word, width) for word in words], axis=0) if words else exact
    both: NDArray[np.float64] = 0.5 * exact + 0.5 * parts
    both.setflags(write=False)
    return both


def split(name: str) -> list[str]:
    """Split a name into words in lower case at everything that is no letter or digit."""
    return _WORD.findall(name.lower())
