"""Tokens are read from private files, and a server that others reach has one."""

import asyncio
from pathlib import Path

import pytest
from starlette.requests import Request

from kg.errors import InputError
from recommender.service.access import MOST_BODY_BYTES, OPEN_PATHS, Access, host_name, read_body, read_token
from recommender.service.problem_details import RefusedError


def test_a_token_is_read_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n", encoding="ascii")
    file.chmod(0o600)
    assert read_token(file) == b"0123456789abcdef"
    for bit in (0o100, 0o200, 0o400):
        file.chmod(0o400 | bit)
        assert read_token(file) == b"0123456789abcdef"
    for bit in (0o1, 0o2, 0o4, 0o10, 0o20, 0o40):
        file.chmod(0o600 | bit)
        with pytest.raises(InputError, match=rf"others may read it \(mode {0o600 | bit:o}\)") as raised:
            read_token(file)
    assert raised.value.hint == f"chmod 600 {file}"


@pytest.mark.parametrize("text", ["", "short", "two words of a token", "0123456789abcdefé"])
def test_a_weak_token_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(InputError, match="no token"):
        read_token(file)
    with pytest.raises(InputError, match="No such file"):
        read_token(tmp_path / "none")


def test_an_open_address_needs_a_token() -> None:
    for host in ("::", "10.0.0.5", "tuning.example"):
        with pytest.raises(InputError, match="a token is needed"):
            Access.of(host)
        assert host in Access.of(host, token=b"0" * 16).hosts
    for host in ("127.0.0.1", "::1", "localhost", "127.0.0.2"):
        assert Access.of(host).token is None


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:80", "localhost"),
        ("[::1]:80", "::1"),
        ("LOCALHOST", "localhost"),
        ("a.b", "a.b"),
        ("", ""),
    ],
)
def test_the_name_of_a_host_header(header: str, name: str) -> None:
    assert host_name(header) == name


def request(**headers: str | list[str]) -> Request:
    """A request of a page of questions with these headers, and none else."""
    lines = [
        (name.encode(), value.encode())
        for name, values in headers.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    scope = {"type": "http", "method": "GET", "path": "/v1/kb/stats", "query_string": b"", "headers": lines}
    return Request({**scope, "server": ("localhost", 80), "scheme": "http"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": ["localhost", "localhost"]}, 421),
        ({"host": ["localhost", "evil.example"]}, 421),
        ({}, 421),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost", "origin": "https://evil.example"}, 403),
        ({"host": "localhost", "content-encoding": "gzip"}, 415),
        ({"host": "localhost"}, 401),
        ({"host": "localhost", "authorization": "0123456789abcdef"}, 401),
        ({"host": "localhost", "authorization": "Basic 0123456789abcdef"}, 401),
        ({"host": "localhost", "authorization": "Bearer 0123456789abcdee"}, 401),
        ({"host": "localhost", "authorization": "Bearer 0123456789abcdef0"}, 401),
        ({"host": "localhost", "authorization": "Bearer"}, 401),
    ],
)
def test_who_may_not_ask_is_refused(headers: dict[str, str | list[str]], status: int) -> None:
    access = Access.of("localhost", token=b"0123456789abcdef")
    with pytest.raises(RefusedError) as refused:
        access.check(request(**headers))
    assert refused.value.status == status
    access.check(request(host="LOCALHOST:80", authorization="bearer 0123456789abcdef"))
    Access.of("localhost").check(request(host="localhost"))
    for path in OPEN_PATHS:
        access.check(Request({**request(host="localhost").scope, "path": path}))


@pytest.mark.parametrize("name", ["token", "Access_Token", "authorization"])
def test_a_token_in_an_address_is_refused(name: str) -> None:
    asked = request(host="localhost", authorization="Bearer 0123456789abcdef")
    asked.scope["query_string"] = f"k=1&{name}=".encode()
    with pytest.raises(RefusedError) as refused:
        Access.of("localhost", token=b"0123456789abcdef").check(Request(asked.scope))
    assert refused.value.status == 400


@pytest.mark.parametrize("declared", ["", str(MOST_BODY_BYTES + 1)])
def test_a_body_is_bounded_by_what_it_says_and_by_what_comes(declared: str) -> None:
    left = [b"x" * 400_000] * 3

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

    scope = request(**({"content-length": declared} if declared else {})).scope
    with pytest.raises(RefusedError) as refused:
        asyncio.run(read_body(Request(scope, receive)))
    assert (refused.value.status, len(left)) == (413, 3 if declared else 0)
