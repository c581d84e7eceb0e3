"""The sources of a release as a folder: a folder, an archive of a package index, or a tag of a repository."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.oracle.archives import archive_files, tag_files
from tools.oracle.settings.plans import Plan

_ARCHIVE = re.compile(r"[\w.-]+?-(?P<release>\d[^-]*?)(?:\.tar\.gz|-.*\.whl)")
_DATA = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
"""Folder of a wheel whose files are installed beside its others."""
_READ = re.compile(
    r"\.(?:py|ya?ml|md|rst|cc|cpp|hpp|h|json|rs)$|Dockerfile$|pyproject\.toml$|requirements(?:[^/]*|/.*)\.txt$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The sources of one release.

    Attributes:
        folder: Where they lie.
        release: Name of the release.
        ref: Tag or commit.
        beneath: Releases of the programs beneath it that the sources name.
    """

    folder: Path
    release: str
    ref: str
    beneath: dict[str, str]


@contextmanager
def checkout(plan: Plan, source: str, release: str = "", ref: str = "") -> Iterator[Checkout]:
    """The sources of a release, unpacked where they are packed.

    Args:
        plan: The program.
        source: A folder; an archive (``.tar.gz``, ``.whl``) named as package indexes do; ``REPOSITORY@TAG``.
        release: Name of the release, where the source does not say it.
        ref: Tag or commit, where the source does not say it.

    Raises:
        ValueError: It is none of these, or names no release.
    """
    path, _, tag = source.rpartition("@")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if path and (Path(path).is_dir()):
            ref, folder = ref or tag, _written(tag_files(Path(path), tag, _READ), folder)
        elif Path(source).is_dir():
            folder = Path(source)
        elif (match := _ARCHIVE.fullmatch(Path(source).name)) and Path(source).is_file():
            ref = ref or plan.tag.format(match["release"])
            files = list(_inside(Path(source)))
            whole = any(name.startswith(f"{plan.package}/") for name, _ in files)
            _written(files, folder if whole else folder / plan.package)
        else:
            raise ValueError(f"no folder of sources: {source}")
        if not release and not ref:
            raise ValueError(
                f"{source} names no release: give --ref, and --release where the tag is not its name"
            )
        name = release or ref.removeprefix(plan.tag.partition("{}")[0]).removeprefix("v")
        yield Checkout(folder=folder, release=name, ref=ref or name, beneath=_pinned(plan, folder))


def _written(files: Iterable[tuple[str, bytes]], folder: Path) -> Path:
    for name, content in files:
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return folder


def _inside(path: Path) -> Iterator[tuple[str, bytes]]:
    """The texts of an archive; those of a source distribution without its outermost folder."""
    for name, content in archive_files(path, _READ):
        yield _DATA.sub("", name) if path.suffix == ".whl" else name.partition("/")[2] or name, content


def _pinned(plan: Plan, folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, (paths, pattern) in plan.pinned.items():
        present = [folder / path for path in paths.split("|") if (folder / path).is_file()]
        text = "\n".join(path.read_text(encoding="utf-8") for path in present)
        if match := re.search(pattern, text):
            found[name] = match[1]
    return found
