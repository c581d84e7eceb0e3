import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.corpora.corpus import Corpus
from ingest.corpora.fetching import fetch
from kg.errors import FetchError, InputError
from tests.unit.ingest.corpora.publisher import Publisher, archive, digest_of, publishing, sha256

FILES = {"data/one.json": b'{"a": 1}' * 5000, "data/two words.json": b"second " * 3000}


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as server:
        yield server


def corpus(server: Publisher, **changes: Any) -> Corpus:
    """A corpus of two files, or of an archive where ``take`` says so."""
    fields: dict[str, Any] = {
        "id": "toy",
        "title": "A toy",
        "source": "https://example.org/toy",
        "commit": "abc",
        "licence": "MIT",
        "reader": "cases",
        "rows": 1,
        "size_bytes": sum(map(len, FILES.values())),
        "address": server.address,
        "files": {path: sha256(content) for path, content in FILES.items()},
    }
    if "take" in changes:
        fields |= {"files": {}, "digest": digest_of(FILES), "address": f"{server.address}toy.tar.gz"}
    return Corpus(**(fields | changes))


def fetched(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_what_broke_off_is_gone_on_with(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = dict(FILES)
    publisher.cut = {"data/two words.json": 8000}
    with pytest.raises(FetchError, match=r"broke off after 8,000 of 21,000 bytes") as broken:
        fetch(corpus(publisher), tmp_path)
    assert "again" in broken.value.hint
    publisher.asked.clear()
    assert fetched(fetch(corpus(publisher), tmp_path)) == FILES
    assert publisher.asked == ["data/two words.json"]  # the file that was whole is not asked for again
    assert publisher.ranges == ["bytes=8000-"]


def test_a_server_without_ranges_sends_all_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files, publisher.knows_ranges = dict(FILES), False
    publisher.cut = {"data/one.json": 100}
    with pytest.raises(FetchError):
        fetch(corpus(publisher), tmp_path)
    assert fetched(fetch(corpus(publisher), tmp_path)) == FILES


def test_a_file_that_is_shorter_now_begins_anew(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = dict(FILES)
    publisher.cut = {"data/one.json": 30_000}
    with pytest.raises(FetchError):
        fetch(corpus(publisher), tmp_path)
    publisher.files["data/one.json"] = b"short"
    with pytest.raises(FetchError, match="416") as refused:
        fetch(corpus(publisher), tmp_path)
    assert "anew" in refused.value.hint
    publisher.files = dict(FILES)
    assert fetched(fetch(corpus(publisher), tmp_path)) == FILES


def test_a_differing_digest_is_dropped(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = FILES | {"data/two words.json": b"changed"}
    with pytest.raises(InputError, match=r"two%20words\.json: SHA-256 .* is not the .* of toy: dropped"):
        fetch(corpus(publisher), tmp_path)
    publisher.files = dict(FILES)
    assert fetched(fetch(corpus(publisher), tmp_path)) == FILES


def test_a_file_changed_on_the_disk_is_fetched_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = dict(FILES)
    (fetch(corpus(publisher), tmp_path) / "data/one.json").write_bytes(b"bitten")
    with pytest.raises(InputError, match="dropped"):
        fetch(corpus(publisher), tmp_path)
    assert fetched(fetch(corpus(publisher), tmp_path)) == FILES


@pytest.mark.parametrize(
    ("moved", "says"),
    [
        ({}, r"nothing is there any more \(HTTP 404\)"),
        ({"data/one.json": "https://other/"}, "moved to https://other/"),
    ],
)
def test_an_address_that_moved(
    publisher: Publisher, tmp_path: Path, moved: dict[str, str], says: str
) -> None:
    publisher.moved = moved
    with pytest.raises(FetchError, match=says) as gone:
        fetch(corpus(publisher), tmp_path)
    assert "--catalogue" in gone.value.hint
    assert publisher.asked == ["data/one.json"]  # a redirect is told, not followed


def test_nobody_answers(publisher: Publisher, tmp_path: Path) -> None:
    dead = corpus(publisher, address="http://127.0.0.1:9/")
    with pytest.raises(FetchError, match="does not arrive"):
        fetch(dead, tmp_path)


def test_more_bytes_than_expected_are_not_read(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = dict(FILES)
    with pytest.raises(InputError, match=r"40,000 bytes, more than the 39,999 expected"):
        fetch(corpus(publisher, size_bytes=39_999), tmp_path)
    assert fetched(tmp_path) == {}


@pytest.mark.parametrize(
    "address", ["http://example.org/", "ftp://127.0.0.1/", "file:///etc/", "https://a@b/"]
)
def test_nothing_but_https_is_fetched(publisher: Publisher, tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match="not https"):
        fetch(corpus(publisher, address=address), tmp_path)


def test_an_archive_gives_what_is_to_be_taken(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {
        "toy.tar.gz": archive(FILES | {"README": b"not this", "data/deep/er.json": b"nor this"})
    }
    publisher.cut = {"toy.tar.gz": 50}
    packed = corpus(publisher, take=("data/*.json",))
    with pytest.raises(FetchError, match="broke off"):
        fetch(packed, tmp_path)
    assert fetched(fetch(packed, tmp_path)) == FILES
    assert publisher.ranges == ["bytes=50-"]


def _member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, target
    return member


@pytest.mark.parametrize(
    "member",
    [
        _member("top/data/../../evil.json"),
        _member("top//data/evil.json"),
        _member("../data/evil.json"),
        _member("/data/evil.json"),
        _member("top/data/link.json", tarfile.SYMTYPE, target="/etc/passwd"),
        _member("top/data/link.json", tarfile.LNKTYPE, target="top/data/one.json"),
        _member("top/data/pipe.json", tarfile.FIFOTYPE),
        _member("top/data/large.json", size=1_000_000),
    ],
    ids=lambda member: f"{member.name} {member.type.decode()}",
)
def test_a_hostile_archive_leaves_nothing(
    publisher: Publisher, tmp_path: Path, member: tarfile.TarInfo
) -> None:
    publisher.files = {"toy.tar.gz": archive(FILES, member)}
    patterns = ("data/*.json", "/data/*.json", "data/../../*.json", "*/data/*.json")
    with pytest.raises(InputError):
        fetch(corpus(publisher, take=patterns), tmp_path / "corpus")
    assert fetched(tmp_path) == {}


@pytest.mark.parametrize("content", [b"", b"no archive", archive(FILES)[:-500]])
def test_what_is_no_whole_archive_is_dropped(publisher: Publisher, tmp_path: Path, content: bytes) -> None:
    publisher.files = {"toy.tar.gz": content}
    with pytest.raises(InputError):
        fetch(corpus(publisher, take=("data/*.json",)), tmp_path)
    assert fetched(tmp_path) == {}


def test_an_archive_with_other_files_is_dropped(publisher: Publisher, tmp_path: Path) -> None:
    publisher.files = {"toy.tar.gz": archive(FILES | {"data/three.json": b""})}
    with pytest.raises(InputError, match="SHA-256"):
        fetch(corpus(publisher, take=("data/*.json",)), tmp_path)
    assert fetched(tmp_path) == {}


def test_headers_without_end_are_not_read(publisher: Publisher, tmp_path: Path) -> None:
    large = _member("top/a", tarfile.XHDTYPE, size=4 << 20)
    publisher.files = {"toy.tar.gz": archive(FILES, large)}
    with pytest.raises(InputError, match="longer than it says"):
        fetch(corpus(publisher, take=("data/*.json",)), tmp_path)
