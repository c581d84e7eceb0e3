"""Addresses of search logs: a file, or the URL of a database without its password."""

from __future__ import annotations

import re
from importlib.util import find_spec

SERVERS = ("postgresql", "postgres")
"""Schemes of databases that many machines share."""
_HIDDEN = "***"
_USER = re.compile(r"(://[^/?#:@]*):(.*)@")
_QUERY = re.compile(r"([?&](?:ssl)?(?:password|passwd|pwd)=)([^&\s#]*)", re.IGNORECASE)


def is_url(storage: str) -> bool:
    """True for the URL of a database, False for a file."""
    return "://" in storage


def scheme(storage: str) -> str:
    """The kind of a database, without its driver: ``postgresql`` of ``postgresql+psycopg://...``."""
    return storage.partition("://")[0].partition("+")[0].lower()


def is_server(storage: str) -> bool:
    """True where workers on many machines can share a storage."""
    return is_url(storage) and scheme(storage) in SERVERS


def hide_password(storage: str) -> str:
    """A storage as it may be printed and kept: a password is three stars."""
    if not is_url(storage):
        return storage
    return _QUERY.sub(rf"\1{_HIDDEN}", _USER.sub(rf"\1:{_HIDDEN}@", storage))


def without_password(text: str, storage: str) -> str:
    """A text, such as a driver's message, from which the password of a storage is struck out."""
    for found in (*_USER.finditer(storage), *_QUERY.finditer(storage)):
        if secret := found.group(2):
            text = text.replace(secret, _HIDDEN)
    return text


def with_driver(storage: str) -> str:
    """A URL that names the driver: of PostgreSQL psycopg, where it is installed and none is named."""
    kind, _, rest = storage.partition("://")
    if kind.lower() not in SERVERS:
        return storage
    driver = "+psycopg" if find_spec("psycopg") else ""
    return f"postgresql{driver}://{rest}"
