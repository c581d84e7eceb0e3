"""Requests over HTTP: to https or to this machine alone, without redirects."""

from typing import Any
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names of this machine."""


def is_safe(address: str) -> bool:
    """True if an address may be asked: https, or http of this machine itself."""
    parts = urlsplit(address)
    if "@" in parts.netloc or not address.isprintable() or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def send(request: Request, *, timeout_s: float) -> Any:
    """Return the reply to a request for a safe address; a redirect is an error, like any status above 299.

    Args:
        request: Its address is one that :func:`is_safe` accepts.
        timeout_s: Silence after which it is given up.

    Raises:
        HTTPError: The server refuses.
        OSError: It does not answer.
    """
    opener = OpenerDirector()
    for handler in (
        ProxyHandler({} if urlsplit(request.full_url).hostname in LOOPBACK else None),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPErrorProcessor(),
        HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener.open(request, timeout=timeout_s)
