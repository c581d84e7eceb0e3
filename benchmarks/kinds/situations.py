"""A situation that somebody could be in: what is told, how it is told, and the command lines that ask about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from benchmarks.kinds.sources import ListedChip, ListedModel

TRAINERS = ("megatron-lm", "mindspeed-llm", "mindspeed")
"""Programs whose scripts look alike, and state the sizes of the model by flags."""


class LaunchForm(StrEnum):
    """The form in which the running launch is told."""

    NONE = "options"
    CURRENT = "current"
    SCRIPT = "script"
    MODULE = "module"
    DOCKER = "docker"
    SHELL = "bash -c"
    FILE = "problem file"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSetting:
    """A setting of the launch as the user writes it.

    Attributes:
        place: ``flag``, ``env`` or ``json``.
        key: As written.
        value: Text as written; empty for a flag without a value.
    """

    place: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSituation:
    """The question of one asker.

    Attributes:
        number: Its place in the panel; with the seed it draws it again.
        origin: ``recipe``, or ``drawn`` where the lists and parsers alone made it.
        program: What is launched; empty where it is not told.
        is_known: Whether the graph lists the program.
        release: Of the program; empty where it is not told.
        model: As written.
        listed: The model of the graph that was meant; None where a publication named it.
        hardware: As written.
        chip: The part of the graph that was meant; None where a publication named it.
        count: Devices.
        phase: As the product calls it.
        precision: As written; empty where it is not told.
        load: Lengths and concurrency, by the product's names.
        layout: Degrees that the launch sets: ``tp``, ``pp``, ``cp``, ``ep``.
        bounds: Lengths and requests that the launch itself is limited to: ``length``, ``requests``.
        settings: What else the launch sets.
        form: How the launch is told.
        text: The launch, where the form is a text.
    """

    number: int
    origin: str
    program: str
    is_known: bool
    release: str
    model: str
    hardware: str
    count: int
    phase: str
    precision: str = ""
    load: Mapping[str, int] = field(default_factory=dict)
    layout: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    settings: tuple[LaunchSetting, ...] = ()
    form: LaunchForm = LaunchForm.NONE
    text: str = ""
    listed: ListedModel | None = None
    chip: ListedChip | None = None

    @property
    def vendor(self) -> str:
        """The maker of the chip; ``unknown`` where a publication named it."""
        return self.chip.vendor if self.chip else "unknown"

    @property
    def files(self) -> dict[str, str]:
        """Texts that the command line names, by file name."""
        if self.form in {LaunchForm.NONE, LaunchForm.CURRENT}:
            return {}
        return {f"{self.number}.{'yaml' if self.form is LaunchForm.FILE else 'sh'}": self.text}

    def write(self, folder: Path) -> None:
        """Put the texts of the question into a folder."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def argv(self, command: str, folder: Path, *more: str) -> list[str]:
        """The words that ask about it.

        Args:
            command: ``recommend``, ``estimate``, ``predict`` or ``size``.
            folder: Where its texts lie.
            more: Words to add.
        """
        words = [command]
        (file, *_) = [*self.files, ""]
        if self.form is LaunchForm.FILE:
            words.append(str(folder / file))
        else:
            words += ["--model", self.model, "--phase", self.phase]
            words += ["--hardware", self.hardware, "--count", str(self.count)]
        if file and self.form is not LaunchForm.FILE:
            words += ["--from-command", str(folder / file)]
        says_itself = bool(file) and self.program not in TRAINERS and not self.release
        if self.program and self.form is not LaunchForm.FILE and not says_itself:
            words += ["--software", f"{self.program}={self.release}" if self.release else self.program]
        if self.precision:
            words += ["--precision", self.precision]
        lengths = {name: size for name, size in self.load.items() if name.endswith("_len")}
        if lengths:
            words += ["--shape", ",".join(f"{name}={size}" for name, size in lengths.items())]
        if "concurrency" in self.load:
            words += ["--trait", f"concurrency={self.load['concurrency']}"]
        if self.form is LaunchForm.CURRENT:
            for item in self.settings:
                words += ["--current", f"{item.key.lstrip('-')}={item.value or 'true'}"]
        return [*words, *more, "--json"]

    def with_count(self, count: int) -> PanelSituation:
        """The same on another number of devices."""
        return replace(self, count=count)
