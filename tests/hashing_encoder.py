"""A text encoder that needs no model, for tests that must be fast."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embeddings.codes import code, split
from kg.nouns.values import digest


class HashingEncoder:
    """Bags of hashed words.

    Attributes:
        name: ``"hashing"``.
        dimension: Length of its vectors.
    """

    name = "hashing"
    available = True

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension

    @property
    def hash(self) -> str:
        """Depends on the dimension alone."""
        return digest("hashing", self.dimension)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Normalised sums of word codes, shape (n, dimension)."""
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            total = np.sum([code(word, self.dimension) for word in split(text) or [text]], axis=0)
            out[row] = total / max(float(np.linalg.norm(total)), 1e-12)
        return out
