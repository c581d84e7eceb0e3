"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.questions.launches.launch_facts import LaunchFacts


def finite(value: float | None) -> float | None:
    """What an option says, if that is a number: a range lets nan pass."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a number")
    return value


JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON with a schema_version instead of a table.")
]
ProblemFile = Annotated[
    Path | None, typer.Argument(help="A problem file (YAML or JSON); options add to it and win over it.")
]
ModelOption = Annotated[str | None, typer.Option("--model", help="Model, such as bert-large.")]
OperatorOption = Annotated[
    str | None, typer.Option("--op", "--kernel", help="Operator or kernel, such as moe_layer.")
]
PhaseOption = Annotated[
    str | None, typer.Option("--phase", help="training, serving, prefill, decode, operator, kernel or hpc.")
]
ShapeOption = Annotated[
    list[str] | None, typer.Option("--shape", help="Sizes, such as M=4096,N=4096,K=4096; may be repeated.")
]
PrecisionOption = Annotated[str | None, typer.Option("--precision", help="Number format, such as bfloat16.")]
TraitOption = Annotated[
    list[str] | None, typer.Option("--trait", help="What else sets the workload apart, as name=value.")
]
HardwareOption = Annotated[
    str | None, typer.Option("--hardware", help="Device or server, such as ascend-910b3.")
]
CountOption = Annotated[int | None, typer.Option("--count", min=1, help="Number of devices.")]
ObjectiveOption = Annotated[
    str | None, typer.Option("--objective", help="Metric that decides, such as throughput or latency.")
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option("--limit", help="Bound on a metric, such as 'peak_memory<=32GB' or 'accuracy_loss<=0.5%'."),
]
BottleneckOption = Annotated[
    list[str] | None,
    typer.Option("--bottleneck", help="Observed bottleneck, with its share if known: 'allreduce-wait=0.28'."),
]
CurrentOption = Annotated[
    list[str] | None, typer.Option("--current", help="A setting in use now, as name=value; may be repeated.")
]
SoftwareOption = Annotated[
    list[str] | None, typer.Option("--software", help="A version in use, such as cann=8.0; may be repeated.")
]

CommandOption = Annotated[
    str | None,
    typer.Option(
        "--from-command",
        help="A launch command or script to read (never run), or - for standard input: torchrun with "
        "Megatron options, msrun, vllm serve, sglang.launch_server.",
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config-json", help="A model's config.json, of Hugging Face transformers.")
]
SmiOption = Annotated[
    Path | None, typer.Option("--smi", help="What npu-smi info or nvidia-smi printed, in a file.")
]


def value_of(text: str) -> object:
    """The value that a person means by ``text``: a JSON scalar or list where it is one, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter of brackets by the thousand
        return text


def pairs(
    option: str, texts: Iterable[str] | None, *, bare: bool = False, as_text: bool = False
) -> dict[str, object]:
    """``name=value`` texts as a mapping; several may share one text, separated by commas.

    Args:
        option: Name of the option, for the error.
        texts: As given on the command line.
        bare: Whether a name may stand alone; its value is then None.
        as_text: Keep values as they stand: version 2.10 is not the number 2.1.

    Raises:
        InputError: A text has no ``=``, or an empty name.
    """
    found: dict[str, object] = {}
    for text in texts or ():
        for piece in _split(text):
            name, equals, value = piece.partition("=")
            if not name.strip() or not (equals or bare):
                raise InputError(f"{option} {piece!r}: expected name=value")
            value = value.strip()
            found[name.strip()] = None if not equals else value if as_text else value_of(value)
    return found


def _split(text: str) -> list[str]:
    """Split at commas that are outside brackets and quotes, and that begin another ``name=``."""
    pieces, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        if letter in "[({":
            depth += 1
        elif letter in "])}":
            depth -= 1
        elif letter == "," and depth == 0 and "=" in text[position + 1 :].partition(",")[0]:
            pieces.append(text[start:position])
            start = position + 1
    return [*pieces, text[start:]]


def told(*, from_command: str | None, config_json: Path | None, smi: Path | None) -> list[LaunchFacts]:
    """What the texts that people have tell; a command over a model's sizes, those over a table of devices.

    Raises:
        InputError: One cannot be read, or is something else.
    """
    from ingest.questions.launches import launch_facts as texts

    found: list[LaunchFacts] = []
    if smi is not None:
        from ingest.questions.launches.smi import read_smi

        found.append(read_smi(texts.read_text(smi), smi.name))
    if config_json is not None:
        from ingest.questions.launches.model_config import read_config

        found.append(read_config(texts.read_text(config_json), config_json.name))
    if from_command == "-":
        from ingest.questions.launches.launch import read_launch

        raw = sys.stdin.buffer.read(texts.MAXIMUM_BYTES + 1)
        found.append(read_launch(texts.decode_text(raw, "standard input"), "standard input"))
    elif from_command is not None:
        from ingest.questions.launches.launch import read_launch

        found.append(read_launch(texts.read_text(Path(from_command)), Path(from_command).name))
    return found
