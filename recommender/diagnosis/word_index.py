"""Patterns by a word that each line they find must hold, so that expressions run on few lines."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar

from recommender.diagnosis.statements import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")
_SHORTEST = 4
"""Letters of a word that is rare enough to look for: shorter ones stand in most lines."""
_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(
    range(128, 256)
)
"""Letters in lower case, what is no letter or digit as a space; bytes of other scripts stay."""


def words_of(line: bytes) -> set[bytes]:
    """The words of a line: runs of letters and digits, in lower case."""
    return set(line.translate(_WORDS).split())


class WordIndex(Generic[T]):
    """Things by a rare word of their patterns.

    A word counts that a pattern holds with what ends it on both sides: no longer word of a line hides it.
    What has no such word is found by its longest text in the lower-case line.
    """

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        """Index things by their patterns; a code is a pattern between spaces."""
        held = [(_texts(pattern), item) for pattern, item in items]
        needed = [
            (frozenset(word for text in texts for word in _inner(text)), texts, item) for texts, item in held
        ]
        common = Counter(word for words, _, _ in needed for word in words)
        self._by_word: dict[bytes, list[tuple[int, frozenset[bytes], T]]] = {}
        self._by_text: list[tuple[bytes, int, T]] = []
        for place, (words, texts, item) in enumerate(needed):
            if words:
                word = min(words, key=lambda one: (common[one], -len(one), one))
                self._by_word.setdefault(word, []).append((place, words, item))
            else:
                longest = max((piece for text in texts for piece in text.split()), key=len, default=b"")
                self._by_text.append((longest, place, item))
        self._words = frozenset(self._by_word)

    def find(self, line: bytes) -> list[T]:
        """The things of which a pattern may find a line, each once, in the order in which they were given."""
        words = words_of(line)
        found = [
            (place, item)
            for word in self._words & words
            for place, needed, item in self._by_word[word]
            if needed <= words
        ]
        if self._by_text:
            lowered = line.lower()
            found += [(place, item) for text, place, item in self._by_text if text in lowered]
        return list(dict.fromkeys(item for _, item in sorted(found, key=itemgetter(0))))


def _texts(pattern: str) -> list[bytes]:
    return [text.lower().encode() for kind, text in parts_of(pattern) if kind == "text"]


def _inner(text: bytes) -> list[bytes]:
    """Words of a text that something ends on both sides."""
    spaced = text.translate(_WORDS)
    words = spaced.split()
    first, last = spaced[:1].isspace(), spaced[-1:].isspace()
    inner = words[0 if first else 1 : len(words) if last else max(len(words) - 1, 0)]
    return [word for word in inner if len(word) >= _SHORTEST]
