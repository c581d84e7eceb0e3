"""Ports: free before a start, and in the hands of what was started after it (Linux: ``/proc/net``)."""

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"
_HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nobody holds now."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((_HOST, 0))
        port: int = held.getsockname()[1]
    return port


def is_taken(port: int) -> bool:
    """True if somebody listens on a port. Connections that have ended and linger do not count."""
    if _can_bind(port):  # at once, where the table of a busy machine takes a while
        return False
    if _listening(port):
        return True
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((_HOST, port)) == 0


def _can_bind(port: int) -> bool:
    """True if this process can bind a port of all addresses, so that on Linux nobody listens: socket(7)."""
    with suppress(OSError), socket.socket(socket.AF_INET6) as probe:  # or there is no such family here
        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("", port))  # and never listens, so that no other machine reaches it
        return sys.platform == "linux"
    return False


def holder_text(port: int) -> str:
    """The process that holds a port, as ``process 4711 (llama-server)``; empty where that cannot be seen."""
    sockets = _listening(port)
    pids = (int(entry.name) for entry in Path("/proc").glob("[0-9]*")) if sockets else ()
    pid = next((pid for pid in pids if sockets & set(_sockets(pid))), None)
    try:
        return "" if pid is None else f"process {pid} ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return f"process {pid}"


def is_held_by(port: int, pids: Iterable[int]) -> bool | None:
    """True if one of these processes listens on a port; None where that cannot be seen."""
    sockets = _listening(port)
    if not sockets:
        return None
    return any(sockets & set(_sockets(pid)) for pid in pids)


def ports_of(pids: Iterable[int]) -> list[int]:
    """The ports that processes listen on."""
    own = {inode for pid in pids for inode in _sockets(pid)}
    return sorted({port for port, inode in _all_listening() if inode in own})


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on a port."""
    return {inode for held, inode in _all_listening() if held == port}


def _all_listening() -> Iterator[tuple[int, str]]:
    """Each port that somebody listens on, with the inode of a socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == _LISTENS:
                yield int(fields[1].rpartition(":")[2], 16), fields[9]


def _sockets(pid: int) -> Iterator[str]:
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            target = os.readlink(entry)  # noqa: PTH115  a socket is no path
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]
