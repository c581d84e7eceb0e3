"""The user's script as a tune starts it: with the settings of a configuration, a port and a name of ours."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.questions.launches.launch import Launch, LaunchForm, read_launches
from ingest.questions.launches.running import RunningSetting, running_settings
from ingest.questions.launches.variables import CONTAINERS
from ingest.questions.patches.script_edits import ScriptEdits, edited
from kg.errors import InputError, UnknownEntityError
from kg.nouns.setting import SettingPlace
from recommender.measuring.marks import end_marked
from recommender.measuring.masking import masked
from recommender.tune.containers import LABEL, ContainerCommand
from recommender.tune.engine import EngineDriver, engine_of

_OUTSIDE = frozenset({*CONTAINERS, "kubectl", "srun", "sbatch", "ssh"})
"""Commands that start a server outside of the processes that are marked here."""
_TELLS = "--ready http://127.0.0.1:8000/health tells where it answers; or --train"
_OWN_PLACE = re.compile(r"\$\{BASH_SOURCE(?:\[0\])?\}|\$BASH_SOURCE\b")
_VALUE = r"""'[^'\n]*'|"[^"\n]*"|[^\s'"\\;&|()<>]+"""
_SHELL = re.compile(r"#!\s*(?:/usr/bin/env\s+)?(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchScript:
    """A script that starts one server, or one training run.

    Attributes:
        text: Its text, of several launches with the others left out.
        path: Where it lies.
        folder: Where it is run.
        engine: What it starts.
        source: The user's whole text.
        server: Number of the launch among several; None where there is one.
        is_server: Whether that answers requests; a trainer writes a log.
        program: Id of the program; empty for a command that nothing here knows.
        model: The model that it names; empty for none.
        settings: What it sets.
        container: What runs it in a container; None where nothing does.
    """

    text: str
    path: Path
    folder: Path
    engine: EngineDriver
    source: str
    server: int | None = None
    is_server: bool = True
    program: str = ""
    model: str = ""
    settings: tuple[RunningSetting, ...] = ()
    container: ContainerCommand | None = None

    @classmethod
    def read(
        cls,
        path: Path,
        folder: Path,
        text: str,
        *,
        ready: str = "",
        trains: bool = False,
        server: int | None = None,
    ) -> LaunchScript:
        """Read a script.

        Args:
            path: Where it lies.
            folder: Where it is run.
            text: Its text.
            ready: Path or URL that answers once a command that nothing knows is ready; empty for none.
            trains: It is a training run, whatever is known of its program.
            server: Number of the launch among several, from 1.

        Raises:
            InputError: It starts several and none is asked for, or one that cannot be started or ended here.
        """
        source = text
        try:
            launches = read_launches(text, str(path))
        except UnknownEntityError as fault:
            if not (ready or trains):
                raise InputError(str(fault), hint=_TELLS) from None
            launches = ()
        if not launches:
            lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
            _refuse_outside(path, lines)
            if not (ready or trains):
                raise InputError(
                    f"{path}: no launch is found in it",
                    hint=_TELLS,
                )
            driver = EngineDriver()
            return cls(
                text=text, path=path, folder=folder, engine=driver, source=source, is_server=not trains
            )
        if len(launches) > 1 or server not in {None, 1}:
            if server is None or not 1 <= server <= len(launches):
                listed = "; ".join(f"{number} {one}" for number, one in enumerate(launches, 1))
                raise InputError(
                    f"{path}: it starts {len(launches)} programs ({listed})",
                    hint=f"--server {len(launches)} tunes the last, with the others left out",
                )
            text = _alone(path, text, launches, server)
            launches = read_launches(text, str(path))
        launch = next(iter(launches))
        if launch.form is not LaunchForm.SCRIPT:
            raise InputError(
                f"{path}: {launch.form} is not started here", hint="put its command into a script"
            )
        program = launch.started.signs.id
        is_server = launch.started.signs.reader == "server" and not trains
        engine = engine_of(program)
        if engine is None:
            lengths = (f"--{name}" for name in launch.started.signs.length)
            engine = EngineDriver(id=program, left=tuple(lengths))
            if is_server and not ready:
                raise InputError(
                    f"{path}: where {program} answers is not known here",
                    hint="--ready http://127.0.0.1:8000/health tells it",
                )
        found = cls(
            text=text,
            path=path,
            folder=folder,
            engine=engine,
            source=source,
            server=server,
            is_server=is_server,
            program=program,
            model=str(launch.facts.question.get("model", "")),
            settings=running_settings(text),
        )
        words = launch.command.words
        container = ContainerCommand.of(words, launch.started.words, found.stated_port)
        if container is None:
            _refuse_outside(path, words)
        elif is_server and not container.port:
            raise InputError(
                f"{path}: the port that its container is published on is not told", hint="-p 8000:8000"
            )
        else:
            container.labelled(text, "can/it/be")
        return replace(found, container=container)

    @property
    def digest(self) -> str:
        """Digest of the text: a tune that goes on must find it unchanged."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    @property
    def stated_port(self) -> int:
        """The port that it states, else the usual one of its engine; 0 where none is known."""
        for item in self.settings:
            if item.place is SettingPlace.FLAG and item.key == self.engine.port and item.value.isdigit():
                return int(item.value)
        return self.engine.usual_port

    def with_edits(self, edits: ScriptEdits) -> tuple[str, tuple[str, ...]]:
        """The text with settings written into it, and what could not be written, with the reason."""
        if not any((edits.flags, edits.fields, edits.removed, edits.variables)):
            return self.text, ()
        if not self.program:  # nothing is known of its flags, and variables are given to it when it starts
            return _reworded(self.text, edits)
        made = edited(self.text, edits)
        return made.text, made.unwritten

    def at(self, text: str, port: int, name: str) -> tuple[str, int]:
        """The text with a port and a name of ours, and the port that it will listen on.

        Args:
            text: Made by :meth:`with_edits`.
            port: A free port.
            name: What the model is to be served as.
        """
        if not self.program:
            return text, self.stated_port
        moved = {self.engine.port: (str(port),)} if self.engine.port and self.container is None else {}
        named = {self.engine.name: (name,)} if self.engine.name else {}
        made = edited(text, ScriptEdits(flags=moved | named))
        left = self.stated_port if self.container is None else self.container.port
        is_moved = moved and not any(line.startswith(f"{self.engine.port} ") for line in made.unwritten)
        return made.text, port if is_moved else left

    def command(self, text: str) -> list[str]:
        """Program and arguments that run a text as if it were the script: its own name, place and shell."""
        found = _SHELL.match(self.text)
        named = Path(found[1]).name if found else "bash"
        shell = shutil.which(named if named in {"bash", "sh", "dash", "zsh", "ksh"} else "bash") or "sh"
        return [shell, "-c", _OWN_PLACE.sub("$0", text.replace("\r\n", "\n")), str(self.path)]

    def end_all(self, mark: str) -> None:
        """End whatever still runs of a tune that was killed."""
        end_marked(mark, self.engine.grace_s)
        if self.container is not None:
            self.container.end(f"{LABEL}.tune={mark}", self.engine.grace_s)

    def edits_text(self, edits: ScriptEdits) -> str:
        """The differences between a start and the script, in one line, without secrets."""
        parts = [f"{name}={value}" for name, value in edits.variables.items()]
        parts += [shlex.join([name, *words]) for name, words in edits.flags.items()]
        parts += [
            shlex.join([name, json.dumps(content, ensure_ascii=False)])
            for name, content in edits.fields.items()
        ]
        parts += [f"without {name}" for name in edits.removed]
        return masked(", ".join(parts)) or "the script as it is"


def _reworded(text: str, edits: ScriptEdits) -> tuple[str, tuple[str, ...]]:
    """A text with other values of flags that stand in it once, and the flags that do not, with the reason."""
    left = []
    for name, words in {**edits.flags, **dict.fromkeys((*edits.fields, *edits.removed), ())}.items():
        found = list(
            re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])(?:(?:=|[ \t]+)(?!-)({_VALUE}))?", text)
        )
        if len(found) != 1 or (words and found[0][1] is None) or not (words or name in edits.removed):
            left.append(f"{name}: it does not stand in the script once, with its value")
        elif words:
            text = text[: found[0].start(1)] + shlex.join(words) + text[found[0].end(1) :]
        elif found[0][1] is None or "=" in found[0][0]:
            text = text[: found[0].start()] + text[found[0].end() :]
        else:  # what follows may be no value of it
            left.append(f"{name}: its flags are not known")
    return text, tuple(left)


def _alone(path: Path, text: str, launches: Sequence[Launch], server: int) -> str:
    """A text in which of several launches one is left, and the others do nothing.

    Raises:
        InputError: They do not stand apart.
    """
    kept, made = launches[server - 1], text
    for launch in reversed(launches):
        if launch is not kept:
            spans = launch.command.spans
            made = f"{made[: spans[0][0]]}:{made[spans[-1][1] :]}"
    for number, launch in enumerate(launches, 1):
        driver, words = engine_of(launch.started.signs.id), [*launch.started.words, ""]
        port = words[words.index(driver.port) + 1] if driver and driver.port in words[:-1] else ""
        if launch is not kept and port and re.search(rf"(?<!\d){re.escape(port)}(?!\d)", made):
            raise InputError(
                f"{path}: it waits for launch {number}, on port {port}, which would be left out",
                hint=f"put launch {server} into a script of its own",
            )
    left = read_launches(made, "")
    if [one.started.words for one in left] != [kept.started.words]:
        raise InputError(
            f"{path}: launch {server} does not stand apart from the others",
            hint="put it into a script of its own",
        )
    return made


def _refuse_outside(path: Path, words: Iterable[str]) -> None:
    """Refuse what starts a program where it is neither marked nor ended.

    Raises:
        InputError: A word is one of those.
    """
    parts = (part for word in words for part in word.split())  # a word may be the text of another shell
    outside = next((part for part in parts if Path(part).name in _OUTSIDE), "")
    if outside:
        raise InputError(
            f"{path}: {outside} starts it where tunegraph can neither mark nor end it",
            hint="run tunegraph there, on the command itself",
        )


def joined(parts: Iterable[ScriptEdits]) -> ScriptEdits:
    """Edits one after the other: the later ones win."""
    variables: dict[str, str] = {}
    flags: dict[str, tuple[str, ...]] = {}
    fields: dict[str, dict[str, object]] = {}
    removed: dict[str, None] = {}
    for edits in parts:
        for name in (*edits.variables, *edits.flags, *edits.fields):
            removed.pop(name, None)
        variables.update(edits.variables)
        flags.update(edits.flags)
        for name, content in edits.fields.items():
            fields[name] = {**fields.get(name, {}), **content}
        for name in edits.removed:
            for table in (variables, flags, fields):
                table.pop(name, None)
            removed[name] = None
    return ScriptEdits(variables=variables, flags=flags, fields=fields, removed=tuple(removed))
