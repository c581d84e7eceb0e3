"""``tunegraph explain``: the same answer again, with everything behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOY = ("--op", "toy", "--hardware", "acme-one")
QUESTION = (
    "recommend",
    "--model",
    "bert-large",
    "--phase",
    "training",
    "--hardware",
    "910b3",
    "--count",
    "8",
)


@pytest.fixture(scope="module")
def asked(run: Any) -> Any:
    ran = run(*QUESTION, "--bottleneck", "allreduce-wait=0.28", "--limit", "accuracy_loss<=0.5%", "--json")
    assert ran.code == 0
    return ran.json


def test_one_screen_says_why_why_not_the_next_on_what_and_what_would_change_it(run: Any, asked: Any) -> None:
    ran = run("explain", asked["changes"][0]["id"])
    assert ran.code == 0
    titles = [line for line in ran.out.splitlines() if line and not line.startswith(" ")]
    assert titles[1:] == ["Why this", "Why not the next", "What it rests on", "What would change the answer"]
    assert len(ran.out.splitlines()) <= 28
    assert max(map(len, ran.out.splitlines())) <= 110
    assert asked["changes"][1]["id"] in ran.out
    assert "collective-wait, which was observed, 28% of the time: at most 1.39x" in ran.out
    assert "--all" in ran.err


def test_every_section_is_there_for_people(run: Any, asked: Any) -> None:
    ran = run("explain", asked["changes"][0]["id"], "--all")
    assert (ran.code, ran.err) == (0, "")
    titles = [line for line in ran.out.splitlines() if line and not line.startswith(" ")]
    assert titles[1:] == [
        "What was asked",
        "Where it looked",
        "What was left out",
        *(["What it sets"] if asked["changes"][0]["settings"] else []),
        "The numbers",
        "What it rests on",
        "Why not the next",
        *(["What would change the answer"] if "What would change the answer" in titles else []),
    ]
    assert "observed bottleneck collective-wait, 28% of the time" in ran.out
    assert "nothing can check yet: accuracy_loss <= 0.5 %" in ran.out


def test_the_json_holds_the_answer_that_was_given(run: Any, asked: Any) -> None:
    item = asked["changes"][1]
    explained = run("explain", item["id"], "--json").json
    assert explained["explained"] == item["id"]
    said = {
        name: explained["answer"]["changes"][1][name] for name in ("id", "title", "strategy", "gain", "tier")
    }
    assert said.items() <= item.items()
    assert [one["id"] for one in explained["answer"]["changes"]] == [one["id"] for one in asked["changes"]]
    assert item["evidence"] == explained["answer"]["changes"][1]["evidence"][:1]
    assert len(explained["answer"]["not_here"]) == asked["not_here_count"]


def test_the_beginning_of_an_id_is_enough(run: Any, asked: Any) -> None:
    identifier = asked["changes"][0]["id"]
    assert run("explain", identifier[:8], "--json").json["explained"] == identifier


@pytest.mark.parametrize("identifier", ["zzz", "", "%", "' OR 1"])
def test_an_unknown_id_is_refused(run: Any, asked: Any, identifier: str) -> None:
    ran = run("explain", identifier)
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"no recommendation {identifier!r} is remembered" in ran.fault.replace('"', "'")
        or "' OR 1" in ran.fault
    )
    assert "ask again" in ran.err


def test_what_older_knowledge_recommended_is_explained_by_that_of_today(
    run: Any, toy_path: Path, tmp_path: Path, line: Any
) -> None:
    asked = run("recommend", *TOY, "--json", workspace=toy_path).json
    more = tmp_path / "more.jsonl"
    more.write_text(line(0.5, block=1))
    run("ingest", more, workspace=toy_path)
    ran = run("explain", asked["recommendations"][0]["id"], workspace=toy_path)
    assert ran.code == 0
    assert f"(was {asked['recommendations'][0]['id']}: the knowledge has changed since)" in ran.out


def test_what_could_not_be_remembered_is_said(
    run: Any, toy_path: Path, seal: Callable[[Path], Path], bound_by_permissions: list[str]
) -> None:
    ran = run("recommend", *TOY, "--json", workspace=seal(toy_path), before=bound_by_permissions)
    assert ran.code == 0
    assert ran.json["recommendations"]
    assert "explain will not know these ids" in ran.err
