"""Estimates of whole steps by the cost model: what configurations of a problem would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg.errors import TuningError
from recommender.cost_model.estimate import as_records, estimate_question, sweep
from recommender.cost_model.operators.kinds import load
from recommender.cost_model.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kg.nouns.entities import Problem
    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Costs of some configurations of one problem.

    Attributes:
        question: What the cost model was asked.
        records: Time with its split, throughput, memory and energy of each configuration.
        notes: What was assumed.
    """

    question: Question
    records: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The estimate as JSON."""
        place = self.question.machine
        server = place.network.id
        return {
            "model": self.question.model.id,
            "hardware": place.device.id,
            "server": server if server != place.device.id else None,
            "count": place.count,
            "phase": self.question.phase,
            "kind": "modelled",
            "estimates": list(self.records),
        }

    def write_plots(self, path: Path) -> tuple[Path, Path]:
        """Write the split of the time and the roofline as SVG; returns both paths."""
        from recommender.cost_model.plots import roofline_svg, split_svg, write

        roofline = path.with_name(f"{path.stem}-roofline.svg")
        write(path, split_svg(self.records))
        write(roofline, roofline_svg(self.question.machine.device, self.records))
        return path, roofline


def estimate_problem(
    problem: Problem,
    sizes: Mapping[str, Value],
    tree: HardwareTree,
    *,
    phase: str,
    server: str = "",
    settings: Mapping[str, object] | None = None,
    axes: Mapping[str, Sequence[object]] | None = None,
    constants: Path | None = None,
    notes: Sequence[str] = (),
) -> Estimate:
    """Estimate configurations of a problem.

    Args:
        problem: Model, hardware, lengths and current settings.
        sizes: Facts of the model.
        tree: Knows hardware.
        phase: ``"training"`` or ``"serving"``.
        server: Id of the server around the devices; empty if it is not stated.
        settings: Settings of the cost model that win over the problem's.
        axes: Values of settings to combine; every combination is a configuration.
        constants: Folder of calibrated constants; the shipped ones if None.
        notes: What was assumed when the problem was read.

    Raises:
        InputError: An unknown phase or setting, or an impossible layout; the error has the notes.
        MissingFactError: A fact that the estimate needs is unknown; the error has the notes.
    """
    question = Question.of(problem, sizes, tree, server=server, phase=phase)
    if not question.model.layers and "operations_source" in sizes:
        notes = (*notes, f"{question.model.id}: its operations are those of {sizes['operations_source']}")
    if question.ignored:
        notes = (*notes, f"the cost model has no setting for {', '.join(question.ignored)}")
    try:
        changes = sweep(settings or {}, axes or {})
        steps = estimate_question(question, changes, load(constants) if constants else None)
    except TuningError as error:
        for note in notes:
            error.add_note(note)
        raise
    records = as_records(steps, [question.configuration(item) for item in changes])
    return Estimate(question=question, records=tuple(records), notes=tuple(notes))
