"""Connections without a whole request keep nobody out, and are closed."""

import asyncio
import socket
import time
from contextlib import ExitStack

import httpx
import pytest
from starlette.requests import Request

from kg.errors import WorkspaceError
from recommender.service import server
from recommender.service.app import while_there
from recommender.service.problem_details import RefusedError
from recommender.service.server import listening_socket

HEADERS = b"GET /v1/kb/stats HTTP/1.1\r\nHost: x\r\nX"


def half(client: httpx.Client, text: bytes = HEADERS) -> socket.socket:
    """A connection that has sent the beginning of a request."""
    made = socket.create_connection((client.base_url.host, client.base_url.port), timeout=10)
    made.sendall(text)
    return made


def is_closed(connection: socket.socket, seconds: float) -> bool:
    """Whether the server ends a connection in time; an answer's body may come after its headers were read."""
    until = time.monotonic() + seconds
    try:
        while True:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            if not connection.recv(4096):
                return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def ports_of_waiting() -> set[int]:
    """Ports of clients whose connections are without a whole request, of all servers of this process."""
    return {
        connection.client[1]
        for waiting in [*server.BoundedProtocol._waiting.values()]
        for connection in [*waiting]
        if connection.client
    }


BODY = b"POST /v1/similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{"
REFUSED = BODY.replace(b"localhost", b"stranger")


@pytest.mark.parametrize("text", [HEADERS, BODY, REFUSED])
def test_six_hundred_half_requests_keep_nobody_out(
    client: httpx.Client, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        made = [stack.enter_context(half(client, text)) for _ in range(600)]
        for path in ("/healthz", "/v1/kb/stats"):
            until = time.monotonic() + 10  # those that are closed leave their places in turn
            while True:
                answer = httpx.get(client.base_url.join(path), timeout=60, trust_env=False)
                if answer.status_code != 503 or time.monotonic() > until:
                    break
            assert answer.status_code == 200
        assert text == REFUSED or is_closed(made[0], 1.0)  # the oldest made room
        assert text != HEADERS or not is_closed(made[-1], 0.1)  # a body's may be told that too many wait
    assert not caplog.records  # who leaves is no news


def test_headers_have_their_time(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.3)
    with half(client) as cut, half(client, b"") as silent:
        begun = time.monotonic()
        assert is_closed(cut, 5.0)
        assert is_closed(silent, 5.0)
        assert time.monotonic() - begun < 3
    again = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with half(client, again) as second:
        assert second.recv(4096).startswith(b"HTTP/1.1 200")
        second.sendall(again[:-4])  # and half of another
        while not is_closed(second, 0.0 if time.monotonic() - begun > 30 else 5.0):
            assert time.monotonic() - begun < 30


def test_who_was_answered_waits_again_and_makes_room(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_QUIET_OF_ADDRESS", 2)
    with half(client, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as answered:
        assert answered.recv(4096).startswith(b"HTTP/1.1 200")
        port, until = answered.getsockname()[1], time.monotonic() + 10
        while port not in ports_of_waiting():
            assert time.monotonic() < until  # the answer is gone before its connection waits again
            time.sleep(0.01)
        with half(client), half(client):
            assert is_closed(answered, 5.0)  # before its time is over


def test_a_slow_body_is_no_half_request(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.2)
    with half(client, BODY) as slow:
        time.sleep(0.5)
        slow.sendall(b"}")
        assert slow.recv(4096).startswith(b"HTTP/1.1 400")


def test_work_is_cancelled_when_its_client_leaves() -> None:
    messages: list[dict[str, object]] = [
        {"type": "http.request", "body": b"", "more_body": False},
        {"type": "http.disconnect"},
    ]
    ended: list[str] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(0.01)
        return messages.pop(0)

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def run() -> None:
        with pytest.raises(RefusedError):
            await while_there(Request({"type": "http", "headers": []}, receive), work())
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert ended == ["cancelled"]


def test_an_answer_on_a_kept_connection_waits_for_no_acknowledgement(client: httpx.Client) -> None:
    waits = []
    for _ in range(10):
        began = time.monotonic()
        client.get("/healthz")
        waits.append(time.monotonic() - began)
    assert min(waits[1:]) < 0.03  # Linux acknowledges after 40 ms what it need not at once


def test_a_port_can_be_taken_again_at_once() -> None:
    listener = listening_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)):
        taken, _ = listener.accept()
        taken.close()  # whoever closes first keeps the port for a minute
    listener.close()
    again = listening_socket("127.0.0.1", port)
    with pytest.raises(WorkspaceError, match=f"cannot listen on 127.0.0.1:{port}"):
        listening_socket("127.0.0.1", port)
    again.close()
