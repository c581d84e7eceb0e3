"""The content of a search file while it is made: a space, what it begins with, and what was left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from kg.nouns.situation import StatedFact, assumption_line
from kg.nouns.values import Settings
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import PHASES
from recommender.space.made.generated import GeneratedSpace
from recommender.space.space_file import read_space


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFile:
    """The content of a search file.

    Attributes:
        file: Its content.
        excluded: What was left out, why, and who says so.
        notes: What to know of it.
    """

    file: dict[str, object]
    excluded: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def begin_with(
        self, question: Question | None, assumed: Iterable[StatedFact], fixed: Mapping[str, object]
    ) -> None:
        """Begin with the decision for the question: its release, and its values as the default."""
        parameters = self.file["parameters"]
        if question is None or not isinstance(parameters, dict):
            return
        problem = self.file["problem"]
        if isinstance(problem, dict) and question.engine:
            problem["software"] = {question.engine: question.version}
        stated = {**PHASES[question.phase], **question.settings, **fixed}
        chosen = {name: _of_kind(stated[name], values) for name, values in parameters.items()}
        for name, value in chosen.items():
            if value not in parameters[name] and name == "chunk":
                parameters[name].append(value)
        if chosen.get("tensor_parallel") == 1 and "sequence_parallel" in chosen:
            chosen["sequence_parallel"] = 0
        if all(chosen[name] in values for name, values in parameters.items()):
            space = read_space({"parameters": parameters, "constraints": self.file.get("constraints") or []})
            if space.violated(Settings(chosen)) is None:
                self.file["default"] = chosen
        if line := assumption_line(fact for fact in assumed if fact.name != "traits.concurrency"):
            self.notes.append(line)

    def take(self, space: GeneratedSpace) -> None:
        """Take in a generated space."""
        self.file["parameters"] = dict(space.parameters)
        self.file["constraints"] = [dict(rule) for rule in space.constraints]
        self.excluded.extend(asdict(item) for item in space.excluded)
        self.notes.extend(f"rule skipped: {text}" for text in space.skipped)
        self.notes.extend(space.notes)


def _of_kind(value: object, values: Sequence[object]) -> object:
    """A value as the values of a parameter are written: 64.0 is 64."""
    if isinstance(value, float) and value.is_integer() and all(isinstance(one, int) for one in values):
        return int(value)
    return value
