"""Options that several commands share."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ingest.questions.launches.launch_facts import LaunchFacts


PLACEHOLDER = "YOUR BENCHMARK"
"""Stands in a printed command for what a user runs: never run itself."""
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON with a schema_version instead of a table.")
]
NumberOption = Annotated[int, typer.Option("-k", min=1, max=50, help="How many at most.")]
ProblemFile = Annotated[
    Path | None,
    typer.Argument(help="A problem file (YAML or JSON), or a launch; options add to it and override it."),
]
ModelOption = Annotated[str | None, typer.Option("--model", help="Model, such as bert-large.")]
OperatorOption = Annotated[
    str | None, typer.Option("--op", "--kernel", help="Operator or kernel, such as gemm.")
]
PhaseOption = Annotated[
    str | None, typer.Option("--phase", help="training, serving, prefill, decode, operator, kernel or hpc.")
]
ShapeOption = Annotated[
    list[str] | None, typer.Option("--shape", help="Sizes, such as M=4096,N=4096,K=4096; may be repeated.")
]
PrecisionOption = Annotated[str | None, typer.Option("--precision", help="Number format, such as bfloat16.")]
TraitOption = Annotated[
    list[str] | None, typer.Option("--trait", help="Any other fact of the question, as name=value.")
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
        help="A launch to read (never run), or - for standard input: a command, script, compose file or "
        "manifest, LLM(...) in Python, or a server's log.",
    ),
]
ServerOption = Annotated[
    int | None, typer.Option("--server", min=1, help="Which of several launches of a script.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config-json", help="A model's config.json, GGUF file, or MindFormers YAML.")
]
TraceOption = Annotated[
    Path | None,
    typer.Option("--trace", help="Requests, one JSON object a line: lengths, arrivals, shared prefixes."),
]
SmiOption = Annotated[
    Path | None, typer.Option("--smi", help="What npu-smi info or nvidia-smi printed, in a file.")
]


@cache
def command_text(from_command: str) -> str:
    """The text of a launch script, or of standard input, which can be read but once.

    Raises:
        InputError: It cannot be read.
    """
    from ingest.questions.launches import launch_facts as texts

    if from_command != "-":
        return texts.read_text(Path(from_command))
    return texts.decode_text(sys.stdin.buffer.read(texts.MAXIMUM_BYTES + 1), "standard input")


def command_place(from_command: str) -> tuple[Path, str]:
    """The folder of a launch script and its name."""
    is_stream = from_command == "-"
    return (Path(), "standard input") if is_stream else (Path(from_command).parent, Path(from_command).name)


def facts_at_hand(
    *, from_command: str | None, config_json: Path | None, smi: Path | None, server: int | None = None
) -> list[LaunchFacts]:
    """Read the texts that people have: a command wins over a model's sizes, those over a table of devices.

    Raises:
        InputError: One cannot be read, or is something else.
    """
    from ingest.questions.launches import launch_facts as texts

    facts: list[LaunchFacts] = []
    if smi is not None:
        from ingest.questions.smi import read_smi

        facts.append(read_smi(texts.read_text(smi), smi.name))
    if config_json is not None:
        from ingest.questions.launches.model_files import read_model_file

        facts.append(read_model_file(config_json))
    if from_command is not None:
        from ingest.questions.launches.launch import read_launch
        from ingest.questions.launches.model_files import text_beside, with_named_files

        folder, place = command_place(from_command)
        launch = read_launch(
            command_text(from_command), place, beside=lambda name: text_beside(folder, name), server=server
        )
        facts += with_named_files(launch, folder) if config_json is None else [launch]
    return facts
