"""Files that ship with the program: ontology, shapes, hardware, knowledge, models, published cases.

Files are read through :func:`text` and :func:`files`, never by path, so that they are found in a wheel too.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

__tunegraph__ = True
__version__ = "0.1.0"
"""The version of the program; everything else reads it here."""


def _root() -> Traversable:
    return resources.files(__name__)


def resource(name: str) -> Traversable:
    """The shipped file ``name``, such as ``"ontology/tuning.ttl"``.

    Raises:
        FileNotFoundError: No such file ships.
    """
    found = _root().joinpath(*name.split("/"))
    if not found.is_file():
        raise FileNotFoundError(f"no shipped file {name!r}")
    return found


def text(name: str) -> str:
    """The shipped file ``name`` as text (UTF-8)."""
    return resource(name).read_text(encoding="utf-8")


def files(folder: str, suffix: str) -> Iterator[str]:
    """Names, in order, of the shipped files in ``folder`` that end in ``suffix``."""
    place = _root().joinpath(*folder.split("/"))
    for entry in sorted(place.iterdir(), key=lambda item: item.name):
        if entry.is_file() and entry.name.endswith(suffix):
            yield f"{folder}/{entry.name}"
