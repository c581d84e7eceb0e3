"""Access to the server: the names it answers to, its token, and limits on size and time of requests."""

from __future__ import annotations

import asyncio
import hmac
import os
import stat
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from kg.errors import InputError
from recommender.service.problem_details import RefusedError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no token: whoever starts servers asks them."""
LEAST_TOKEN = 16
"""Characters of a token at least; 16 of hexadecimal are 64 bits. A choice."""
MOST_BODY_BYTES = 1_000_000
"""Largest question, as of a problem file."""
MOST_UPLOAD_BYTES = 64 << 20
"""Largest profile."""
BODY_SECONDS = 30.0
"""For a question to arrive; a choice."""
UPLOAD_SECONDS = 300.0
"""For a profile to arrive; a choice."""
_FORBIDDEN_PARAMETERS = frozenset({"token", "access_token", "authorization"})
"""RFC 6750 2.3 says not to send a token in an address, which lands in logs."""


def read_token(path: Path) -> bytes:
    """The token in a file that nobody else can read.

    Raises:
        InputError: The file is missing, open to others, or holds no token.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            token = file.read(4096).strip()
    except OSError as fault:
        raise InputError(f"{path}: {fault.strerror}", hint="make it: openssl rand -hex 32 > FILE") from None
    if mode & 0o077:
        raise InputError(f"{path}: others may read it (mode {mode:o})", hint=f"chmod 600 {path}")
    if len(token) < LEAST_TOKEN or not token.isascii() or len(token.split()) != 1:
        hint = "make it: openssl rand -hex 32 > FILE"
        raise InputError(f"{path}: no token of {LEAST_TOKEN} characters or more", hint=hint)
    return token


def is_loopback(host: str) -> bool:
    """True if an address reaches this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server.

    Attributes:
        hosts: Names in the Host header that it answers to, in lower case.
        token: What requests must bring; None where it listens on the loopback alone.
    """

    hosts: frozenset[str]
    token: bytes | None = None

    @classmethod
    def of(cls, host: str, names: Iterable[str] = (), token: bytes | None = None) -> Access:
        """The rules of a server that listens on ``host`` and is also called ``names``.

        Raises:
            InputError: Others could reach it, and there is no token.
        """
        if token is None and not is_loopback(host):
            raise InputError(
                f"{host} can be reached by others: a token is needed",
                hint="--token-file FILE, or leave --host out",
            )
        return cls(frozenset({*LOOPBACK, host.lower(), *(name.lower() for name in names)}), token)

    def check(self, request: Request) -> None:
        """Refuse a request that may not be asked here.

        Raises:
            RefusedError: A foreign name or page, a wrong token, or a body in a form that is not taken.
        """
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self.hosts:
            raise RefusedError(421, "this server has another name", "--allow-host NAME adds one")
        origin = request.headers.get("origin")
        if origin is not None and host_name(origin.partition("://")[2]) not in self.hosts:
            raise RefusedError(403, "a page of another place asks", "ask from a program, or from this server")
        names = {name.lower() for name, _ in parse_qsl(request.url.query, keep_blank_values=True)}
        if names & _FORBIDDEN_PARAMETERS:
            raise RefusedError(
                400, "a token stands in the address", "send it as: Authorization: Bearer TOKEN"
            )
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusedError(415, "compressed bodies are not taken", "send it as it is")
        if self.token is None or request.url.path in OPEN_PATHS:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token)
        if kind.lower() != "bearer" or not is_right:
            headers = {"WWW-Authenticate": 'Bearer realm="tunegraph"'}
            raise RefusedError(401, "a token is needed", "send it as: Authorization: Bearer TOKEN", headers)


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets, in lower case."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


async def body_pieces(request: Request, most: int, seconds: float) -> AsyncIterator[bytes]:
    """The body of a request as it arrives.

    Raises:
        RefusedError: It is larger than ``most`` bytes, or takes longer than ``seconds``.
    """
    large = RefusedError(413, f"the body is larger than {most} bytes", headers={"Connection": "close"})
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise large
    size = 0
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    pieces = aiter(request.stream())
    while True:
        try:
            piece = await asyncio.wait_for(anext(pieces), max(0.0, ends - loop.time()))
        except StopAsyncIteration:
            return
        except TimeoutError:
            headers = {"Connection": "close"}
            raise RefusedError(
                408, f"the body did not arrive within {seconds:g} s", headers=headers
            ) from None
        except ClientDisconnect:
            raise RefusedError(408, "the client left") from None
        size += len(piece)
        if size > most:
            raise large
        yield piece


async def read_body(request: Request) -> bytes:
    """The body of a question; see :func:`body_pieces`."""
    return b"".join([piece async for piece in body_pieces(request, MOST_BODY_BYTES, BODY_SECONDS)])
