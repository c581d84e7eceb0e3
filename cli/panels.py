"""Options of a long help under headings, by what they are about."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

_FEW = 13
"""Options up to which a help is one list; a choice."""

_PANELS: dict[str, str] = {
    "Question": "--model --kernel --phase --shape --precision --trait --hardware --count --objective --limit "
    "--bottleneck --current --software --server --cores --control --treatment --problem --strategy "
    "--recommendation",
    "From files": "--from-command --config-json --smi --trace --from-profile --space --log --file --known "
    "--sensitivity",
    "Size a service": "--rate --pareto --price",
    "Run for least carbon": "--by --lasts --region --power-limit --weigh",
    "What to estimate": "--set --sweep --compare --constants",
    "What the space holds": "--share --form --block --spills --runtime --memory-margin --low --budget",
    "Measure": "--command --metric --pattern --better --guard --alpha --margin --repeats --warmup --drop "
    "--input --timeout --folder --in-order --control-settings --treatment-settings --allow-value",
    "Test the first three": "--verify --verify-pairs --verify-time --allow-low-trust",
    "When to end": "-n --pairs --time --cost --price-per-hour --patience --min-gain",
    "What it is worth": "--device-hours --currency --power --intensity",
    "How to search": "-j --cold --allow-unmeasured-accuracy --evaluate --seed",
    "Output": "-k --format --write --out --html --plot --live --ingest --tell --verbose --json",
}
"""Heading to the last names of its options, in the order of a help."""
_HEADINGS = {name: heading for heading, names in _PANELS.items() for name in names.split()}
_OWN = {
    ("estimate", "--pareto"): "What to estimate",
    ("run", "--price"): "What it is worth",
    ("record", "--price"): "What it is worth",
}
"""Heading by command and option, where a command means something else by its name."""


class PanelCommand(TyperCommand):
    """A command whose help has its options under headings, if they are many."""

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
