"""Packed files unpack to what they declare and no more, inside of their folder."""

import gzip
import io
import os
import pickle
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from kg import archives
from kg.archives import UnpackError, arrays, gunzip, pieces, unpack_tar, unpack_zip
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


def test_a_tar_archive_is_read_as_far_as_its_members_say(tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    packed = tar((member("in/a/b", len(content)), content), (member("c", 1), b"1"))
    assert list(unpack_tar(packed, tmp_path, lambda name: name, most_bytes=4 << 20)) == ["in/a/b", "c"]
    assert (tmp_path / "in/a/b").read_bytes() == content
    large = tar((member("a", pax_headers={"comment": "x" * (4 << 20)}), b""))
    with pytest.raises(UnpackError, match="longer than it says"):  # a header is no place for content
        list(unpack_tar(large, tmp_path / "large", lambda name: name, most_bytes=9))
    cut = io.BytesIO(packed.getvalue()[: 2 << 20])
    for short in (cut, io.BytesIO(b"no archive" * 99)):
        with pytest.raises(UnpackError, match="no whole archive"):
            list(unpack_tar(short, tmp_path / "cut", lambda name: name, most_bytes=4 << 20))


def test_durable_members_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append((tmp_path / "a").read_bytes()))
    list(unpack_tar(tar((member("a", 1), b"1")), tmp_path, lambda name: name, most_bytes=9, durable=True))
    assert synced == [b"1"]


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
    path.write_bytes(gzip.compress(bytes(2 << 20)))
    assert gunzip(path) == bytes(2 << 20)  # a thousandfold, and little
    monkeypatch.setattr(archives, "FREE_EXPANSION", 1 << 20)
    path.write_bytes(gzip.compress(noise := os.urandom(2 << 20)))
    assert gunzip(path) == noise
    path.write_bytes(gzip.compress(bytes(64 << 20)))
    with pytest.raises(InputError, match="grows more than 250 times"):
        gunzip(path)
    path.write_bytes(gzip.compress(b"hello" * 100)[:-9])
    with pytest.raises(InputError, match="break off"):
        gunzip(path)
    path.write_bytes(b"hello")
    with pytest.raises(InputError, match="no gzip"):
        gunzip(path)


def test_a_disk_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "CHUNK", 2)

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() == 2:
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(UnpackError, match="cannot be read further"):
        list(pieces(Failing(b"plain")))


def test_what_stands_before_damage_is_given(tmp_path: Path) -> None:
    noise, path = os.urandom(100_000), tmp_path / "a.gz"
    cut = gzip.compress(bytes(5 << 20))[:-20]
    whole = zlib.decompressobj(wbits=31).decompress(cut)
    for damaged, why, least in (
        (cut, "break off", whole),
        (gzip.compress(noise, compresslevel=0)[:-8] + bytes(8), "damaged gzip", noise[:-32]),
    ):
        path.write_bytes(damaged)
        came: list[bytes] = []
        with path.open("rb") as disk, pytest.raises(UnpackError, match=why):
            came.extend(pieces(disk))
        got = b"".join(came)
        assert got.startswith(least)
        assert (whole if damaged is cut else noise).startswith(got)


def declared(shape: str, kind: str = "<f8") -> bytes:
    made = io.BytesIO()
    np.save(made, np.zeros(2))
    return (
        made.getvalue().replace(b"'shape': (2,)", f"'shape': {shape}".encode()).replace(b"<f8", kind.encode())
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (declared("(9999999999,)"), "larger than it may be"),
        (declared("(100,)"), "larger than it may be"),
        (declared("(3,)"), "damaged|reading"),
        (declared("(2,)", "|O8"), "larger than it may be"),
        (b"no array", "magic"),
        (b"", "EOF|reading"),
    ],
)
def test_arrays_are_as_large_as_they_say(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", content)
    with pytest.raises(ValueError, match=why):
        arrays(path)


class Hostile:
    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.made,)


def test_no_code_comes_with_arrays(tmp_path: Path) -> None:
    """A ZIP archive may stand behind other bytes, which numpy takes for a pickle."""
    np.savez(tmp_path / "a.npz", a=np.arange(3))
    plain = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(pickle.dumps(Hostile(tmp_path / "made")) + plain)
    with pytest.raises(ValueError, match="pickled"):
        arrays(tmp_path / "a.npz")
    assert not (tmp_path / "made").exists()


def test_arrays_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yy"]), "c": np.array(3)}
    np.savez_compressed(tmp_path / "a.npz", **made)  # type: ignore[arg-type]  # numpy types the keywords as its options
    back = arrays(tmp_path / "a.npz")
    assert {name: item.tolist() for name, item in back.items()} == {k: v.tolist() for k, v in made.items()}
    with (tmp_path / "a.npz").open("rb") as stream:
        assert arrays(stream).keys() == made.keys()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        size = sum(item.file_size for item in archive.infolist())
    monkeypatch.setattr(archives, "MOST_ARRAY_BYTES", size)
    assert arrays(tmp_path / "a.npz").keys() == made.keys()
    monkeypatch.setattr(archives, "MOST_ARRAY_BYTES", size - 1)
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


@pytest.mark.parametrize(
    ("place", "byte", "why"),
    [
        (6, 1, "an encrypted archive"),
        (8, 99, "a damaged archive"),
        (4, 99, "a damaged archive"),
    ],
)
def test_a_zip_file_that_cannot_be_read_says_why(tmp_path: Path, place: int, byte: int, why: str) -> None:
    """Bytes of both headers of a member: flags, method, version."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "1")
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\1\2")
    for at in (place, central + place + 2):
        content[at] = byte
    path.write_bytes(content)
    with pytest.raises(InputError, match=why):
        unpack_zip(path, tmp_path / "out", most_bytes=100, most_files=9)
