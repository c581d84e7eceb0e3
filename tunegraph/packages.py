"""A check that the packages of this program are its own, and not others of the same name.

Their names are common words. A folder of the same name on ``PYTHONPATH`` hides one of them, and another
distribution may have been installed over one. Only the standard library is imported, and nothing of a
stranger is run.
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("tunegraph", "kg", "embeddings", "recommender", "ingest", "cli", "data")
_MARKER = "__tunegraph__ = True"


def foreign_packages() -> tuple[str, str] | None:
    """The packages that are not ours with their places, and how to mend that; None where all are ours."""
    home = Path(__file__).resolve().parent.parent
    strangers: list[str] = []
    is_overwritten = False
    for name in PACKAGES:
        place, source = _place_and_source(name)
        if place.parent == home and _MARKER in source:
            continue
        strangers.append(f"{name} at {place}")
        is_overwritten |= place.parent == home
    if not strangers:
        return None
    where = f"another package stands in for ours: {', '.join(strangers)}"
    if is_overwritten:
        mend = "it was installed over ours: install tunegraph alone in a fresh virtual environment"
        return where, f"{mend}, or again: pip install --force-reinstall --no-deps tunegraph"
    return (
        where,
        "take its folder off PYTHONPATH, or start Python elsewhere if it is the working folder",
    )


def _place_and_source(name: str) -> tuple[Path, str]:
    """The folder from which Python takes a package, and the text of its ``__init__``; it is not run."""
    try:
        spec = find_spec(name)
    except ValueError:  # somebody put a module without a specification in its place
        spec = None
    if spec is None:
        return Path(name), ""
    get_source = getattr(spec.loader, "get_source", None)
    text = get_source(name) if spec.origin and get_source else ""
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve(), text or ""
    return Path(spec.origin or name).resolve(), text or ""
