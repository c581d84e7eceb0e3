"""A plan in the words of what starts jobs: at, cron, systemd, Slurm, Kubernetes, Kueue."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from recommender.green.plan import GreenPlan


_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""A label of RFC 1123, as Kubernetes asks of names; nothing that a shell reads."""

_IN_PIECES = frozenset({"slurm", "k8s", "json"})
"""Kinds that can start a job, pause it and let it go on."""


def hand_over(plan: GreenPlan, kind: str, command: Sequence[str], name: str = "green-job") -> str:
    """The plan as text of one of :data:`WRITERS`.

    Args:
        plan: The plan.
        kind: Which.
        command: Program and arguments; empty where the user adds them.
        name: Name of the job, where one is needed.

    Raises:
        InputError: The name is none that all of them take, or the kind cannot start a job in pieces.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"--name {name!r}", hint="small letters, digits and - between them, 63 at most")
    if len(plan.pieces) > 1 and kind not in _IN_PIECES:
        raise InputError(
            f"--format {kind} starts a job once, and the plan has {len(plan.pieces)} pieces",
            hint=f"without --split, or --format {', '.join(sorted(_IN_PIECES))}, or green wait --split",
        )
    if kind == "cron" and any("\n" in word for word in command):
        raise InputError("a line of cron holds no command with a line break", hint="put it into a script")
    return WRITERS[kind](plan, shlex.join(command) or "COMMAND", name)


def _local(moment: datetime) -> datetime:
    return _next_minute(moment).astimezone()


def _next_minute(moment: datetime) -> datetime:
    whole = moment.replace(second=0, microsecond=0)
    return whole if whole == moment else whole + timedelta(minutes=1)


def _at(plan: GreenPlan, command: str, _: str) -> str:
    return f"printf '%s\\n' {shlex.quote(command)} | at -t {_local(plan.start):%Y%m%d%H%M}\n"


def _cron(plan: GreenPlan, command: str, _: str) -> str:
    start = _local(plan.start)
    guard = f'[ "$(date +\\%Y)" = {start.year} ] && '  # a line of cron would run every year
    escaped = command.replace("%", "\\%")
    return f"{start.minute} {start.hour} {start.day} {start.month} * {guard}{escaped}\n"


def _systemd(plan: GreenPlan, command: str, name: str) -> str:
    start = _next_minute(plan.start).astimezone(UTC)
    return f"systemd-run --user --unit={name} --on-calendar='{start:%Y-%m-%d %H:%M:%S} UTC' {command}\n"


def _slurm(plan: GreenPlan, command: str, name: str) -> str:
    """One batch job; a plan in pieces is a chain whose pieces end with a signal to save a checkpoint."""
    lines = []
    for number, (begin, end) in enumerate(plan.pieces, 1):
        minutes = max(1, round((end - begin).total_seconds() / 60))
        begin_text = f"{_local(begin):%Y-%m-%dT%H:%M:%S}"
        options = f"--job-name={name}-{number} --begin={begin_text} --time={minutes}"
        if len(plan.pieces) > 1:
            options += " --signal=B:USR1@120"
        if number == 1:
            lines.append(f"job=$(sbatch --parsable {options} --wrap={shlex.quote(command)})")
        else:
            options += " --dependency=afterany:$job"
            lines.append(f"job=$(sbatch --parsable {options} --wrap={shlex.quote(command)})")
    if len(plan.pieces) > 1:
        lines.insert(
            0,
            "# SIGUSR1 comes two minutes before a piece ends: save a checkpoint; the next goes on from it",
        )
    return "\n".join(lines) + "\n"


def _job(plan: GreenPlan, command: str, name: str, extra: Mapping[str, object]) -> dict[str, object]:
    metadata: dict[str, object] = {
        "name": name,
        "annotations": {
            "tunegraph/start": plan.start.astimezone(UTC).isoformat(timespec="seconds"),
            "tunegraph/deadline": plan.job.deadline.astimezone(UTC).isoformat(timespec="seconds"),
        },
        **extra,
    }
    container = {"name": name, "image": "IMAGE", "command": shlex.split(command)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def _k8s(plan: GreenPlan, command: str, name: str) -> str:
    """A suspended Job under the patches that start it and pause it; pausing deletes its pods.

    Comments come first: with them the stream is read as YAML, of which JSON is a part.
    """
    parts = []
    for begin, end in plan.pieces:
        parts.append(f"# at {begin.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}: {_patch(name, is_suspended=False)}")
        if (begin, end) != plan.pieces[-1]:
            parts.append(f"# at {end.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}: {_patch(name, is_suspended=True)}")
    parts.append(json.dumps(_job(plan, command, name, {}), indent=2))
    return "\n".join(parts) + "\n"


def _patch(name: str, *, is_suspended: bool) -> str:
    return f"kubectl patch job/{name} --type=merge -p '{json.dumps({'spec': {'suspend': is_suspended}})}'"


def _kueue(plan: GreenPlan, command: str, name: str) -> str:
    """A Job in a queue of its own that is held until the start."""
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": f"{name}-queue", "namespace": "default"},
        "spec": {"clusterQueue": "CLUSTER_QUEUE", "stopPolicy": "Hold"},
    }
    job = _job(plan, command, name, {"labels": {"kueue.x-k8s.io/queue-name": f"{name}-queue"}})
    release = json.dumps({"spec": {"stopPolicy": "None"}})
    return (
        f"# at {plan.start.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}: "
        f"kubectl patch localqueue/{name}-queue --type=merge -p '{release}'\n"
        f"{json.dumps(queue, indent=2)}\n---\n{json.dumps(job, indent=2)}\n"
    )


def _json(plan: GreenPlan, _command: str, _name: str) -> str:
    """The answer of the Carbon Aware SDK for the best time, as its clients read it."""
    content = {
        "generatedAt": plan.now.astimezone(UTC).isoformat(timespec="seconds"),
        "location": plan.region,
        "windowSize": round(plan.job.duration_s / 60),
        "optimalDataPoints": [
            {
                "location": plan.region,
                "timestamp": begin.astimezone(UTC).isoformat(timespec="seconds"),
                "duration": round((end - begin).total_seconds() / 60),
                "value": None if plan.planned_g_per_kwh is None else round(plan.planned_g_per_kwh, 2),
            }
            for begin, end in plan.pieces
        ],
    }
    return json.dumps([content], indent=2) + "\n"


WRITERS: Mapping[str, Callable[[GreenPlan, str, str], str]] = {
    "at": _at, "cron": _cron, "systemd": _systemd, "slurm": _slurm,
    "k8s": _k8s, "kueue": _kueue, "json": _json,
}  # fmt: skip
"""Kinds of hand-over."""
