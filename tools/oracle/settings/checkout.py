"""The sources of a release as a folder: a folder, an archive of a package index, or a tag of a repository."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.settings.plans import Plan

_ARCHIVE = re.compile(r"[\w.-]+?-(?P<release>\d[^-]*?)(?:\.tar\.gz|-.*\.whl)")
_READ = re.compile(
    r"\.(?:py|ya?ml|md|rst|cc|cpp|hpp|h|json)$|Dockerfile$|pyproject\.toml$|requirements(?:[^/]*|/.*)\.txt$"
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
            ref, folder = ref or tag, _of_tag(Path(path), tag, folder)
        elif Path(source).is_dir():
            folder = Path(source)
        elif (match := _ARCHIVE.fullmatch(Path(source).name)) and Path(source).is_file():
            ref = ref or plan.tag.format(match["release"])
            _unpack(Path(source), folder / plan.package)
        else:
            raise ValueError(f"no folder of sources: {source}")
        if not release and not ref:
            raise ValueError(
                f"{source} names no release: give --ref, and --release where the tag is not its name"
            )
        name = release or ref.removeprefix("core_").removeprefix("v")
        yield Checkout(folder=folder, release=name, ref=ref or name, beneath=_pinned(plan, folder))


def _of_tag(repository: Path, tag: str, folder: Path) -> Path:
    """The texts of a tag; other files may be missing from a copy of the repository."""
    git = ["git", "-C", str(repository)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", tag], capture_output=True, text=True, check=False
    )
    names = [name for name in listed.stdout.splitlines() if _READ.search(name) and '"' not in name]
    packed = subprocess.run(
        [*git, "archive", "--format=tar", tag, "--", *names], capture_output=True, check=False
    )
    if not names or packed.returncode:
        raise ValueError(f"{repository} has no tag {tag}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        for member in archive:
            archive.extract(member, folder, filter="data")
    return folder


def _unpack(path: Path, folder: Path) -> None:
    """The texts of an archive; that of a source distribution without its outermost folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in filter(_READ.search, wheel.namelist()):
                wheel.extract(name, folder)
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and _READ.search(member.name):
                member.name = member.name.partition("/")[2] or member.name
                archive.extract(member, folder, filter="data")


def _pinned(plan: Plan, folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, (paths, pattern) in plan.pinned.items():
        present = [folder / path for path in paths.split("|") if (folder / path).is_file()]
        text = "\n".join(path.read_text(encoding="utf-8") for path in present)
        if match := re.search(pattern, text):
            found[name] = match[1]
    return found
