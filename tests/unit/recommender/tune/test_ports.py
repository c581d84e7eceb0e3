"""Ports: free, taken, and in whose hands."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recommender.tune.engine import engine_of
from recommender.tune.ports import free_port, holder_text, is_held_by, is_taken, ports_of

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="holders are read in /proc")


def test_a_port_and_its_holder() -> None:
    port = free_port()
    assert not is_taken(port)
    assert holder_text(port) == ""
    assert is_held_by(port, [os.getpid()]) is None
    with socket.create_server(("127.0.0.1", port)):
        assert is_taken(port)
        assert holder_text(port).startswith(f"process {os.getpid()} (")
        assert is_held_by(port, [os.getpid()]) is True
        assert port in ports_of([os.getpid()])
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
        try:
            assert is_held_by(port, [other.pid]) is False
            assert ports_of([other.pid]) == []
        finally:
            other.kill()
            other.wait()


def test_a_connection_that_lingers_does_not_take_a_port() -> None:
    """After a server ends first its port stays in TIME_WAIT; the next server may have it all the same."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(("127.0.0.1", port)):
        accepted, _ = server.accept()
        accepted.close()  # who closes first lingers
    assert not is_taken(port)


ADDRESSES = [(socket.AF_INET, ""), (socket.AF_INET, "127.0.0.1")]
if Path("/proc/net/if_inet6").exists() and Path("/proc/net/if_inet6").read_text():
    ADDRESSES.append((socket.AF_INET6, "::1"))


@pytest.mark.parametrize(("family", "host"), ADDRESSES)
def test_who_listens_on_any_address_takes_a_port(family: socket.AddressFamily, host: str) -> None:
    with socket.create_server((host, 0), family=family) as server:
        assert is_taken(server.getsockname()[1])


def test_engines_by_program() -> None:
    vllm, ascend = engine_of("vllm"), engine_of("vllm-ascend")
    assert vllm is not None
    assert ascend is not None
    assert (ascend.id, ascend.port, ascend.name, ascend.grace_s) == (
        "vllm-ascend", vllm.port, vllm.name, vllm.grace_s,
    )  # fmt: skip
    assert engine_of("no-such-engine") is None
