"""Measures the rules of feasibility: how often they refuse runs that worked, how often they catch failures.

    python -m benchmarks.answers.feasibility --known FOLDER [--quick]

Every case of the folder is put to the rules on its own device, without what was tried there: what ran, or was
somebody's tuned choice, should pass; what failed or was forbidden should not. A baseline that refuses nothing
has 0 of both. The last line is one JSON object.
"""

from collections import Counter
from itertools import islice

from benchmarks import harness
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.reading import read
from kg.nouns.entities import Case, Kind
from recommender.ranking.feasibility.feasibility import QuestionFeasibility

QUICK = 3000
"""Cases of a file with ``--quick``."""


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--known"), quick=f"the first {QUICK} cases of a file")
    shipped = ShippedKnowledge.load()
    cases, refused, rules = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    known: dict[str, QuestionFeasibility] = {}
    for path in sorted(chosen.known.rglob("*.jsonl*")):
        found = (item for item in read([path], shipped.names) if isinstance(item, Case))
        for case in islice(found, QUICK if chosen.quick else None):
            status = case.measurement.status
            if status.cannot_run:
                fate = "failed"
            elif case.kind is Kind.WINNER:
                fate = "winner"
            elif case.measurement.value is not None:
                fate = "ran"
            else:
                continue
            checked = known.get(case.problem.id)
            if checked is None:
                facts = shipped.hardware.facts(case.problem.hardware.name)
                model = shipped.model_facts(case.problem.workload.model or "")
                checked = known[case.problem.id] = QuestionFeasibility(case.problem, model, facts)
            broken = checked.check(case.configuration)
            cases[fate] += 1
            refused[fate] += bool(broken)
            rules.update((fate, item.rule) for item in broken)
    for (fate, rule), n in rules.most_common():
        print(f"  {n:6d} that {fate}: {rule}")
    result: dict[str, object] = {f"n_{fate}": cases[fate] for fate in ("ran", "winner", "failed")}
    for fate, key in (
        ("ran", "false_refusals"),
        ("winner", "refused_winners"),
        ("failed", "caught_failures"),
    ):
        result[key] = round(refused[fate] / cases[fate], 5) if cases[fate] else None
    chosen.last_line(result, n=cases.total())


if __name__ == "__main__":
    main()
