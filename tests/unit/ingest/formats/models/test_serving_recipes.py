"""Serving recipes of SGLang."""

from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind
from tests.samples.readings import corpus, ingest


def test_recipes_are_targets_with_roles(names: NameResolver, shared: Path) -> None:
    path = shared / "formats/ascend_serving_recipes/sglang_ascend_best_practice.EXCERPT.mdx"
    cases, report = ingest(names, path)
    assert (report.good, report.bad) == (8, 0)
    assert {case.kind for case in cases} == {Kind.TARGET}
    reference = corpus(names, shared, "sglang_ascend_serving_recipes")
    problems = {problem for problem, _ in reference}
    assert sum(case.problem.id in problems for case in cases) == 6  # two refer to another's commands
    mine = cases[0]
    theirs = next(case for (problem, _), case in reference.items() if problem == mine.problem.id)
    more = set(mine.configuration.items()) - set(theirs.configuration.items())
    assert {name for name, _ in more} == {
        "prefill.env.HCCL_BUFFSIZE",
        "prefill.env.TASK_QUEUE_ENABLE",
        "prefill.env.SGLANG_NPU_FUSED_MOE_MODE",
        "prefill.env.SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
    }
    assert set(theirs.configuration.items()) <= set(mine.configuration.items())
    assert (mine.configuration["prefill.tp-size"], mine.configuration["decode.tp-size"]) == (16, 32)
    assert [(limit.metric, limit.maximum) for limit in mine.problem.limits] == [("tpot", 0.05)]
    assert cases[4].configuration == cases[3].configuration


def test_a_recipe_without_a_server_or_with_an_open_quotation_is_told(
    names: NameResolver, tmp_path: Path
) -> None:
    (tmp_path / "r.md").write_text(
        "### M 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\n\n```bash\necho hello\n```\n"
        "### N 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\n\n```bash\n"
        "python -m sglang.launch_server --tp-size '16\n```\n"
        "### O 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\nPlease turn to [P](#p)\n"
    )
    _, report = ingest(names, tmp_path / "r.md")
    assert [str(fault) for fault in report.faults] == [
        'line 8: a command with an open quotation: "python -m sglang.launch_server --tp-size \'16"',
        "line 1: launches no server",
        "line 6: launches no server",
        "line 11: refers to 'P', which is not here",
    ]
