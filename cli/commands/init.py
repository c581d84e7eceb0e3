"""``tunegraph init``: the user's file of defaults, from what this machine shows."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import CountOption, HardwareOption, JsonOption
from cli.output import aside, say


def init(
    context: typer.Context,
    hardware: HardwareOption = None,
    count: CountOption = None,
    server: Annotated[str, typer.Option("--server", help="Server type, such as atlas-800t-a2.")] = "",
    framework: Annotated[str, typer.Option("--framework", help="Such as vllm-ascend=0.18.0.")] = "",
    language: Annotated[str, typer.Option("--language", help="Language of the output: en or zh.")] = "",
    folder: Annotated[Path, typer.Option("--folder", help="Where to write tunegraph.toml.")] = Path(),
    as_json: JsonOption = False,
) -> None:
    """Write tunegraph.toml: your hardware and defaults.

    Example: tunegraph init --framework vllm-ascend=0.18.0
    """
    from cli import output
    from cli.text.language import choose_language
    from tunegraph.user_file import FILE, UserSettings, write_user_settings

    if language:
        choose_language(language, "", {})
    with open_workspace(context) as workspace:
        seen = workspace.ask.questions.this_machine()
        if not (hardware or seen.has_accelerators or as_json):
            hardware = _asked()
        device = workspace.names.hardware(hardware).id if hardware else seen.hardware
        around = workspace.names.server(server).id if server else ""
        name, _, release = framework.partition("=")
        if name:
            workspace.ask.questions.with_defaults({}, {"framework": name}, "--framework")
    settings = UserSettings(
        hardware=device,
        count=count or (None if hardware else seen.count),
        server=around,
        framework=name or seen.framework,
        version=release if name else seen.version,
        language=language,
    )
    path = folder / FILE
    stated = {"hardware": hardware, "count": hardware or count, "framework": name}
    remarks = {key: text for key, text in seen.sources.items() if not stated[key]}
    write_user_settings(path, settings, remarks)
    for text in () if hardware else seen.notes:
        output.note(text)
    if not (device or seen.has_accelerators):
        output.note("no accelerator here: questions name their own, or tunegraph init --hardware NAME")
    content = path.read_text(encoding="utf-8")
    if as_json:
        output.as_json({"path": str(path), "content": content})
        return
    say(f"wrote {path}")
    print(content, end="")


def _asked() -> str:
    """The device that a person says questions are about; empty where nobody is there to say it."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    aside("No accelerator is here. Which device are your questions about, such as 910B3? (none: Enter)")
    with suppress(EOFError):
        return input("> ").strip()
    return ""
