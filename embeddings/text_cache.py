"""Text vectors kept by (encoder hash, text), so that a text is encoded once in a workspace's life."""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embeddings.text_encoder import TextEncoder

logger = logging.getLogger(__name__)

_SCHEMA = """CREATE TABLE IF NOT EXISTS vectors (
    encoder TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (encoder, text)) WITHOUT ROWID"""
_BUSY_S = 5.0


class TextCache:
    """One SQLite file. It is a cache: what cannot be read or written is encoded again, and said.

    Attributes:
        path: The file; made at the first write.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Point at a file; nothing is opened before the first use.

        Args:
            path: Such as ``texts.sqlite3`` in a workspace.
            read_only: Never write; for folders where nobody may.
        """
        self.path = path
        self._read_only = read_only
        self._connection: sqlite3.Connection | None = None

    def get(self, encoder: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the cached vectors, by text."""
        connection = self._open()
        vectors: dict[str, NDArray[np.float32]] = {}
        if connection is None:
            return vectors
        query = "SELECT vector FROM vectors WHERE encoder = ? AND text = ?"
        try:
            for text in texts:
                row: tuple[bytes] | None = connection.execute(query, (encoder, text)).fetchone()
                if row is not None:
                    vectors[text] = np.frombuffer(row[0], dtype="<f4")
        except sqlite3.Error as error:
            logger.warning("%s cannot be read, texts are encoded again: %s", self.path, error)
        return vectors

    def put(self, encoder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors; does nothing where the cache may not be written."""
        connection = None if self._read_only else self._open()
        if connection is None or not vectors:
            return
        rows = [(encoder, text, vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
        try:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            logger.warning("%s cannot be written, texts will be encoded again: %s", self.path, error)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        """Return the connection, or None where there is nothing to open."""
        if self._connection is not None:
            return self._connection
        try:
            self._connection = self._connect_read_only() if self._read_only else self._connect()
        except sqlite3.Error as error:
            if self.path.exists():
                logger.warning("%s cannot be opened, texts are encoded again: %s", self.path, error)
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, check_same_thread=False)
        try:
            # A lost cache entry costs milliseconds, so no write waits for the disk.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(_SCHEMA)
        except sqlite3.OperationalError:
            connection.close()
            return self._connect_read_only()
        except sqlite3.DatabaseError:
            connection.close()
            logger.warning("%s is damaged and is made anew", self.path)
            self.path.unlink()
            return self._connect()
        return connection

    def _connect_read_only(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        return sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_BUSY_S, check_same_thread=False)


class CachedTextEncoder:
    """A text encoder that asks a cache first; imports nothing heavy while the cache has everything.

    Attributes:
        encoder: The text model behind it.
        cache: Where its vectors are kept.
    """

    def __init__(self, encoder: TextEncoder, cache: TextCache) -> None:
        self.encoder = encoder
        self.cache = cache
        self._seen: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.encoder.name

    @property
    def hash(self) -> str:
        """The model's hash: a cache changes no vector."""
        return self.encoder.hash

    @property
    def dimension(self) -> int:
        """The model's dimension."""
        return self.encoder.dimension

    @property
    def available(self) -> bool:
        """True if a new text can be encoded."""
        return self.encoder.available

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts, shape (n, dimension); the model encodes only those not cached.

        Raises:
            MissingDependencyError: A text is not kept and the model is not there.
        """
        missing = self._missing(texts)
        if missing:
            vectors = self.encoder.encode(missing)
            fresh: dict[str, Any] = dict(zip(missing, vectors, strict=True))
            self._seen.update(fresh)
            self.cache.put(self.hash, fresh)
        return np.array([self._seen[text] for text in texts], dtype=np.float32).reshape(
            len(texts), self.dimension
        )

    def _missing(self, texts: Sequence[str]) -> list[str]:
        """Return distinct texts that neither memory nor the cache has."""
        unseen = list(dict.fromkeys(text for text in texts if text not in self._seen))
        if unseen:
            self._seen.update(
                (text, vector)
                for text, vector in self.cache.get(self.hash, unseen).items()
                if vector.shape == (self.dimension,)
            )
        return [text for text in unseen if text not in self._seen]
