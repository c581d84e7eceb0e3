"""The configurations that a kernel may start from, as columns, and the rules that they keep."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kg.errors import InfeasibleError, InputError
from kg.nouns.values import Value, as_value
from recommender.ranking.feasibility.rules import Broken
from recommender.ranking.kernels.language import Language
from recommender.ranking.kernels.question import KernelQuestion
from recommender.space.expressions import Expression
from recommender.space.made.generated import ExcludedValue
from recommender.space.made.kernels import kernel_space
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace
from recommender.space.space_file import read_space

Columns = dict[str, "NDArray[np.float64]"]

MOST = 400_000
"""Configurations of a declared space that are scored; a choice: a second of time."""

_FIXED: Mapping[str, object] = {"waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 1}
"""Parameters that the tile model has no term for, at the value from which Triton's own examples start."""


_IN_THE_KERNEL: Mapping[str, Value] = {"GROUP_SIZE_M": 1}
"""Parameters that are code of the kernel and no options of its launch, each as a kernel without it has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDomain:
    """The configurations of a kernel that can run.

    Attributes:
        space: Parameters and rules.
        columns: Values of each parameter, a row a configuration; only of those with numbers.
        excluded: What was left out before.
        notes: Rules that could not be asked, and what else is to be known.
        absent: Parameters that the kernel lacks: of a declared space, those that it does not name.
    """

    space: SearchSpace
    columns: Columns
    excluded: tuple[ExcludedValue, ...] = ()
    notes: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def configuration(self, row: int) -> dict[str, Value]:
        """The configuration of a row."""
        kinds = {item.name: item.values for item in self.space.parameters}
        return {
            name: _typed(float(values[row]), kinds[name])
            for name, values in self.columns.items()
            if name not in self.absent
        }

    def rows_with(self, settings: Mapping[str, Value]) -> NDArray[np.bool_]:
        """The rows that have all of some values."""
        kept = np.ones(len(self), dtype=bool)
        for name, value in settings.items():
            if name in self.columns and isinstance(value, int | float):
                kept &= self.columns[name] == float(value)
        return kept

    def broken(self, settings: Mapping[str, Value]) -> tuple[Broken, ...]:
        """The rules that some settings break, whatever is chosen for the parameters that they leave open."""
        known = frozenset(self.space.names)
        own = {name: value for name, value in settings.items() if isinstance(value, int | float)}
        broken = []
        for item in self.space.constraints:
            rule = Expression.parse(item.expression, known)
            about = sorted(rule.names & set(own))
            if not about:
                continue
            values = self._choices(rule.names, own)
            count = len(next(iter(values.values())))
            if not rule.evaluate(values, count).any():
                stated = ", ".join(f"{name}={settings[name]}" for name in about)
                broken.append(
                    Broken(rule=item.reason, reason=f"{stated}: {_nearest(rule, values)}", source=item.source)
                )
        return tuple(broken)

    def _choices(
        self, names: Collection[str], own: Mapping[str, int | float]
    ) -> dict[str, NDArray[np.float64]]:
        """All combinations of the values of some parameters; those that are set have that value alone."""
        listed = {item.name: item.values for item in self.space.parameters if item.name in names}
        numbers = [
            [own[name]] if name in own else [value for value in values if isinstance(value, int | float)]
            for name, values in listed.items()
        ]
        grid = np.meshgrid(*[np.asarray(values, dtype=np.float64) for values in numbers], indexing="ij")
        return {name: column.ravel() for name, column in zip(listed, grid, strict=True)}


def generated_domain(question: KernelQuestion) -> KernelDomain:
    """The domain that hardware and shape allow.

    Raises:
        InfeasibleError: Nothing fits; the message names the rules.
    """
    made = kernel_space(
        question.operator,
        dict(question.sizes),
        question.number,
        question.device,
        form=question.form,
        block=question.block,
        most=0,
    )
    parameters = {
        name: [_FIXED[name]] if name in _FIXED else values for name, values in made.parameters.items()
    }
    space = read_space({"parameters": parameters, "constraints": [dict(item) for item in made.constraints]})
    notes = tuple(f"rule skipped: {text}" for text in made.skipped)
    return KernelDomain(space=space, columns=_columns(space), excluded=made.excluded, notes=notes)


def _other_language(question: KernelQuestion, declared: SearchSpace) -> str:
    """The trait that names the language whose parameters a space has; empty if no language has them."""
    names = {item.name for item in declared.parameters}
    for language in Language:
        other = replace(question, language=language)
        if language is question.language or not other.form:
            continue
        with suppress(InfeasibleError, InputError):
            if names & set(generated_domain(other).columns):
                return f"those are of {language}: --trait language={language}"
    return ""


def declared_domain(question: KernelQuestion, declared: SearchSpace) -> KernelDomain:
    """The domain narrowed to a declared space: its values and rules, and the generated ones beside them.

    Raises:
        InfeasibleError: Nothing of it can run.
        InputError: It has none of the parameters of such kernels.
    """
    made = generated_domain(question)
    own = {item.name: item for item in declared.parameters if item.name in made.columns and item.values}
    if not own:
        names = ", ".join(item.name for item in declared.parameters)
        raise InputError(
            f"the space has no parameter of {question.operator} in {question.language}: {names}",
            hint=_other_language(question, declared) or f"known: {', '.join(made.columns)}",
        )
    rules, known = [], frozenset(made.columns)
    notes = [
        f"{item.name}: no model of it, left as it is" for item in declared.parameters if item.name not in own
    ]
    for item in declared.constraints:
        if set(_names(item.expression, declared)) <= known:
            rules.append(replace(item, reason=item.reason or f"the space's own rule {item.expression}"))
        else:
            notes.append(f"not asked: {item.expression}")
    absent = frozenset(_IN_THE_KERNEL) & known - own.keys()
    lacking = [
        Parameter(name=name, kind=ParameterKind.ORDINAL, values=(_IN_THE_KERNEL[name],)) for name in absent
    ]
    own |= {item.name: item for item in lacking}
    space = SearchSpace(
        parameters=tuple(own.get(item.name, item) for item in made.space.parameters),
        constraints=(*made.space.constraints, *rules),
    )
    return KernelDomain(
        space=space,
        columns=_columns(space),
        excluded=made.excluded,
        notes=(*made.notes, *notes),
        absent=absent,
    )


def _names(expression: str, space: SearchSpace) -> frozenset[str]:
    """Parameters that a rule speaks of."""
    return Expression.parse(expression, frozenset(space.names)).names


def _columns(space: SearchSpace) -> Columns:
    """Values of the numeric parameters of all configurations.

    Raises:
        InfeasibleError: There is none.
    """
    blocks: list[NDArray[np.float64]] = []
    count = 0
    for block in space.blocks():
        blocks.append(np.asarray(block))
        count += len(block)
        if count > MOST:
            break
    if not count:
        rules = "; ".join(dict.fromkeys(item.reason for item in space.constraints))
        raise InfeasibleError("no configuration of this kernel fits", hint=rules)
    u = np.concatenate(blocks)[:MOST]
    found: Columns = {}
    for j, parameter in enumerate(space.parameters):
        if all(isinstance(value, int | float) for value in parameter.values):
            found[parameter.name] = np.asarray(parameter.column(u[:, j]), dtype=np.float64)
    return found


def _typed(value: float, kinds: Sequence[Value]) -> Value:
    """A value of a column as the space has it: true and false, whole numbers."""
    if kinds and all(isinstance(item, bool) for item in kinds):
        return bool(value)
    return as_value(value)


def _nearest(rule: Expression, values: Mapping[str, NDArray[np.float64]]) -> str:
    """Both sides of a comparison where they are nearest, such as ``262144 > 131072``."""
    left, sign, right = rule.text.partition("<=")
    if not sign:
        return f"{rule.text} does not hold"
    known = frozenset(values)
    used, held = (
        np.broadcast_to(Expression.parse(side, known).numbers(values), len(next(iter(values.values()))))
        for side in (left, right)
    )
    least = int(np.argmin(used - held))
    return f"{used[least]:.0f} > {held[least]:.0f}"
