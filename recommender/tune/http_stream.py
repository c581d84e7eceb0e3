"""The little of HTTP/1.1 that a load client needs: one request a connection, the answer as lines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from kg.errors import InputError, TuningError
from kg.nouns.values import load_json
from recommender.measuring.masking import MASK
from recommender.measuring.outcome import CancelledError

_TICK_S = 0.05
_MOST_LINE = 16 << 20
"""Bytes of a line, or of an answer that is read whole, at most; a choice, far above any token's."""


class AnswerError(TuningError):
    """A server did not answer as it should; no property of a configuration by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a server.

    Attributes:
        host: Its host.
        port: Its port.
        base: Path before all others; empty for none.
        key: That it asks for; empty for none.
    """

    host: str = "127.0.0.1"
    port: int
    base: str = ""
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> Address:
        """The address of a URL.

        Raises:
            InputError: It is none of HTTP.
        """
        try:
            parts = urlsplit(url)
            if parts.scheme == "http" and parts.hostname is not None:
                return cls(host=parts.hostname, port=parts.port or 80, base=parts.path.rstrip("/"))
        except ValueError:  # of a port
            pass
        raise InputError(f"{url!r} is no URL of HTTP", hint="http://127.0.0.1:8000/health")

    def covered(self, text: str) -> str:
        """A text that somebody with its key wrote, with that masked."""
        return text.replace(self.key, MASK) if self.key else text

    def __str__(self) -> str:
        return f"http://{self.host}:{self.port}{self.base}"


async def lines_of(address: Address, path: str, content: object = None) -> AsyncIterator[str]:
    """The lines of an answer, as they come.

    Args:
        address: The server's.
        path: Of the request.
        content: JSON to post; None to get.

    Raises:
        AnswerError: It answers with another status than success, or not in HTTP.
        OSError: It cannot be reached, or the connection breaks.
    """
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=_MOST_LINE)
    try:
        body = b"" if content is None else json.dumps(content).encode()
        method = "GET" if content is None else "POST"
        head = f"{method} {address.base}{path} HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
        head += "Accept: */*\r\nConnection: close\r\n"
        head += f"Authorization: Bearer {address.key}\r\n" if address.key else ""
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + body)
        await writer.drain()
        status, length = await _head(reader)
        rest = b""
        said: list[str] = []
        async for block in _blocks(reader, length):
            if len(rest) > _MOST_LINE:
                raise AnswerError(f"{path} answers a line of more than {_MOST_LINE >> 20} MiB")
            *whole, rest = (rest + block).split(b"\n")
            for line in whole:
                text = line.decode("utf-8", "replace").rstrip("\r")
                if status == 200:
                    yield text
                else:
                    said.append(text)
        last = rest.decode("utf-8", "replace")
        if status != 200:
            raise AnswerError(f"{path} answers {status}: {' '.join([*said, last]).strip()[:200]}")
        if last:
            yield last
    except (asyncio.IncompleteReadError, ValueError) as fault:
        raise AnswerError(f"{path}: the answer broke off: {fault}") from None
    finally:
        writer.close()


def answer_of(address: Address, path: str, content: object = None, *, timeout_s: float, cancel: Event) -> str:
    """The whole text of an answer.

    Raises:
        AnswerError: It is no success, or does not come in time; or the server cannot be reached.
        CancelledError: ``cancel`` was set.
    """

    async def read() -> str:
        lines, room = list[str](), _MOST_LINE
        async for line in lines_of(address, path, content):
            lines.append(line)
            room -= len(line) + 1
            if room < 0:
                raise AnswerError(f"{path} answers more than {_MOST_LINE >> 20} MiB")
        return "\n".join(lines)

    async def watched() -> str:
        task, until = asyncio.create_task(read()), time.monotonic() + timeout_s
        while not (await asyncio.wait({task}, timeout=_TICK_S))[0]:
            if cancel.is_set():
                raise CancelledError("the question was interrupted")
            if time.monotonic() > until:
                raise AnswerError(f"{path}: no answer within {timeout_s:g} s")
        return task.result()

    try:
        return asyncio.run(watched())
    except OSError as fault:
        raise AnswerError(f"the server cannot be asked: {fault}") from None


def get_json(address: Address, path: str, content: object = None, *, timeout_s: float, cancel: Event) -> Any:
    """The JSON of an answer.

    Raises:
        AnswerError: As :func:`answer_of`, or it is none.
        CancelledError: ``cancel`` was set.
    """
    text = answer_of(address, path, content, timeout_s=timeout_s, cancel=cancel)
    try:
        return load_json(text)
    except ValueError:
        raise AnswerError(f"{path}: its answer is no JSON: {text[:80]!r}") from None


async def _head(reader: asyncio.StreamReader) -> tuple[int, int | None]:
    """Status of an answer, and the bytes of its body: below zero where it comes in chunks, None if untold."""
    first = (await reader.readline()).split(None, 2)
    if len(first) < 2 or not first[0].startswith(b"HTTP/") or not first[1].isdigit():
        raise AnswerError("it does not answer in HTTP" if first else "it closed the connection")
    length: int | None = None
    while (line := (await reader.readline()).strip()) != b"":
        name, _, value = line.lower().partition(b":")
        if name == b"transfer-encoding" and b"chunked" in value:
            length = -1
        elif name == b"content-length" and length is None:
            length = int(value)
    return int(first[1]), length


async def _blocks(reader: asyncio.StreamReader, length: int | None) -> AsyncIterator[bytes]:
    if length is None:  # the connection is closed behind it: we asked for that
        while block := await reader.read(1 << 16):
            yield block
    elif length >= 0:
        async for block in _exactly(reader, length):
            yield block
    else:
        while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
            async for block in _exactly(reader, size):
                yield block
            await reader.readline()


async def _exactly(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    """So many bytes in pieces: what is declared is not held."""
    while length > 0:
        yield (block := await reader.readexactly(min(length, 1 << 16)))
        length -= len(block)
