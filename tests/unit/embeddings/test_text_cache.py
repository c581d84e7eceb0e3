from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embeddings.text_cache import CachedTextEncoder, TextCache
from embeddings.text_encoder import OnnxTextEncoder
from kg.errors import MissingDependencyError
from tests.hashing_encoder import HashingEncoder
from tests.unit.embeddings.nobody import said_by_nobody


class Counting(HashingEncoder):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(8)
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().encode(texts)


def test_a_text_is_encoded_once_even_by_another_process(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    made = CachedTextEncoder(first, TextCache(tmp_path / "texts.sqlite3")).encode(["a b", "c", "a b"])
    found = CachedTextEncoder(second, TextCache(tmp_path / "texts.sqlite3")).encode(["c", "a b"])
    assert first.asked == ["a b", "c"]
    assert second.asked == []
    assert np.array_equal(made, HashingEncoder(8).encode(["a b", "c", "a b"]))
    assert np.array_equal(found, made[[1, 0]])


def test_vectors_of_another_encoder_are_not_taken(tmp_path: Path) -> None:
    cache = TextCache(tmp_path / "texts.sqlite3")
    CachedTextEncoder(HashingEncoder(16), cache).encode(["a"])
    assert CachedTextEncoder(HashingEncoder(8), cache).encode(["a"]).shape == (1, 8)


def test_no_texts_give_no_vectors(tmp_path: Path) -> None:
    encoder = CachedTextEncoder(Counting(), TextCache(tmp_path / "texts.sqlite3"))
    assert encoder.encode([]).shape == (0, 8)


def test_what_is_kept_needs_no_model(tmp_path: Path) -> None:
    missing = OnnxTextEncoder(tmp_path / "nothing-here")
    cache = TextCache(tmp_path / "texts.sqlite3")
    kept = np.ones(384, dtype=np.float32)
    cache.put(missing.hash, {"known": kept})
    encoder = CachedTextEncoder(missing, cache)
    assert np.array_equal(encoder.encode(["known"])[0], kept)
    with pytest.raises(MissingDependencyError):
        encoder.encode(["known", "new"])


def test_a_damaged_cache_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "texts.sqlite3"
    path.write_bytes(b"this is no database, and long enough to be looked at " * 100)
    CachedTextEncoder(Counting(), TextCache(path)).encode(["a"])
    assert "damaged" in caplog.text
    assert list(TextCache(path).get(HashingEncoder(8).hash, ["a"])) == ["a"]


def test_reading_only_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite3"
    encoder = Counting()
    CachedTextEncoder(encoder, TextCache(path, read_only=True)).encode(["a"])
    assert not path.exists()
    TextCache(path).put(encoder.hash, {"a": np.zeros(8, dtype=np.float32)})
    CachedTextEncoder(encoder, TextCache(path, read_only=True)).encode(["a", "b"])
    assert encoder.asked == ["a", "b"]
    assert list(TextCache(path).get(encoder.hash, ["a", "b"])) == ["a"]


def test_a_folder_nobody_may_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite3"
    TextCache(path).put("hash", {"a": np.zeros(8, dtype=np.float32)})
    script = (
        "cache = TextCache(place / 'texts.sqlite3')\ncache.put('hash', {'b': numpy.zeros(8, 'f4')})\n"
        "print(sorted(cache.get('hash', ['a', 'b'])))"
    )
    imports = "import numpy\nfrom embeddings.text_cache import TextCache"
    assert said_by_nobody(imports, script, tmp_path, path) == "['a']"
