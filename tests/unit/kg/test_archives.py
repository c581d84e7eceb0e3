"""Packed files unpack to what they declare and no more, inside of their folder."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kg import archives
from kg.archives import arrays, gunzip, unpack_tar, unpack_zip
from kg.errors import InputError


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    made.seek(0)
    return made


def member(name: str, size: int = 0, **changes: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size = size
    for key, value in changes.items():
        setattr(made, key, value)
    return made


SPARSE = {
    "GNU.sparse.major": "0",
    "GNU.sparse.minor": "1",
    "GNU.sparse.name": "holes",
    "GNU.sparse.size": str(1 << 40),
    "GNU.sparse.map": "0,0",
}


@pytest.mark.parametrize(
    "hostile",
    [
        member("holes", pax_headers=SPARSE),
        member("../a"),
        member("a/../../b"),
        member("/etc/a"),
        member("a\\b"),
        member("c:/a"),
        member("d/" * 2000 + "a"),
        member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("link", type=tarfile.LNKTYPE, linkname="fine"),
        member("pipe", type=tarfile.FIFOTYPE),
    ],
    ids=lambda item: item.name,
)
def test_a_hostile_member_is_refused_and_nothing_of_it_written(
    hostile: tarfile.TarInfo, tmp_path: Path
) -> None:
    packed = tar((member("fine", 2), b"ok"), (hostile, b""))
    with pytest.raises(InputError, match="no plain file below its folder"):
        list(unpack_tar(packed, tmp_path / "in", lambda name: name, most_bytes=1 << 20))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["fine"]


def test_members_have_together_what_is_allowed(tmp_path: Path) -> None:
    packed = tar((member("a", 6), b"123456"), (member("b", 6), b"123456"))
    assert list(unpack_tar(packed, tmp_path / "one", lambda name: name, most_bytes=12)) == ["a", "b"]
    packed.seek(0)
    with pytest.raises(InputError, match="more than the 11 bytes"):
        list(unpack_tar(packed, tmp_path / "two", lambda name: name, most_bytes=11))
    packed.seek(0)
    assert list(unpack_tar(packed, tmp_path / "three", {"b": "c"}.get, most_bytes=6)) == ["c"]
    assert [path.name for path in (tmp_path / "three").iterdir()] == ["c"]
    twice = tar((member("a", 1), b"1"), (member("a", 1), b"2"))
    with pytest.raises(FileExistsError):
        list(unpack_tar(twice, tmp_path / "four", lambda name: name, most_bytes=9))


def test_durable_members_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    list(unpack_tar(tar((member("a", 1), b"1")), tmp_path, lambda name: name, most_bytes=9, durable=True))
    assert len(synced) == 1


def test_a_zip_file_declares_what_it_unpacks_to(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(1 << 20))
    lying = path.read_bytes().replace((1 << 20).to_bytes(4, "little"), (8).to_bytes(4, "little"))
    path.write_bytes(lying)  # both headers say 8 bytes
    with pytest.raises(InputError, match="damaged"):
        unpack_zip(path, tmp_path / "in", most_bytes=1 << 10, most_files=1)
    assert sum(item.stat().st_size for item in (tmp_path / "in").rglob("*")) <= 8


@pytest.mark.parametrize(("most_bytes", "most_files"), [(11, 9), (99, 1)])
def test_a_zip_file_is_bounded_before_anything_is_written(
    tmp_path: Path, most_bytes: int, most_files: int
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "123456")
        archive.writestr("b", "123456")
    with pytest.raises(InputError, match=r"more than|are taken"):
        unpack_zip(path, tmp_path / "in", most_bytes=most_bytes, most_files=most_files)
    assert not (tmp_path / "in").exists()
    assert unpack_zip(path, tmp_path / "in", most_bytes=12 if most_bytes < 12 else 99, most_files=2) == 2


def test_gzip_grows_within_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"hello") + gzip.compress(b" world"))
    assert gunzip(path) == b"hello world"
    monkeypatch.setattr(archives, "FREE_EXPANSION", 1 << 20)
    path.write_bytes(gzip.compress(bytes(64 << 20)))
    with pytest.raises(InputError, match="grows more than 250 times"):
        gunzip(path)
    path.write_bytes(gzip.compress(b"hello" * 100)[:-9])
    with pytest.raises(InputError, match="break off"):
        gunzip(path)
    path.write_bytes(b"hello")
    with pytest.raises(InputError, match="no gzip"):
        gunzip(path)


def declared(shape: str, kind: str = "<f8") -> bytes:
    made = io.BytesIO()
    np.save(made, np.zeros(2))
    return (
        made.getvalue().replace(b"'shape': (2,)", f"'shape': {shape}".encode()).replace(b"<f8", kind.encode())
    )


@pytest.mark.parametrize(
    "content",
    [
        declared("(9999999999,)"),
        declared("(3,)"),
        declared("(2,)", "|O8"),
        b"no array",
        b"",
    ],
)
def test_arrays_are_as_large_as_they_say(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", content)
    with pytest.raises(ValueError, match=r"larger|magic|EOF|damaged|reading"):
        arrays(path)


def test_arrays_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yy"]), "c": np.array(3)}
    np.savez_compressed(tmp_path / "a.npz", **made)  # type: ignore[arg-type]  # numpy types the keywords as its options
    back = arrays(tmp_path / "a.npz")
    assert {name: item.tolist() for name, item in back.items()} == {k: v.tolist() for k, v in made.items()}
    with (tmp_path / "a.npz").open("rb") as stream:
        assert arrays(stream).keys() == made.keys()
    monkeypatch.setattr(archives, "MOST_ARRAY_BYTES", 100)
    with pytest.raises(ValueError, match="larger than it may be"):
        arrays(tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    with pytest.raises(ValueError, match="damaged"):
        arrays(tmp_path / "a.npz")


def test_a_file_that_is_a_folder_too_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("a/b", "2")
    with pytest.raises(InputError, match="cannot be unpacked at 'a/b'"):
        unpack_zip(path, tmp_path / "out", most_bytes=100, most_files=9)
