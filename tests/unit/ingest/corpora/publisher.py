"""A server on the loopback address that publishes files, and can break off, move them or change them."""

import gzip
import hashlib
import io
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote


class Publisher(ThreadingHTTPServer):
    """Publishes ``files``; sends ``cut[path]`` bytes of a file and then hangs up, once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}
        self.moved: dict[str, str] = {}
        self.knows_ranges = True
        self.ranges: list[str] = []
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        path = unquote(self.path).lstrip("/")
        self.server.asked.append(path)
        if path in self.server.moved:
            self.send_response(301)
            self.send_header("Location", self.server.moved[path])
            self.end_headers()
            return
        if path not in self.server.files:
            self.send_error(404)
            return
        content, start = self.server.files[path], 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if wanted and self.server.knows_ranges:
            self.server.ranges.append(wanted[0])
            start = int(wanted[1])
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : start + self.server.cut.pop(path, len(content))])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def publishing() -> Iterator[Publisher]:
    """A server that runs."""
    with Publisher() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_of(files: dict[str, bytes]) -> str:
    """The digest of ``sha256sum`` of the sorted files, piped to ``sha256sum``."""
    return sha256("".join(f"{sha256(files[path])}  {path}\n" for path in sorted(files)).encode())


def archive(files: dict[str, bytes], *others: tarfile.TarInfo, top: str = "repository-abc") -> bytes:
    """A tar file packed with gzip as a forge makes it: all below one folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(f"{top}/{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in others:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return gzip.compress(packed.getvalue(), mtime=0)
