"""The head of a file: enough to recognise its format, or the reason why it cannot be read."""

import re
from dataclasses import dataclass
from pathlib import Path

from kg.archives import GZIP, UnpackError, pieces

HEAD_BYTES = 65_536
"""Size of the head that formats are recognised by."""

_MAGICS = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed by xz: unpack it first"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xff\xfe", "UTF-16 text: save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text: save it as UTF-8"),
)
_NO_TEXT = "neither UTF-8 text nor a format that is known"
"""Perhaps only some of its lines: it is still offered to the readers."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SPACE = b" \t\r\n"
_HIGH = re.compile(rb"[\x80-\xff]+")
_PICKLE = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first bytes of a file.

    Attributes:
        path: The file.
        size: Its length on disk, in bytes.
        compressed: It is gzip.
        content: First bytes, unpacked.
        text: The same as text; empty if they are none.
        flaw: Why it is no clean text, in words; empty if it is.
    """

    path: Path
    size: int
    compressed: bool
    content: bytes
    text: str
    flaw: str

    @property
    def name(self) -> str:
        """File name without a ``.gz``."""
        return self.path.name.removesuffix(".gz")


def read_head(path: Path) -> Head:
    """Read the head of a file.

    Raises:
        OSError: It cannot be read.
    """
    content, broken = b"", ""
    with path.open("rb") as stream:
        compressed = stream.read(len(GZIP)) == GZIP
        size = stream.seek(0, 2)
        stream.seek(0)
        try:
            for piece in pieces(stream):
                content += piece
                if len(content) > HEAD_BYTES:
                    break
        except UnpackError as fault:
            broken = str(fault)
    content = content[:HEAD_BYTES]
    flaw = broken if not content and broken else _flaw(content)
    text = "" if flaw and flaw != _NO_TEXT else content.decode(errors="replace").removeprefix("\ufeff")
    return Head(path=path, size=size, compressed=compressed, content=content, text=text, flaw=flaw)


def _flaw(content: bytes) -> str:
    if not content.strip():
        return "empty" if not content else "nothing but white space"
    for magic, meaning in _MAGICS:
        if content.startswith(magic):
            return meaning
    if content.startswith(_PICKLE):
        return "a pickle: never loaded, because loading one runs its code"
    written = content.rstrip(b"\x00")  # what a crash cut short may end in zeros
    if not written.strip(b"\x00" + _SPACE):
        return (
            "nothing but zero bytes: perhaps it was being written when a disk was full or a machine stopped"
        )
    if _is_utf16(content):
        return "UTF-16 text: save it as UTF-8"
    if len(_CONTROL.findall(written)) * 20 > len(written):
        return "binary"
    try:
        content.decode()
    except UnicodeDecodeError as fault:
        if fault.start < len(content) - 3:  # a character cut in half at the end of the head is none
            return _other_encoding(content)
    return ""


def _is_utf16(content: bytes) -> bool:
    """True if every other byte is zero and hardly any in between, as in UTF-16 of Latin text."""
    one, other = content[::2], content[1::2]
    if any(one) and any(other):
        return False
    letters = one if any(one) else other
    return len(letters) > 1 and letters.count(0) * 20 < len(letters)


def _other_encoding(content: bytes) -> str:
    """Chinese text in GBK has its high bytes in pairs, and pairs in a row; Latin-1 text has single ones."""
    runs = _HIGH.findall(content)
    paired = sum(len(run) for run in runs if len(run) % 2 == 0)
    if 2 * paired > sum(map(len, runs)):
        text = content.decode("gb18030", errors="replace")
        if text.count("\ufffd") * 10 <= sum("\u4e00" <= letter <= "\u9fff" for letter in text):
            return "GBK text: save it as UTF-8"
    return _NO_TEXT
