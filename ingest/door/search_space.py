"""A search space that a file declares."""

from dataclasses import dataclass

from kg.nouns.values import Settings, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpaceFile:
    """Parameters, their values and the constraints on combinations.

    Attributes:
        name: Name of the benchmark or kernel.
        parameters: Values by parameter name, in file order.
        constraints: Expressions in the source's words; all must hold.
        problem_size: Size of the problem as the file has it; None if it has none.
        precision: The one number format of all data arguments; None if they differ or are not said.
    """

    name: str
    parameters: dict[str, tuple[Value, ...]]
    constraints: tuple[str, ...] = ()
    problem_size: Value = None
    precision: str | None = None

    def fixed_parameters(self) -> Settings:
        """Parameters with a single value: part of the problem rather than of a configuration."""
        return Settings({name: values[0] for name, values in self.parameters.items() if len(values) == 1})
