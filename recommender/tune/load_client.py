"""Load generators of others: started for a probe, their results read by the tables of ``data/outputs``.

What they state of a probe is what counts of it; requests one by one are not known, so limits are for the
client of :mod:`recommender.tune.load`. Numbers of two clients are never compared: one tune has one.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import data
from ingest.files.content import Content
from ingest.formats.outputs.statements import StatedRun, runs_of
from ingest.formats.outputs.tool import Tool, tool_of
from kg.errors import InputError, WorkspaceError
from kg.terms.units import unit
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.load import Load, LoadResult
from recommender.tune.serving_run import ServingRun

OUT = "{out}"
_LONGEST_S = 3600.0
_METRICS = ("throughput", "total_throughput", "ttft", "ttft_p99", "tpot", "tpot_p99", "e2e_latency")


@cache
def known_clients() -> Mapping[str, Mapping[str, Any]]:
    """The rows of ``data/tune/clients.yaml`` by name."""
    table: dict[str, dict[str, Any]] = yaml.safe_load(data.text("tune/clients.yaml"))
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadClient:
    """A load generator.

    Attributes:
        run: Its words, with places for the facts of a probe.
        users: Words that tell it users at a time.
        rate: Words that tell it a rate.
        load: Lengths of the requests.
        tokenizer: Folder or name of the model that is served.
    """

    run: Sequence[str]
    users: Sequence[str]
    rate: Sequence[str]
    load: Load
    tokenizer: str

    @classmethod
    def of(cls, text: str, load: Load, tokenizer: str) -> LoadClient:
        """Read ``--client``: a name of the table, or a command with ``{url}`` and ``{out}``.

        Raises:
            InputError: It is neither, is not installed, or the load is none that it can put.
        """
        row = known_clients().get(text.strip())
        words = shlex.split(text) if row is None else row["run"]
        if row is None and not (OUT in text and ("{url}" in text or "{base}" in text)):
            raise InputError(
                f"--client {text!r}: neither of {', '.join(known_clients())}, nor a command",
                hint="a command of yours has {url} or {base}, and {out}, where its result goes",
            )
        if shutil.which(words[0]) is None:
            hint = row["install"] if row is not None else "install it, or give its path"
            raise InputError(f"--client {text}: no program {words[0]}", hint=hint)
        if load.shapes:
            raise InputError(f"--client {text}: a trace is played by tunegraph's own client alone")
        more = {} if row is None else row
        return cls(
            run=words, users=more.get("users", ()), rate=more.get("rate", ()), load=load, tokenizer=tokenizer
        )

    def put(
        self,
        server: ServingRun,
        place: LaunchPlace,
        out: Path,
        *,
        count: int,
        seed: int,
        rate: float | None,
        users: int | None,
    ) -> LoadResult:
        """Put a load on a server.

        Args:
            server: What is asked.
            place: Where the server was started, and the client is.
            out: Where its result goes.
            count: Requests.
            seed: Of them.
            rate: Requests a second of an open loop; None for a closed one.
            users: Users of a closed loop.

        Raises:
            CancelledError: It was interrupted.
            WorkspaceError: The client failed, or its result says no throughput.
        """
        facts = {
            "url": f"{server.address}/v1",
            "base": str(server.address),
            "model": server.model,
            "tokenizer": self.tokenizer,
            "requests": count,
            "input_len": self.load.input_len,
            "output_len": self.load.output_len,
            "seed": seed,
            "out": out.absolute(),
            "users": users,
            "rate": rate,
        }
        words = [*self.run, *(self.rate if rate is not None else self.users)]
        command = [_filled(word, facts) for word in words]
        began = time.monotonic()
        ended, said = place.ask(command, server.address, _LONGEST_S, server.cancel)
        stated = _stated(out)
        if ended.stopped or ended.code or "throughput" not in stated:
            how = ended.stopped or (
                f"exit code {ended.code}" if ended.code else "its result tells no throughput"
            )
            raise WorkspaceError(
                f"the load generator failed ({how}): {said or 'it said nothing'}",
                hint=shlex.join(command),
            )
        return LoadResult(records=(), wall_s=time.monotonic() - began, cpu_share=0.0, metrics=stated)


def _filled(word: str, facts: Mapping[str, object]) -> str:
    for name, value in facts.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


def _stated(out: Path) -> dict[str, float]:
    """The metrics of the first result in a file of a name, or in a folder, in SI units; empty without one."""
    places = sorted(out.parent.glob(f"{out.name}*"))
    files = [path for place in places for path in (place, *sorted(place.rglob("*"))) if path.is_file()]
    for path in files:
        tool = tool_of(path.read_text(errors="replace"))
        if tool is None:
            continue
        with Content(path) as content:
            for stated in runs_of(content, tool):
                if isinstance(stated, StatedRun) and (found := _metrics(stated, tool)):
                    return found
    return {}


def _metrics(run: StatedRun, tool: Tool) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in _METRICS:
        for told in (*tool.metrics.get(metric, ()), *tool.medians.get(metric, ())):
            name, _, symbol = told.rpartition(" ")
            value = run.number([name])
            if value and metric not in found:
                found[metric] = unit(run.units.get(name, symbol)).to_si(value)
    return found
