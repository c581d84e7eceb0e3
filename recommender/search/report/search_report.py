"""Reports of searches: the course of any search, and of one of ours also what each parameter contributed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kg.errors import NoEvidenceError
from recommender.search.report.contribution import Contribution
from recommender.search.report.history import History
from recommender.search.report.result import Result
from recommender.search.report.symptoms import Checkup, check


@dataclass(frozen=True, slots=True)
class CourseReport:
    """The course of a search, ours or of another tool: its figures, and what ails it.

    Attributes:
        history: Its evaluations in order.
    """

    history: History

    @property
    def figures(self) -> dict[str, object] | None:
        """Its figures (``History.figures``); None where nothing succeeded."""
        try:
            return self.history.figures()
        except NoEvidenceError:
            return None

    @property
    def checkup(self) -> Checkup:
        """Its symptoms with cause and remedy, and what its history cannot tell."""
        return check(self.history)

    def page_content(self) -> dict[str, object]:
        """Content of the report page."""
        from recommender.search.report.point_cloud import course_points

        return {
            "figures": self.figures,
            "checkup": self.checkup_json(),
            "course": course_points(self.history),
        }

    def checkup_json(self) -> dict[str, object]:
        """The checkup as JSON."""
        from dataclasses import asdict

        checkup = asdict(self.checkup)
        return {"symptoms": list(checkup["symptoms"]), "untold": list(checkup["undetermined"])}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """One of our searches from its default to its best.

    Attributes:
        result: Where it stands.
        contributions: Changes from the default to the best, the largest gain first.
        missing: Why there are no contributions; empty where there are.
    """

    result: Result
    contributions: Sequence[Contribution]
    missing: str

    @property
    def course(self) -> CourseReport:
        """Its course."""
        return CourseReport(self.result.history)

    def page_content(self) -> dict[str, object]:
        """The same with the points of its course and of its front."""
        return {**self.result.page_content(), **self.to_json()}

    def to_json(self) -> dict[str, object]:
        """The report as JSON."""
        return {
            **self.result.to_json(),
            "contributions": self._contributions_json(),
            "checkup": self.course.checkup_json(),
        }

    def _contributions_json(self) -> list[dict[str, object]]:
        return [
            {
                "parameters": list(item.names),
                "before": list(item.before),
                "after": list(item.after),
                "factor": math.exp(item.log_gain),
                "log_gain": item.log_gain,
                "evaluated": item.evaluated,
            }
            for item in self.contributions
        ]
