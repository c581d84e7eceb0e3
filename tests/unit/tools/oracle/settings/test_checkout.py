"""Sources as a folder, an archive or a tag."""

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.oracle.settings.checkout import checkout
from tools.oracle.settings.plans import Plan

PLAN = Plan(software="toy", source="", package="python", pinned={"base": ("Dockerfile", r"BASE=v(\S+)")})


def test_an_archive_is_unpacked_without_its_outermost_folder(tmp_path: Path) -> None:
    path = tmp_path / "toy-1.2.post1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("toy-1.2.post1/toy/args.py", "toy-1.2.post1/toy/weights.bin"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO(b""))
    with checkout(PLAN, str(path)) as found:
        assert (found.release, found.ref) == ("1.2.post1", "v1.2.post1")
        assert [item.name for item in found.folder.rglob("*.*")] == ["args.py"]
        assert (found.folder / "python" / "toy" / "args.py").is_file()


def test_a_wheel_is_opened_and_not_installed(tmp_path: Path) -> None:
    path = tmp_path / "toy-2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("toy/args.py", "")
    with checkout(PLAN, str(path)) as found:
        assert found.release == "2.0"
        assert (found.folder / "python" / "toy" / "args.py").is_file()


def test_a_tag_of_a_repository_says_what_it_stands_on(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True
        )

    git("init", "-q")
    (tmp_path / "args.py").write_text("")
    (tmp_path / "Dockerfile").write_text("ARG BASE=v0.9\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "v3.0")
    with checkout(PLAN, f"{tmp_path}@v3.0") as found:
        assert (found.release, found.ref, found.beneath) == ("3.0", "v3.0", {"base": "0.9"})
        assert (found.folder / "args.py").is_file()
    with pytest.raises(ValueError, match="no tag v4"), checkout(PLAN, f"{tmp_path}@v4"):
        pass


@pytest.mark.parametrize(("name", "said"), [("nowhere", "no folder of sources"), ("", "names no release")])
def test_what_cannot_be_opened_is_said(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said), checkout(PLAN, str(tmp_path / name)):
        pass
