"""Tokens are read from private files, and a server that others reach has one."""

from pathlib import Path

import pytest

from kg.errors import InputError
from recommender.service.access import Access, host_name, read_token


def test_a_token_is_read_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n", encoding="ascii")
    file.chmod(0o600)
    assert read_token(file) == b"0123456789abcdef"
    file.chmod(0o640)
    with pytest.raises(InputError, match=r"others may read it \(mode 640\)") as raised:
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
