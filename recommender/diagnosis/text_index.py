"""Things by a few bytes of their patterns: in all places of a text at once, whatever its lines say."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from recommender.diagnosis.statements import bare_parts, parts_of

T = TypeVar("T")
BATCH = 4096
"""Lines that are looked at together."""
_MOST, _LEAST, _HASHED = 8, 3, 4
"""Bytes of a pattern that places are compared with, at most and at least, and those that are hashed."""
_BITS = 20
_FACTOR, _SHIFT = np.uint32(0x9E3779B1), np.uint32(32 - _BITS)
"""Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4)."""
_SLICE = 1 << 17
"""Places that are hashed together: what they take stays in the cache of a core."""
_AGAIN = 4
"""Times as long a text by which bytes are chosen again."""


class TextIndex(Generic[T]):
    """An index of items by the bytes of their patterns that were the rarest in the text read before.

    A line that shows a thing holds all runs of its pattern without spaces, in lower case, and the digits of
    one of digits alone with none beside them. The rarest bytes of these are looked for by a table of hashes
    over all places of a text; lines that hold them are compared.
    """

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        """Index things by their patterns."""
        held = list(items)
        self._items = [(_pieces(pattern), item) for pattern, item in held]
        self._windows = [_windows(pattern) for pattern, _ in held]
        heads = b"".join(window[:_HASHED].ljust(_HASHED, b"\0") for item in self._windows for window in item)
        self._hashes = _hashes(np.frombuffer(heads, "<u4"))
        self._always = [place for place, item in enumerate(self._windows) if not item]
        self._gone: set[int] = set()
        self._learned = 0

    def find(self, lines: Sequence[bytes]) -> Iterator[list[T]]:
        """Yield, for each line, the items that may have a pattern in it, each once, in their own order."""
        for start in range(0, len(lines), BATCH):
            batch = lines[start : start + BATCH]
            shown = self.near(b"\n".join(batch))
            for row, line in enumerate(batch):
                if held := shown.get(row, self._always):
                    lowered = line.lower()
                    items = (self._items[place] for place in sorted(held))
                    found = (item for pieces, item in items if all(map(lowered.__contains__, pieces)))
                    yield list(dict.fromkeys(found))
                else:
                    yield []

    def near(self, text: bytes) -> dict[int, set[int]]:
        """By lines of a text the places of things that may stand in them; none of those without bytes."""
        shown: dict[int, set[int]] = {}
        places, buckets = self._found(text)
        for row, bucket in zip(rows_of(text, places), buckets.tolist(), strict=True):
            shown.setdefault(row, set(self._always)).update(self._held[bucket])
        return shown

    def places(self, text: bytes) -> NDArray[np.intp]:
        """Places of a text at which a thing may stand."""
        return self._found(text)[0]

    def drop(self, is_told: Callable[[T], bool]) -> None:
        """Look no longer for things that have told what they tell, from the next text on."""
        self._gone |= {place for place, (_, item) in enumerate(self._items) if is_told(item)}
        self._learned = 0

    def _found(self, text: bytes) -> tuple[NDArray[np.intp], NDArray[np.uint16]]:
        """Places with the bytes that are looked for, and whose they are."""
        low = text.lower() + bytes(_MOST + 1)
        if len(text) > _AGAIN * self._learned:
            self._learn(low)
        parts = [
            start + np.flatnonzero(self._table[_hashes(_words(low, "<u4", start, _SLICE))])
            for start in range(0, len(low) - _MOST, _SLICE)
        ]
        places = np.concatenate(parts)
        wide = _words(low, "<u8", 0, len(low))[places]
        buckets = self._table[_hashes(wide.astype(np.uint32))]
        kept = (wide & self._masks[buckets]) == self._values[buckets]
        ends = self._digits[buckets]
        is_digit = np.frombuffer(low, np.uint8) - np.uint8(ord("0")) < 10
        kept &= (ends == 0) | ~(is_digit[places - 1] | is_digit[places + ends])
        return places[kept], buckets[kept]

    def _learn(self, low: bytes) -> None:
        """Choose the bytes by which each thing is looked for: those that are rarest in a text."""
        self._learned = len(low)
        counts = np.bincount(_hashes(_words(low, "<u4", 0, len(low))), minlength=1 << _BITS)
        often = iter(zip(counts[self._hashes].tolist(), self._hashes.tolist(), strict=True))
        table: NDArray[np.uint16] = np.zeros(1 << _BITS, np.uint16)
        self._held: list[list[int]] = [[]]
        masks, values, digits = [0], [0], [0]
        for place, windows in enumerate(self._windows):
            pairs = zip(windows, often, strict=False)
            near = [(count, -len(window), window, code) for window, (count, code) in pairs]
            if not near or place in self._gone:
                continue
            _, _, window, code = min(near)
            mask, value = (1 << 8 * len(window)) - 1, int.from_bytes(window, "little")
            codes = [code]
            if len(window) < _HASHED:  # whatever byte follows
                every = np.arange(256, dtype=np.uint32) << np.uint32(8 * _LEAST)
                codes = list(dict.fromkeys(_hashes(every | np.uint32(value)).tolist()))
            for one in codes:
                if not (bucket := int(table[one])):
                    bucket = table[one] = len(self._held)
                    self._held.append([])
                    masks.append(mask)
                    values.append(value)
                    digits.append(len(window) if window.isdigit() else 0)
                while (values[bucket] ^ value) & masks[bucket] & mask or masks[bucket] > mask:
                    masks[bucket] >>= 8  # of several things what they share
                    digits[bucket] = 0
                values[bucket] &= masks[bucket]
                self._held[bucket].append(place)
        self._table = table
        self._masks, self._values = np.array(masks, np.uint64), np.array(values, np.uint64)
        self._digits = np.array(digits, np.intp)


def rows_of(text: bytes, places: NDArray[np.intp]) -> list[int]:
    """The lines of a text in which places stand, from 0."""
    rows: list[int] = np.searchsorted(ends_of(text), places).tolist()
    return rows


def ends_of(text: bytes) -> NDArray[np.intp]:
    """Places at which lines of a text end before the last one."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


def _hashes(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return (words * _FACTOR) >> _SHIFT


def _words(low: bytes, kind: str, start: int, most: int) -> NDArray[Any]:
    """Words at each place of a text that ends with bytes for the last ones, from a place on."""
    count = min(most, len(low) - _MOST - start)
    return np.ndarray((count,), kind, low, start, (1,))


def _pieces(pattern: str) -> tuple[bytes, ...]:
    """Runs without spaces that a line holds in lower case, the longest first."""
    texts = (text.lower().encode() for kind, text in parts_of(pattern) if kind == "text")
    return tuple(sorted({piece for text in texts for piece in text.split()}, key=len, reverse=True))


def _windows(pattern: str) -> list[bytes]:
    """Bytes that a line holds in lower case, also with several spaces; short ones where none is longer."""
    if pattern.isdigit() and len(pattern) > _LEAST:
        return [pattern.encode()[:_MOST]]
    found: list[bytes] = []
    for raw in (text.lower().encode() for kind, text in bare_parts(pattern) if kind == "text"):
        for start in range(len(raw) - _LEAST + 1):
            window = raw[start : start + _MOST]
            end = window.find(b" ", 1)
            found.append(window if end < 0 else window[: end + 1])
    return [item for item in found if len(item) >= _HASHED] or [item for item in found if len(item) == _LEAST]
