"""Measure the HTTP service over a workspace: start, memory, times of answers, many clients at once.

``tunegraph serve`` runs as a process of its own. One client asks each question in turn; then many ask at once.
``--mcp`` also starts ``tunegraph mcp`` and asks for its tools, several times.

    python -m benchmarks.service.service_speed --workspace DIR [--requests 200] [--clients 50] [--mcp] [--quick]

The last line is JSON: CPU seconds and wall time until it is ready, resident memory at the end (with pages of files
that others share), and for each question the median and 95th percentile in ms and the CPU ms of the server.
"""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks import harness
from recommender.service import openapi

QUESTIONS: dict[str, Any] = {
    "kernel": openapi.EXAMPLES["kernel"],
    "training": openapi.EXAMPLES["training"],
    "serving": openapi.EXAMPLES["serving"],
}
MCP_STARTS = 5
_TUNEGRAPH = str(Path(sys.executable).with_name("tunegraph"))
_TICKS = os.sysconf("SC_CLK_TCK")
_HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"benchmark","version":"0"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


def cpu_seconds(process: int) -> float:
    """Processor time that a process has used, without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mb(process: int, name: str = "VmHWM") -> int:
    """Most memory that a process has had, or another line of its status."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) // 1024


def measure(workspace: Path, requests: int, clients: int) -> dict[str, Any]:
    """Start a server, ask it, return the figures."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    command = [_TUNEGRAPH, "--workspace", str(workspace), "serve", "--port", str(port)]
    with (
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120, trust_env=False) as client,
    ):
        try:
            while not _is_ready(client):
                time.sleep(0.02)
            figures: dict[str, Any] = {
                "ready_s": round(time.monotonic() - began, 2),
                "ready_cpu_s": round(cpu_seconds(server.pid), 2),
            }
            for name, question in QUESTIONS.items():
                figures[name] = _asked(client, question, requests, server.pid)
            figures["at_once"] = _at_once(client, clients, requests)
            figures["peak_mb"] = resident_mb(server.pid)
            figures["own_mb"] = resident_mb(server.pid, "RssAnon")
        finally:
            server.terminate()
    return figures


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _asked(client: httpx.Client, question: Any, requests: int, server: int) -> dict[str, float | int]:
    client.post("/v1/recommend", json=question).raise_for_status()
    times: list[float] = []
    cpu = cpu_seconds(server)
    for _ in range(requests):
        began = time.monotonic()
        client.post("/v1/recommend", json=question).raise_for_status()
        times.append(1e3 * (time.monotonic() - began))
    return {
        "p50_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
        "cpu_ms": round(1e3 * (cpu_seconds(server) - cpu) / requests, 1),
    }


def _at_once(client: httpx.Client, clients: int, requests: int) -> dict[str, object]:
    def ask(_: int) -> str:
        try:
            return str(client.post("/v1/recommend", json=openapi.EXAMPLES["kernel"]).status_code)
        except httpx.TransportError as error:
            return type(error).__name__

    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        statuses = Counter(pool.map(ask, range(4 * requests)))
    rate = round(4 * requests / (time.monotonic() - began), 1)
    return {"clients": clients, "answers": dict(statuses), "per_s": rate}


def mcp_starts(workspace: Path) -> dict[str, float]:
    """Wall time and CPU seconds until ``tunegraph mcp`` has listed its tools: the least and the median."""
    walls, cpus = [], []
    for _ in range(MCP_STARTS):
        began = time.monotonic()
        command = [_TUNEGRAPH, "--workspace", str(workspace), "mcp"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as agent:
            if agent.stdin is None or agent.stdout is None:
                raise AssertionError("both are pipes")
            agent.stdin.write(_HELLO)
            agent.stdin.flush()
            while b'"inputSchema"' not in agent.stdout.readline():
                pass
            walls.append(time.monotonic() - began)
            cpus.append(cpu_seconds(agent.pid))
            agent.kill()
    return {
        "mcp_s": round(float(np.median(walls)), 2),
        "mcp_least_s": round(min(walls), 2),
        "mcp_cpu_s": round(float(np.median(cpus)), 2),
    }


def main() -> None:
    """Run and print."""
    given = harness.read(
        __doc__,
        harness.place("--workspace"),
        harness.option("--requests", type=int, default=200, help="of each question"),
        harness.option("--clients", type=int, default=50),
        harness.option("--mcp", action="store_true"),
        quick="20 requests",
    )
    figures = measure(given.workspace, 20 if given.quick else given.requests, given.clients)
    given.last_line({**figures, **(mcp_starts(given.workspace) if given.mcp else {})})


if __name__ == "__main__":
    main()
