"""Support of each program for each phase on each chip, counted from what a workspace knows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ingest.questions.launches.program import program_signs
from kg.nouns.framework import Framework
from kg.nouns.recipe import Role
from kg.rows.trials import TrialStore
from kg.terms.phases import PHASES
from kg.terms.setting_registry import registry, softwares
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import normalise
from kg.triples.nodes import facts_of
from kg.triples.serialisation import all_of
from kg.triples.vocabulary import TG
from recommender.applicability.programs import program_names, unmodelled
from recommender.cost_model.settings.engine_defaults import trainers
from recommender.ranking.starts.flags.layout_flags import SPLITTING

_PRICED = ("memory_bytes", "memory_bandwidth_bytes_per_s")
"""Facts of a device without which no layout is priced."""
ANYWHERE = "any"  # the chip of a program that is read whatever it runs on
_TRAINING, _SERVING = "training", "serving"
Evidence: TypeAlias = "tuple[str, str, str, str]"
"""Program, phase, device and model of a case or a recipe."""


class SupportLevel(StrEnum):
    """Levels of support for a program, the best first."""

    MEASURED = "measured"
    RECIPE = "recipe"
    MODELLED = "modelled"
    READ_ONLY = "read only"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSupport:
    """The support of a program for a phase on a chip.

    Attributes:
        program: Its id.
        phase: ``training`` or ``serving``.
        chip: A node of the hardware tree: a device, a family or a vendor.
        cases: Problems with measured cases.
        recipes: Official recipes.
        is_modelled: Whether its layouts and memory are priced there.
        is_read: Whether its launches are read.
        settings: The newest release whose settings are known; empty without one.
    """

    program: str
    phase: str
    chip: str
    cases: int = 0
    recipes: int = 0
    is_modelled: bool = False
    is_read: bool = False
    settings: str = ""

    @property
    def level(self) -> SupportLevel:
        """The best that is known."""
        found = (
            (self.cases, SupportLevel.MEASURED),
            (self.recipes, SupportLevel.RECIPE),
            (self.is_modelled, SupportLevel.MODELLED),
            (self.is_read or self.settings, SupportLevel.READ_ONLY),
        )
        return next((level for known, level in found if known), SupportLevel.UNKNOWN)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "program": self.program,
            "phase": self.phase,
            "chip": self.chip,
            "level": str(self.level),
            "cases": self.cases,
            "recipes": self.recipes,
            "modelled": self.is_modelled,
            "launches_read": self.is_read,
            "settings_of": self.settings or None,
        }


def support(
    graph: GraphStore, trials: TrialStore, tree: HardwareTree, program: str = "", chip: str = ""
) -> list[ProgramSupport]:
    """The support of programs, best first; without a program, of each that is known for a chip.

    Args:
        graph: Knows frameworks and recipes.
        trials: Has the cases.
        tree: Knows hardware.
        program: Id of the only one.
        chip: Id of a node of the tree; empty for each vendor that any program is known for.
    """
    frameworks = {item.id: item for item in all_of(graph, Framework)}
    places = [chip] if chip else sorted({vendor for item in frameworks.values() for vendor in item.hardware})
    names = [program] if program else sorted({*frameworks, *unmodelled(), *program_signs()})
    measured = measured_problems(trials, frameworks.values())
    published = published_recipes(graph)
    found = []
    for name in names:
        framework = frameworks.get(name)
        for phase in phases_of(name, frameworks):
            rows = [_row(name, phase, place, framework, tree, measured, published) for place in places]
            shown = [row for row in rows if chip or row.cases or row.recipes or row.is_modelled]
            if framework is None and not chip:
                shown.append(replace(rows[0], chip=ANYWHERE, cases=0, recipes=0))
            elif framework is not None and not chip:
                shown += [row for row in rows if row not in shown and row.chip in framework.hardware]
            found += shown
    order = list(SupportLevel)
    return sorted(found, key=lambda row: (order.index(row.level), row.program, row.phase, row.chip))


def phases_of(program: str, frameworks: Mapping[str, Framework]) -> Sequence[str]:
    """The phases that a program is for."""
    if program in frameworks:
        stated = set(frameworks[program].phases)
    elif program in unmodelled():
        stated = set(unmodelled()[program].phases)
    else:
        stated = {program_signs()[program].phase} if program in program_signs() else {_TRAINING, _SERVING}
    if "kernel" in stated:
        return ()  # it builds kernels, and runs no models itself
    return [
        phase
        for phase in (_TRAINING, _SERVING)
        if phase in stated or (phase == _SERVING and "inference" in stated)
    ]


def _row(
    program: str,
    phase: str,
    chip: str,
    framework: Framework | None,
    tree: HardwareTree,
    measured: Mapping[Evidence, int],
    published: Mapping[Evidence, int],
) -> ProgramSupport:
    def counted(table: Mapping[Evidence, int]) -> int:
        return sum(
            number
            for (name, of_phase, device, _), number in table.items()
            if (name, of_phase) == (program, phase) and _is_there(device, chip, tree)
        )

    facts = tree.facts(chip)
    is_there = framework is None or bool({*framework.hardware} & {*tree.path(chip), chip})
    is_trainer = framework is not None and phase == _TRAINING
    is_priced = any(name != chip for name in tree.below(chip)) or all(name in facts for name in _PRICED)
    return ProgramSupport(
        program=program,
        phase=phase,
        chip=chip,
        cases=counted(measured),
        recipes=counted(published),
        is_modelled=(program in SPLITTING or (is_trainer and program in trainers()))
        and is_priced
        and is_there,
        is_read=program in program_signs(),
        settings=registry(program).releases[-1] if program in softwares() else "",
    )


def _is_there(device: str, chip: str, tree: HardwareTree) -> bool:
    """True if evidence from a device applies to a chip: it is below the chip, or above it but no vendor."""
    above = tree.path(chip)
    return device == chip or chip in tree.path(device) or device in above[1:-1]


def published_recipes(graph: GraphStore) -> Counter[Evidence]:
    """Number of official recipes, by program, phase, chip and model; their settings are not read."""
    training = {Role.TRAIN, Role.FINETUNE}
    wanted = (TG.SOFTWARE, TG.ROLE, TG.HARDWARE, TG.OF_MODEL)
    return Counter(
        (framework, _TRAINING if role in training else _SERVING, hardware, model)
        for framework, role, hardware, model in facts_of(graph, TG.RECIPE, wanted)
    )


def measured_problems(trials: TrialStore, frameworks: Iterable[Framework]) -> Counter[Evidence]:
    """Number of problems with cases, by program, phase, chip and model."""
    names, known = program_names(list(frameworks)), next(one for one in PHASES if one.name == _TRAINING)
    found: Counter[Evidence] = Counter()
    for row in trials.summary(trials.keys().tolist()):
        first = next(iter(trials.rows(row.id)), None) if row.model else None
        if first is None or row.model is None:
            continue
        phase = _TRAINING if row.operator in {known.activity, *known.synonyms} else _SERVING
        stated = map(normalise, (*first.software, str(first.configuration.get("framework", ""))))
        for program in {names[plain] for plain in stated if plain in names}:
            found[program, phase, row.hardware, row.model] += 1
    return found
