"""The HTTP of the load client, against answers of every form."""

import asyncio
import socket
import threading
from contextlib import suppress

import pytest

from kg.errors import InputError
from recommender.measuring.outcome import CancelledError
from recommender.tune import http_stream
from recommender.tune.http_stream import Address, AnswerError, answer_of, get_json, lines_of


def answer(raw: bytes, then: bytes = b"") -> Address:
    """The address of a server that gives these bytes to the first who asks, and others again and again."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        connection.recv(1 << 16)
        for at in range(0, len(raw), 7):  # in pieces, as networks do
            connection.sendall(raw[at : at + 7])
        with suppress(OSError):  # whoever asked has left
            while then:
                connection.sendall(then)
        connection.close()
        server.close()

    threading.Thread(target=serve, daemon=True).start()
    return Address(port=server.getsockname()[1])


def lines(raw: bytes) -> list[str]:
    async def read() -> list[str]:
        return [line async for line in lines_of(answer(raw), "/x", {"a": 1})]

    return asyncio.run(read())


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab\nc\r\n5\r\nd\n\nef\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab\ncd\n\nefIGNORED",
        b"HTTP/1.0 200 OK\r\nServer: x\r\n\r\nab\r\ncd\n\nef",
    ],
)
def test_bodies_of_all_forms_are_the_same_lines(raw: bytes) -> None:
    assert lines(raw) == ["ab", "cd", "", "ef"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 7\r\n\r\nloading", "/x answers 503: loading"),
        (b"220 smtp ready\r\n\r\n", "it does not answer in HTTP"),
        (b"", "it closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "broke off"),
    ],
)
def test_what_is_no_answer_says_why(raw: bytes, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        lines(raw)


def test_json_that_is_none() -> None:
    with pytest.raises(AnswerError, match="no JSON"):
        get_json(
            answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{]"),
            "/x",
            timeout_s=9,
            cancel=threading.Event(),
        )


def test_a_server_that_never_answers_is_waited_for_no_longer_than_told_and_can_be_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address, cancel = Address(port=server.getsockname()[1]), threading.Event()
        with pytest.raises(AnswerError, match=r"/x: no answer within 0\.2 s"):
            get_json(address, "/x", timeout_s=0.2, cancel=cancel)
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(CancelledError):
            get_json(address, "/x", timeout_s=60, cancel=cancel)


def test_addresses() -> None:
    found = Address.of("http://10.0.0.1:8000/v2/health/")
    assert (found.host, found.port, found.base) == ("10.0.0.1", 8000, "/v2/health")
    assert str(Address.of("http://localhost:99")) == "http://localhost:99"
    for text in ("localhost", "localhost:99", "https://localhost", "http://localhost:99999", "/health"):
        with pytest.raises(InputError, match="is no URL of HTTP"):
            Address.of(text)


@pytest.mark.parametrize(
    ("head", "then", "says"),
    [
        (b"Content-Length: 999999999999\r\n\r\n", b"x" * (1 << 16), "a line of more than 1 MiB"),
        (b"Content-Length: 999999999999\r\n\r\n", b"line\n" * 9999, "more than 1 MiB"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * (1 << 16) + b"\r\n", "a line of more"),
        (b"\r\n", b"line\n" * 9999, "more than 1 MiB"),
        (b"X: ", b"x" * (1 << 16), "broke off"),
    ],
)
def test_an_answer_without_an_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, head: bytes, then: bytes, says: str
) -> None:
    monkeypatch.setattr(http_stream, "_MOST_LINE", 1 << 20)
    address = answer(b"HTTP/1.1 200 OK\r\n" + head, then)
    with pytest.raises(AnswerError, match=says):
        answer_of(address, "/x", timeout_s=60, cancel=threading.Event())
