"""Commands that are imported and built when they are called: a run of the program needs one of them."""

import inspect
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cli.text.help_page import HelpPage

Source = str | typer.Typer | Callable[..., None]


class LateTyper(typer.Typer):
    """A Typer application whose commands are built late: typer takes milliseconds for each.

    Args:
        name: Its name as a command of another application.
        help: Its help.
        settings: What ``typer.Typer`` takes.
    """

    def __init__(self, *, name: str, help: str, **settings: Any) -> None:
        self.sources: dict[str, Source] = {}
        self.headings: dict[str, str] = {}
        super().__init__(
            name=name,
            help=help,
            cls=type("Late", (_LateGroup,), {"sources": self.sources, "headings": self.headings}),
            callback=_no_options,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(self, name: str | None = None, **_: Any) -> Callable[[Any], Any]:
        """Take a function as a command, as ``typer.Typer.command`` does; it has a name and no settings."""

        def take(function: Callable[..., None]) -> Callable[..., None]:
            self.sources[name or function.__name__.replace("_", "-")] = function
            return function

        return take

    def add(self, name: str, place: str, heading: str = "Commands") -> None:
        """Take the function or application at ``module:name`` as a command, under a heading of the help."""
        self.sources[name] = place
        self.headings[name] = heading


class _Context(typer.Context):
    """The call of a command, whose help is in the language of the run."""

    formatter_class = HelpPage


class _LateGroup(TyperGroup):
    """The group of a :class:`LateTyper`; its ``commands`` hold None for what is not built yet."""

    context_class = _Context

    sources: dict[str, Source]
    headings: dict[str, str]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(self.sources)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  as of the class above
        """The command of a name, built now if need be; None if there is none."""
        if cmd_name in self.sources and self.commands[cmd_name] is None:
            built = _built(cmd_name, _imported(self.sources[cmd_name]))
            for option in built.params:
                if option.type.name.startswith("float"):
                    option.callback = _finite(option.callback)
            self.commands[cmd_name] = built
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  as above
        """Write the list of commands; no more than their help is needed of them."""
        longest = max(map(len, self.sources))
        for heading in dict.fromkeys(self.headings.get(name, "Commands") for name in self.sources):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(longest), _help(_imported(source)).partition("\n")[0].rstrip(" ."))
                        for name, source in self.sources.items()
                        if self.headings.get(name, "Commands") == heading
                    ]
                )


def _no_options() -> None:
    """Take no options: nothing is done before a command."""


def _finite(callback: Callable[..., Any] | None) -> Callable[..., Any]:
    """A callback that refuses what is no number before another is called: a range lets nan pass."""

    def check(context: Any, option: Any, value: float | None) -> Any:
        if value is not None and not math.isfinite(value):
            raise typer.BadParameter(f"{value} is not a number")
        return value if callback is None else callback(context, option, value)

    return check


def _imported(source: Source) -> typer.Typer | Callable[..., None]:
    if not isinstance(source, str):
        return source
    module, _, name = source.partition(":")
    found: typer.Typer | Callable[..., None] = getattr(import_module(module), name)
    return found


def _help(source: typer.Typer | Callable[..., None]) -> str:
    return str(source.info.help) if isinstance(source, typer.Typer) else inspect.getdoc(source) or ""


def _built(name: str, source: typer.Typer | Callable[..., None]) -> Any:
    if isinstance(source, typer.Typer):
        return typer.main.get_command(source)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=PanelCommand)(source)
    return typer.main.get_command(alone)


_FEW = 13
"""Options up to which a help is one list; a choice."""

_PANELS: dict[str, str] = {
    "Question": "--model --kernel --phase --shape --precision --trait --hardware --count --objective --limit "
    "--bottleneck --current --software --server --cores --control --treatment --problem --strategy "
    "--recommendation",
    "From files": "--from-command --config-json --smi --trace --from-profile --space --log --file --known "
    "--sensitivity",
    "Load": "--load --input-len --output-len --requests --probe-time",
    "What is tried": "--change --ready --start-time --accuracy",
    "A training run": "--train --steps --line",
    "The tune": "--dry-run",
    "Size a service": "--rate --pareto --price",
    "Run for least carbon": "--by --lasts --region --power-limit --weigh",
    "What to estimate": "--set --sweep --compare --constants",
    "What the space holds": "--share --form --block --spills --memory-margin --low --budget",
    "Measure": "--command --metric --pattern --better --guard --alpha --margin --repeats --warmup --drop "
    "--input --timeout --folder --in-order --control-settings --treatment-settings --allow-value",
    "When to end": "-n --pairs --time --cost --price-per-hour --patience --min-gain",
    "What it is worth": "--device-hours --currency --power --intensity",
    "How to search": "-j --cold --allow-unmeasured-accuracy --evaluate --seed",
    "Output": "-k --format --write --out --html --ingest --tell --verbose --json",
}
"""Heading to the last names of its options, in the order of a help."""
_HEADINGS = {name: heading for heading, names in _PANELS.items() for name in names.split()}
_OWN = {
    **{("tune", name): "Load" for name in ("--limit", "--rate", "--trace")},
    ("tune", "--better"): "A training run",
    **{("tune", name): "The tune" for name in ("--budget", "--resume", "--name")},
    ("estimate", "--pareto"): "What to estimate",
    ("run", "--price"): "What it is worth",
    ("record", "--price"): "What it is worth",
}
"""Heading by command and option, where a command means something else by its name."""


class PanelCommand(TyperCommand):
    """A command whose help has its options under headings, if they are many."""

    context_class = _Context

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        arguments: list[Any] = []
        panels: dict[str, list[Any]] = {heading: [] for heading in (*_PANELS, "Other options")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                arguments.append(record)
            elif record is not None:
                name = parameter.opts[-1]
                heading = _OWN.get((str(self.name), name), _HEADINGS.get(name, "Other options"))
                panels[heading].append(record)
        if sum(map(len, panels.values())) <= _FEW + 1:  # --help is one too
            super().format_options(ctx, formatter)
            return
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        for heading, records in panels.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
