"""Checks of the installed packages and of the text model."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from embeddings.text_encoder import INSTALL_HINT, OnnxTextEncoder
from recommender.store.inspection import CheckResult, Severity

NEEDED = (
    "faiss",
    "networkx",
    "numpy",
    "onnxruntime",
    "pyoxigraph",
    "pyshacl",
    "rdflib",
    "tokenizers",
    "yaml",
)


def installation(cache: Path) -> Iterator[CheckResult]:
    """Findings on the installed packages and the text model.

    Args:
        cache: The user's cache directory, where text models are.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield CheckResult(
            about="packages",
            severity=Severity.FAULT,
            says=f"not installed: {', '.join(missing)}",
            remedy="pip install tunegraph",
        )
    else:
        yield CheckResult(about="packages", severity=Severity.OK, says="all that is needed is installed")
    model = OnnxTextEncoder(cache)
    if not model.available:
        yield CheckResult(
            about="text model",
            severity=Severity.NOTE,
            says="not there: similarity rests on numbers and names alone",
            remedy=f"{INSTALL_HINT}, then make the workspace anew",
        )
    elif faults := model.verify():
        yield CheckResult(
            about="text model",
            severity=Severity.FAULT,
            says="; ".join(faults),
            remedy=f"delete {model.folder}",
        )
    else:
        yield CheckResult(
            about="text model", severity=Severity.OK, says=f"{model.name}, every byte as recorded"
        )
