"""Archives are unpacked within bounds, and inside of their folder."""

import asyncio
import zipfile
from pathlib import Path

import pytest
from starlette.requests import Request

from kg.errors import InputError
from recommender.service import upload
from recommender.service.upload import received, unpacked


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "run.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_an_archive_is_its_folder(tmp_path: Path) -> None:
    folder = unpacked(packed(tmp_path, {"run/a/x.csv": b"1", "run/y.csv": b"2"}))
    assert folder == tmp_path / "profile" / "run"
    assert (folder / "a" / "x.csv").read_bytes() == b"1"
    assert unpacked(tmp_path / "x.csv") == tmp_path / "x.csv"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "..\\x", "C:\\x", ".", "d/" * 2000 + "x"])
def test_an_archive_stays_in_its_folder(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    with pytest.raises(InputError, match="outside of itself"):
        unpacked(packed(inner, {name: b"1"}))
    assert [item.name for item in tmp_path.iterdir()] == ["in"]


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path, {"a": bytes(3 << 20), "b": bytes(3 << 20)})
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(upload, "MOST_UNPACKED_BYTES", 4 << 20)
    with pytest.raises(InputError, match="more than 4 MiB"):
        unpacked(path)
    monkeypatch.setattr(upload, "MOST_FILES", 1)
    with pytest.raises(InputError, match="2 files; 1 are taken"):
        unpacked(path)


def test_a_damaged_or_empty_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK no archive")
    with pytest.raises(InputError, match="damaged archive"):
        unpacked(path)
    with pytest.raises(InputError, match="an empty archive"):
        unpacked(packed(tmp_path, {}))


def test_an_upload_takes_no_place_that_is_taken(tmp_path: Path) -> None:
    async def empty() -> dict[str, object]:
        return {"type": "http.request", "body": b"new", "more_body": False}

    (tmp_path / "kept").write_bytes(b"old")
    (tmp_path / "a.csv").symlink_to(tmp_path / "kept")
    request = Request({"type": "http", "headers": []}, empty)
    with pytest.raises(FileExistsError):
        asyncio.run(upload.received(request, tmp_path, "a.csv"))
    assert (tmp_path / "kept").read_bytes() == b"old"


def test_an_upload_is_removed_whole(tmp_path: Path) -> None:
    (tmp_path / "up" / "run").mkdir(parents=True)
    (tmp_path / "up" / "run" / "a.csv").touch()
    for _ in range(2):
        upload.discard(tmp_path / "up")
    assert not (tmp_path / "up").exists()


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/b", ".a", "", "a\nb", "a" * 200])
def test_a_name_that_is_no_plain_file_name_is_refused_before_anything_is_read(
    name: str, tmp_path: Path
) -> None:
    request = Request({"type": "http", "headers": []})  # without a body to read
    with pytest.raises(InputError, match="no plain file name"):
        asyncio.run(received(request, tmp_path, name))
    assert not list(tmp_path.iterdir())
