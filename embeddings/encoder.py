"""Problems to vectors: numbers and words in one space.

A vector is the weighted blocks one after the other, ending with the projected text. It is not
normalised: the squared Euclidean distance of two vectors is then the sum over blocks of
``weight**2 * (squared distance in the block)``, which is the quantity the weights are learned for, and
a problem with a large shape is not drawn nearer to the others by its length.

Facts of the hardware tree are content, not part of the hash: a corrected fact reaches the vectors that
are made afterwards, and the others when the workspace encodes its problems anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import data
from embeddings.codes import code
from embeddings.features import BLOCKS, FEATURE_VERSION, WIDTH, Features, HardwareFacts, places
from embeddings.text_encoder import INSTALL_HINT, TextEncoder
from embeddings.weights import BlockWeights
from kg.errors import MissingDependencyError
from kg.nouns.entities import Problem
from kg.nouns.values import digest

NO_TEXT = "no text model: similarity rests on numbers and names alone"


class ProblemEncoder:
    """Makes the vectors of problems.

    Attributes:
        weights: What a difference in each block is worth.
        notes: What a reader of the answers should know about their vectors, without repeats.
    """

    def __init__(
        self, hardware: HardwareFacts, text: TextEncoder | None, weights: BlockWeights | None = None
    ) -> None:
        """Put an encoder together; loads no text model yet.

        Args:
            hardware: Facts and places of devices.
            text: Model for the words; None to do without them.
            weights: Block weights; the shipped ones by default.
        """
        self.weights = weights or BlockWeights.shipped()
        self.notes: list[str] = []
        self._hardware = hardware
        self._features = Features(hardware)
        self._text = text
        self._projection = None if text is None else Projection.of(text)
        if text is None:
            self.notes.append(f"{NO_TEXT} ({INSTALL_HINT})")

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return WIDTH + (TEXT_WIDTH if self._projection else 0)

    @property
    def starts(self) -> list[int]:
        """The first column of each block of a vector, in the order of the weights."""
        widths = [*BLOCKS.values(), TEXT_WIDTH][: len(BLOCKS) + (self._projection is not None)]
        return [sum(widths[:place]) for place in range(len(widths))]

    @property
    def hash(self) -> str:
        """Identifier of everything that changes vectors: features, weights, text model, projection."""
        text = (
            None
            if self._text is None or self._projection is None
            else [self._text.hash, self._projection.hash]
        )
        return digest(FEATURE_VERSION, dict(BLOCKS), self.weights.as_dict(), text)

    def reweighted(self, weights: BlockWeights) -> ProblemEncoder:
        """Return an encoder that differs in its block weights alone."""
        return ProblemEncoder(self._hardware, self._text, weights)

    def factors(self, weights: BlockWeights) -> NDArray[np.float32]:
        """Return the factors from a vector of this encoder to one with other weights, shape (dimension,).

        A block that weighs nothing here stays so: its differences are lost.
        """
        ours, theirs = (np.array(list(item.as_dict().values())) for item in (self.weights, weights))
        ratio = np.divide(theirs, ours, out=np.zeros_like(ours), where=ours > 0)[: len(self.starts)]
        widths = np.diff([*self.starts, self.dimension])
        return np.repeat(ratio, widths).astype(np.float32)

    def encode(self, problems: Sequence[Problem]) -> NDArray[np.float32]:
        """Return the vectors of problems, to be kept.

        Args:
            problems: n problems with canonical names.

        Returns:
            Shape (n, dimension).

        Raises:
            MissingDependencyError: A text was never encoded and the text model is not there.
        """
        return self._fuse(self.blocks(problems))

    def query(self, problem: Problem) -> NDArray[np.float32]:
        """Return the vector of a question; without known words its text block is the mean of all words.

        The ranking of the answers then rests on the structured features, and ``notes`` says so.

        Returns:
            Shape (dimension,).
        """
        try:
            return self._fuse(self.blocks([problem])).reshape(self.dimension)
        except MissingDependencyError as error:
            note = f"{NO_TEXT} ({error.hint})"
            if note not in self.notes:
                self.notes.append(note)
        neutral = self._features.matrix([problem])
        neutral["text"] = np.zeros((1, TEXT_WIDTH), dtype=np.float32)
        return self._fuse(neutral).reshape(self.dimension)

    def blocks(self, problems: Sequence[Problem]) -> dict[str, NDArray[np.float32]]:
        """Return the blocks before weighting, by name; shape (n, its width) each."""
        blocks = self._features.matrix(problems)
        if self._text is not None and self._projection is not None:
            texts = [words(problem, self._hardware) for problem in problems]
            distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
            table = self._projection.apply(self._text.encode(list(distinct)))
            blocks["text"] = table[[distinct[text] for text in texts]]
        return blocks

    def _fuse(self, blocks: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        weights = self.weights.as_dict()
        rows = len(next(iter(blocks.values())))
        out = np.empty((rows, self.dimension), dtype=np.float32)
        at = 0
        for name, block in blocks.items():
            np.multiply(block, np.float32(weights[name]), out=out[:, at : at + block.shape[1]])
            at += block.shape[1]
        return out


_SIZE = re.compile(r"a?\d+([.x]\d+)*[bmkt]?", re.IGNORECASE)
_VERBS = {"lower": "minimise", "higher": "maximise"}


def words(problem: Problem, hardware: HardwareFacts) -> str:
    """Describe a problem in words: activity, model, hardware, bottlenecks, objective.

    Args:
        problem: A problem with canonical names.
        hardware: The tree that knows what a device belongs to.

    Returns:
        Such as ``"pretrain training of qwen2 on dgx h100, hopper, nvidia; slow link; maximise
        throughput"``; the same for problems that differ in numbers alone.
    """
    workload = problem.workload
    parts = [f"{_plain(workload.operator)} {workload.kind}"]
    if workload.model:
        parts.append(f"of {_without_sizes(workload.model)}")
    parts.append("on " + ", ".join(_plain(node) for node in places(hardware, problem.hardware.name)))
    text = " ".join(parts)
    limits = ", ".join(_plain(name) for name in problem.bottlenecks)
    wanted = f"{_VERBS[problem.objective.better]} {_plain(problem.objective.metric)}"
    return "; ".join(part for part in (text, limits, wanted) if part)


def _plain(name: str) -> str:
    return " ".join(re.split(r"[\s_\-./]+", name.lower())).strip()


def _without_sizes(model: str) -> str:
    """Return family words of a model: ``meta-llama/Llama-3-8B`` gives ``meta llama``."""
    kept = [word for word in _plain(model).split() if not _SIZE.fullmatch(word)]
    return " ".join(dict.fromkeys(kept)) or _plain(model)


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
        return cls.shipped() if header["encoder_hash"] == encoder.hash else cls.draw(encoder.dimension)

    @classmethod
    def shipped(cls) -> Projection:
        """Load ``data/retrieval/text_projection.f32``: the mean, then the directions, rows of float32."""
        header = json.loads(data.text("retrieval/text_projection.json"))
        content = data.resource("retrieval/text_projection.f32").read_bytes()
        table = np.frombuffer(content, dtype="<f4").reshape(1 + TEXT_WIDTH, header["dimension"])
        return cls(mean=table[0], directions=table[1:].T)

    @classmethod
    def draw(cls, dimension: int) -> Projection:
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
