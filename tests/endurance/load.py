"""Many clients of one server, and thousands of mixed requests: waiting times, refusals and the growth of memory.

    python -m tests.endurance.load [--clients 50] [--seconds 60] [--requests 5000] [--quick]

Requests are questions about serving, training and kernels, launches, profiles, explanations, looks at its state,
and ones that are wrong; each client sends the next when it has its answer. The last line is JSON: answered,
unexpected (5xx other than 503, and connections that break), busy (503), p50_s and p95_s of the timed part, and
mib_warm, mib_end and growth of the server with its workers over the requests after the first fifth.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import local
from typing import Any

import httpx
import numpy as np

from benchmarks import harness
from recommender.service import openapi
from recommender.workspace.workspace import Workspace

TRACE = b'{"traceEvents": [%s]}' % b",".join(
    b'{"ph": "X", "cat": "kernel", "name": "gemm", "ts": %d, "dur": 5, "pid": 0, "tid": 7}' % (10 * n)
    for n in range(40)
)


def request(client: httpx.Client, number: int) -> httpx.Response:
    """Send the request of a number; costly ones and cheap ones, right ones and wrong ones."""
    kinds = ("serving", "training", "kernel", "launch")
    match number % 12:
        case 0 | 1 | 2 | 3 as kind:
            return client.post("/v1/recommend", json=openapi.EXAMPLES[kinds[kind]])
        case 4:
            return client.post("/v1/check", json=openapi.EXAMPLES["launch"])
        case 5:
            return client.post("/v1/predict", json=openapi.EXAMPLES["serving"])
        case 6:
            return client.post("/v1/similar", json={**openapi.EXAMPLES["kernel"], "k": 1 + number % 9})
        case 7:
            return client.post("/v1/diagnose", params={"name": "a.json"}, content=TRACE)
        case 8:
            return client.post("/v1/recommend", json={"model": f"nobody-{number}", "hardware": "910B"})
        case 9:
            return client.get(f"/v1/explain/{number:012x}")
        case 10:
            return client.get("/v1/kb/stats")
    return client.get("/readyz")


def memory_mib(pid: int) -> float:
    """Memory of a process and all below it: the memory that would be free without them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    own = sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return own / 1024 + sum(memory_mib(int(child)) for child in children)


def measure(path: Path, clients: int, seconds: float, requests: int) -> dict[str, Any]:
    """Serve a workspace, and ask it."""
    script = "from cli.main import main; main()"
    command = [sys.executable, "-c", script, "--workspace", str(path), "serve", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        base = next(word for line in server.stderr for word in line.split() if word.startswith("http://"))
        statuses: Counter[str] = Counter()
        own, numbers = local(), count()

        def ask(until: float, most: int) -> list[float]:
            client = own.__dict__.setdefault(
                "client", httpx.Client(base_url=base, timeout=120, trust_env=False)
            )
            waits: list[float] = []
            while time.monotonic() < until and (number := next(numbers)) < most:
                began = time.monotonic()
                try:
                    statuses[str(request(client, number).status_code)] += 1
                except httpx.TransportError as error:
                    statuses[type(error).__name__] += 1
                waits.append(time.monotonic() - began)
            return waits

        def together(workers: int, until: float, most: int) -> list[float]:
            with ThreadPoolExecutor(workers) as pool:
                return [
                    wait for waits in pool.map(lambda _: ask(until, most), range(workers)) for wait in waits
                ]

        forever = time.monotonic() + 1e6
        together(4, forever, requests // 5)
        warm = memory_mib(server.pid)
        together(4, forever, requests)
        end = memory_mib(server.pid)
        waits = together(clients, time.monotonic() + seconds, sys.maxsize)
        fine = {"200", "400", "404", "422", "503"}
        return {
            "answered": sum(number for status, number in statuses.items() if status in fine - {"503"}),
            "busy": statuses["503"],
            "unexpected": {status: number for status, number in statuses.items() if status not in fine},
            "statuses": dict(statuses),
            "clients": clients,
            "timed": len(waits),
            "p50_s": round(float(np.percentile(waits, 50)), 3),
            "p95_s": round(float(np.percentile(waits, 95)), 3),
            "mib_warm": round(warm, 1),
            "mib_end": round(end, 1),
            "growth": round(end / warm - 1, 4),
        }
    finally:
        server.terminate()
        server.communicate(timeout=60)


def main() -> None:
    """Measure, and print."""
    given = harness.read(
        __doc__,
        harness.option("--clients", type=int, default=50),
        harness.option("--seconds", type=float, default=60.0),
        harness.option("--requests", type=int, default=5000),
        quick="8 clients for 5 s and 200 requests",
        published=1,
    )
    amounts = (8, 5.0, 200) if given.quick else (given.clients, given.seconds, given.requests)
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        path = Path(folder, "workspace")
        Workspace.create(path, cache=Path(folder, "cache"), text_model=None)
        given.last_line(measure(path, *amounts))


if __name__ == "__main__":
    main()
