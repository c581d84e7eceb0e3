"""Send hostile queries to the SPARQL endpoint of a server, and count answers that are torn, late or a hole.

A server of its own runs in a process over a new workspace of what ships (or over ``--workspace``). Clients send
generated queries over HTTP: cross products, deep paths, texts of a megabyte, SERVICE, LOAD and updates, sorts and groups
of everything, patterns that blow up, odd Unicode, torn text, wide rows. Beside them one client asks for recommendations.

    python -m tests.endurance.sparql_endpoint [--queries 1000] [--quick] [--deadline 10] [--clients 3] [--seed 1]

Prints a line for whatever is wrong; the last line is JSON: torn (200 with a body that is cut, cannot be read, or has
other rows than it says), late (by more than half a second), holes (200 where a query asks another server or changes
the graph), unexplained (statuses that docs/service.md does not name, and lost connections), resets
(connections closed on a client that is still sending a text beyond 1 MB), changed (the version of the
knowledge is another one), left_running (processes of queries that the server left), and the 95th percentile of the
recommendations without and beside the hostile queries.
"""

from __future__ import annotations

import csv
import io
import multiprocessing
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import numpy as np
from pyoxigraph import QueryBoolean, parse, parse_query_results

from benchmarks import harness
from kg.triples.user_queries.results import TABLE_FORMATS, TRIPLE_FORMATS
from recommender.service import openapi
from recommender.service.access import Access
from recommender.service.app import TuningService
from recommender.service.server import listening_socket, make_server
from recommender.service.sparql import LIMITS
from recommender.workspace.workspace import Workspace
from tests.endurance.hostile_queries import HostileRequest, hostile_requests

GRACE_S = 0.5
"""After the deadline, an answer is late."""
QUIET_ASKS = 40
"""Recommendations before the hostile queries, for their time on a quiet server."""
STATUSES = frozenset({200, 400, 403, 406, 413, 422, 503, 504})
"""Of ``docs/service.md``."""


@dataclass(slots=True)
class EndpointFigures:
    """What came back.

    Attributes:
        statuses: Answers by family and status.
        torn: Answers of 200 that are not whole.
        late: Answers after the deadline.
        holes: Answers of 200 to what must be refused.
        unexplained: Other statuses, and connections that were lost.
        resets: Connections lost while a body beyond the limit was still being sent.
        slowest_s: The longest time until an answer.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    torn: int = 0
    late: int = 0
    holes: int = 0
    unexplained: int = 0
    resets: int = 0
    slowest_s: float = 0.0


def serve(path: Path, deadline_s: float, tell: Connection) -> None:
    """Serve a workspace in this process, and tell the port."""
    limits = replace(LIMITS, seconds=deadline_s)
    service = TuningService.of(
        lambda: Workspace.open(path, cache=path.parent / "cache"), Access.of("127.0.0.1"), limits=limits
    )
    listener = listening_socket("127.0.0.1", 0)
    tell.send(listener.getsockname()[1])
    make_server(service, "0").run(sockets=[listener])


def fault_of(response: httpx.Response) -> str:
    """What is not whole about an answer of 200; empty where nothing is."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    try:
        rows = _row_count(response.content, kind)
    except (SyntaxError, ValueError, csv.Error, KeyError) as error:
        return f"{kind} cannot be read: {str(error)[:100]}"
    cut = response.headers.get("tunegraph-cut")
    if cut is not None and cut != f"rows={rows}" and kind not in TRIPLE_FORMATS:  # equal triples are one
        return f"{rows} rows, and the header says {cut}"
    return f"{rows} rows" if rows > LIMITS.rows else ""


def _row_count(content: bytes, kind: str) -> int:
    if kind in TRIPLE_FORMATS:
        return sum(1 for _ in parse(content, format=TRIPLE_FORMATS[kind]))
    if kind == "text/csv":
        if content in {b"true", b"false"}:
            return 0
        head, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
        if not content.endswith(b"\r\n") or any(len(row) != len(head) for row in rows if head):
            raise ValueError("a row is cut")
        return len(rows)
    if kind.endswith("xml") and not content.endswith(b"</sparql>"):  # the parser does not ask for it
        raise ValueError("its end is cut")
    found = parse_query_results(content, TABLE_FORMATS[kind])
    return 0 if isinstance(found, QueryBoolean) else sum(1 for _ in found)


def measure(path: Path, queries: int, deadline_s: float, clients: int, seed: int) -> dict[str, object]:
    """Serve a workspace, send the queries, return the figures."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    server = context.Process(target=serve, args=(path, deadline_s, theirs), daemon=False)
    server.start()
    base = f"http://127.0.0.1:{ours.recv()}"
    try:
        with httpx.Client(base_url=base, timeout=deadline_s + 60, trust_env=False) as client:
            while not _is_ready(client):
                time.sleep(0.2)
            return _measured(client, server.pid or 0, (queries, deadline_s, clients, seed))
    finally:
        server.terminate()
        server.join(20)


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _measured(client: httpx.Client, server: int, amounts: tuple[int, float, int, int]) -> dict[str, object]:
    queries, deadline_s, clients, seed = amounts
    figures, guard, done = EndpointFigures(), threading.Lock(), threading.Event()
    quiet: list[float] = []
    beside: list[float] = []
    version = client.get("/readyz").json()["knowledge_version"]
    _ask_until(client, quiet, lambda: len(quiet) == QUIET_ASKS)
    other = threading.Thread(target=_ask_until, args=(client, beside, done.is_set))
    other.start()
    requests = hostile_requests(queries, seed)

    def send_all(_: int) -> None:
        while True:
            with guard:
                item = next(requests, None)
            if item is None:
                return
            _send(client, item, deadline_s, figures, guard)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(send_all, range(clients)))
    done.set()
    other.join()
    time.sleep(1.0)
    return {
        "queries": queries,
        "torn": figures.torn,
        "late": figures.late,
        "holes": figures.holes,
        "unexplained": figures.unexplained,
        "resets": figures.resets,
        "changed": client.get("/readyz").json()["knowledge_version"] != version,
        "left_running": len(Path(f"/proc/{server}/task/{server}/children").read_text().split()),
        "deadline_s": deadline_s,
        "slowest_s": round(figures.slowest_s, 2),
        "ordinary_quiet_p95_ms": round(float(np.percentile(quiet, 95)), 1),
        "ordinary_beside_p95_ms": round(float(np.percentile(beside, 95)), 1),
        "ordinary_beside": len(beside),
        "statuses": dict(sorted(figures.statuses.items())),
    }


def _ask_until(client: httpx.Client, times_ms: list[float], is_over: Callable[[], bool]) -> None:
    """Ask for recommendations, ten a second at most."""
    while not is_over():
        started = time.monotonic()
        client.post("/v1/recommend", json=openapi.KERNEL).raise_for_status()
        times_ms.append(1e3 * (time.monotonic() - started))
        time.sleep(0.1)


def _send(
    client: httpx.Client,
    item: HostileRequest,
    deadline_s: float,
    figures: EndpointFigures,
    guard: threading.Lock,
) -> None:
    headers = {"content-type": item.media_type, "accept": item.accept}
    started = time.monotonic()
    try:
        response = client.post("/sparql", content=item.body, headers=headers)
    except httpx.TransportError as error:
        with guard:
            figures.statuses[f"{item.family} lost"] += 1
            if item.is_too_long:
                figures.resets += 1
                return
            figures.unexplained += 1
        print(
            f"{item.family}: {type(error).__name__}: {error}: {item.body[:200]!r}",
            file=sys.stderr,
            flush=True,
        )
        return
    taken = time.monotonic() - started
    status = response.status_code
    fault = fault_of(response) if status == 200 else ""
    is_hole = status == 200 and item.is_forbidden
    is_odd = status not in STATUSES or (status == 503 and "retry-after" not in response.headers)
    is_late = taken > deadline_s + GRACE_S
    with guard:
        figures.statuses[f"{item.family} {status}"] += 1
        figures.torn += bool(fault)
        figures.late += is_late
        figures.holes += is_hole
        figures.unexplained += is_odd
        figures.slowest_s = max(figures.slowest_s, taken)
    if fault or is_hole or is_odd or is_late:
        shown = fault or response.text[:300]
        print(
            f"{item.family}: {status} after {taken:.1f} s: {shown}: {item.body[:200]!r}",
            file=sys.stderr,
            flush=True,
        )


def main() -> None:
    """Run and print."""
    given = harness.read(
        __doc__,
        harness.option("--queries", type=int, default=1000),
        harness.option("--deadline", type=float, default=LIMITS.seconds, help="of a query, in seconds"),
        harness.option("--clients", type=int, default=3),
        harness.place("--workspace", help="serve this one", required=False),
        quick="100 queries",
        published=1,
    )
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sparql-endpoint-") as folder:
        path = given.workspace or Path(folder) / "workspace"
        if given.workspace is None:
            Workspace.create(path, cache=Path(folder) / "cache", text_model=None)
        queries = 100 if given.quick else given.queries
        figures = measure(path, queries, given.deadline, given.clients, given.seed)
    given.last_line({**figures, "duration_s": round(time.monotonic() - started, 1)})


if __name__ == "__main__":
    main()
