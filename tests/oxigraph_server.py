"""An Oxigraph server of one's own, for tests: begun, stopped, thrown away.

Its program comes with ``oxigraph`` (of the test extra).
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

_ENOUGH_S = 30.0


def program() -> str | None:
    """The program; None where it is not installed."""
    return shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")


@contextmanager
def oxigraph_server() -> Iterator[str]:
    """The address of a server that keeps its triples on the disk, and is empty."""
    path = program()
    if path is None:
        raise FileNotFoundError("oxigraph")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory(prefix="tunegraph-oxigraph-") as folder:
        command = [path, "serve", "--location", folder, "--bind", place]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                _wait(f"http://{place}/", process)
                yield f"http://{place}"
            finally:
                process.terminate()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _ENOUGH_S
    while True:
        try:
            with build_opener(ProxyHandler({})).open(address, timeout=_ENOUGH_S):
                return
        except (URLError, ConnectionError):
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.02)
