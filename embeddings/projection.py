"""Text vectors made short, so that a problem's vector stays short.

For the default text model the projection ships: the main directions along which texts about tuning
differ, their mean taken off. For another model it is made of signs drawn by hash, the same
everywhere, which keeps distances less well but needs nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import data
from embeddings.codes import code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embeddings.text_encoder import TextEncoder

TEXT_WIDTH = 64
"""Length of a projected text vector."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A linear map of text vectors.

    Attributes:
        mean: What is taken off first, shape (dimension,).
        directions: Shape (dimension, TEXT_WIDTH).
    """

    mean: NDArray[np.float32]
    directions: NDArray[np.float32]

    @classmethod
    def of(cls, encoder: TextEncoder) -> Projection:
        """Return the projection for a text model: the shipped one if it was made for it."""
        header = json.loads(data.text("retrieval/text_projection.json"))
        return cls.shipped() if header["encoder_hash"] == encoder.hash else cls.drawn(encoder.dimension)

    @classmethod
    def shipped(cls) -> Projection:
        """Load ``data/retrieval/text_projection.f32``: the mean, then the directions, rows of float32."""
        header = json.loads(data.text("retrieval/text_projection.json"))
        content = data.resource("retrieval/text_projection.f32").read_bytes()
        table = np.frombuffer(content, dtype="<f4").reshape(1 + TEXT_WIDTH, header["dimension"])
        return cls(mean=table[0], directions=table[1:].T)

    @classmethod
    def drawn(cls, dimension: int) -> Projection:
        """Draw signs by hash: the expected squared length stays as it was."""
        rows = [code(f"text column {column}", TEXT_WIDTH) for column in range(dimension)]
        return cls(mean=np.zeros(dimension, dtype=np.float32), directions=np.array(rows, dtype=np.float32))

    @property
    def hash(self) -> str:
        """Identifier of the numbers in it."""
        return hashlib.sha256(self.mean.tobytes() + self.directions.tobytes()).hexdigest()[:24]

    def apply(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return projected vectors, shape (n, TEXT_WIDTH)."""
        short: NDArray[np.float32] = np.matmul(vectors - self.mean, self.directions, dtype=np.float32)
        return short
