"""Containers of a start: known by a label, seen and ended by it, and no other one touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ingest.questions.launches.launch import read_launches
from ingest.questions.launches.variables import CONTAINERS
from kg.errors import InputError
from recommender.measuring.device_memory import ANSWER_S, tool_output

LABEL = "tunegraph"
"""Key of the labels of a start and of its process: theirs begins with it."""
_FOREGROUND = ("--detach=false", "--tty=false", "--interactive=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerCommand:
    """A ``docker run`` of a script.

    Attributes:
        runtime: The program: docker, podman or nerdctl.
        port: Port of this machine that it is published on, or its own in the network of the machine; 0
            where the script does not say.
    """

    runtime: str
    port: int

    @classmethod
    def of(cls, words: Sequence[str], inner: Sequence[str], usual_port: int) -> ContainerCommand | None:
        """Read a command; None if it runs no container.

        Args:
            words: Of the command.
            inner: Those of them that the container is told.
            usual_port: That its server listens on.
        """
        at = next((number for number, word in enumerate(words) if Path(word).name in CONTAINERS), None)
        outer = list(words[: len(words) - len(inner)])
        if at is None or "run" not in outer[at : at + 3]:
            return None
        options = [part for word in outer for part in word.split("=", 1)]
        pairs = list(pairwise(options))
        published = [word.partition("/")[0] for key, word in pairs if key in {"-p", "--publish"}]
        ports = {item.rpartition(":")[2]: item.split(":")[-2] for item in published if ":" in item}
        is_shared = any(key in {"--network", "--net"} and word == "host" for key, word in pairs)
        found = ports.get(str(usual_port)) or (next(iter(ports.values())) if len(ports) == 1 else "")
        port = usual_port if is_shared else int(found) if found.isdigit() else 0
        return cls(runtime=words[at], port=port)

    def labelled(self, text: str, mark: str) -> str:
        """A script whose container carries a mark, and runs in the foreground: its end is seen.

        Raises:
            InputError: It stands where nothing can be written, such as in the text of another shell.
        """
        launch = read_launches(text, "")[0]
        words = list(launch.command.words)
        image = len(words) - len(launch.started.words) - 1
        tune, process, _ = mark.split("/")
        labels = (f"{LABEL}={mark}", f"{LABEL}.tune={tune}", f"{LABEL}.process={process}")
        own = [*(word for label in labels for word in ("--label", label)), *_FOREGROUND]
        at = launch.command.spans[image][0]
        made = f"{text[:at]}{' '.join(own)} {text[at:]}"
        if list(read_launches(made, "")[0].command.words) != [*words[:image], *own, *words[image:]]:
            raise InputError(
                f"{self.runtime} run stands where no label can be written",
                hint="write it as a command of its own",
            )
        return made

    def listed(self, label: str, *filters: str) -> list[str]:
        """The ids of the containers with a label, ``key=value``."""
        words = [word for told in (f"label={label}", *filters) for word in ("--filter", told)]
        return self._said("ps", "--all", "--quiet", *words).split()

    def publishes(self, mark: str, port: int) -> bool:
        """True if a container of this start serves the port of this machine."""
        return bool(self.listed(f"{LABEL}={mark}", f"publish={port}"))

    def pids(self, mark: str) -> list[int]:
        """The processes in the containers of a start."""
        found = self.listed(f"{LABEL}={mark}")
        firsts = self._said("inspect", "--format", "{{.State.Pid}}", *found).split() if found else []
        pids = [int(word) for word in firsts if word.isdigit() and word != "0"]
        for pid in pids:  # it grows while it is walked
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    pids += [int(word) for word in task.read_text().split()]
                except OSError:
                    continue
        return pids

    def end(self, label: str, grace_s: float) -> None:
        """Ask the containers with a label to end, kill them after the grace, and take them away."""
        if found := self.listed(label):
            self._said("stop", "--time", f"{grace_s:.0f}", *found, longest_s=grace_s + ANSWER_S)
            self._said("rm", "--force", *found)

    def _said(self, *words: str, longest_s: float = ANSWER_S) -> str:
        return tool_output((self.runtime, *words), longest_s)
