"""Which addresses are asked, and by what rules."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from kg.web import is_safe, send


def test_only_https_and_this_machine_are_safe() -> None:
    for address in ("http://127.0.0.1:80/a", "http://[::1]/", "http://LOCALHOST/", "https://tuning.example"):
        assert is_safe(address)
    for address in ("http://10.0.0.1/", "ftp://x/", "ftp://localhost/", "file:///etc", "https:///", "//x/"):
        assert not is_safe(address)
    for address in ("https://me:secret@tuning.example/", "https://a.b/\nX: y", "http://localhost.evil/"):
        assert not is_safe(address)


class Redirecting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(self.path[1:]))
        self.send_header("Location", "/200")
        self.end_headers()
        self.wfile.write(b"there")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_no_redirect_is_followed_and_no_proxy_is_asked_for_this_machine(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with send(Request(f"{address}/200"), timeout_s=9) as reply:  # noqa: S310 - this machine
        assert reply.read() == b"there"
    for status in (301, 302, 307, 404, 500):
        with pytest.raises(HTTPError) as refused:
            send(Request(f"{address}/{status}"), timeout_s=9)  # noqa: S310 - this machine
        assert refused.value.code == status
