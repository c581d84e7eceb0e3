"""``recommend --format``, ``kb export --format`` and the options of ``ingest``: in and out of other programs."""

from pathlib import Path
from typing import Any

import pytest

from recommender.workspace.workspace import Workspace

QUESTION = ("--op", "toy", "--shape", "M=128", "--hardware", "Acme One", "-k", "2")


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("flags", "block=8\n"),
        ("triton", "triton.Config({'block': 8}),\n"),
        ("kernel-tuner-restriction", "restrictions = ['(block == 8) or (block == 16)']\n"),
    ],
)
def test_an_answer_in_the_form_of_another_program(run: Any, toy_path: Path, form: str, part: str) -> None:
    ran = run("recommend", *QUESTION, "--format", form, workspace=toy_path)
    assert (ran.code, part in ran.out) == (0, True)


@pytest.mark.parametrize("form", ["vllm", "toml"])
def test_a_form_that_cannot_hold_the_answer_ends_with_2(run: Any, toy_path: Path, form: str) -> None:
    ran = run("recommend", *QUESTION, "--format", form, workspace=toy_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.fault.startswith(("no tuning table for 'toy'", "no format 'toml'"))


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_cases_come_back_from_every_table(run: Any, toy_path: Path, tmp_path: Path, ending: str) -> None:
    out, other = tmp_path / f"out.{ending}", tmp_path / "other"
    ran = run("kb", "export", out, workspace=toy_path)
    assert (ran.code, ran.err) == (0, f"wrote 5 cases to {out}\n")
    assert run("kb", "export", out, workspace=toy_path).code == 2, "it is there already"
    Workspace.create(other, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    assert run("ingest", out, workspace=other).code == 0
    with Workspace.open(toy_path, cache=tmp_path) as one, Workspace.open(other, cache=tmp_path) as two:
        assert [row.id for row in one.trials.summary([1])] == [row.id for row in two.trials.summary([1])]
        assert one.trials.rows(one.trials.summary([1])[0].id) == two.trials.rows(
            one.trials.summary([1])[0].id
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("out", "--format", "toml"), "no form 'toml' for cases"),
        (("out", "--format", "vllm"), "nothing to write as vllm"),
        (("out.nq", "--op", "toy"), "--op and --hardware choose cases"),
        (("out.xyz",), "no format ends in '.xyz'"),
        (("out",), "its ending says no format"),
    ],
)
def test_an_export_that_cannot_be_ends_with_2(
    run: Any, toy_path: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = run("kb", "export", *arguments, workspace=toy_path, folder=tmp_path)
    assert ran.code == 2
    assert says in ran.fault
    assert sorted(item.name for item in tmp_path.iterdir() if item.name.startswith(("out", ".out"))) == []


@pytest.mark.long
def test_trust_and_again_are_options_of_ingest(run: Any, toy_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"  # read again first: hardware was added since
    assert run("ingest", file, workspace=toy_path).code == 0
    known = run("ingest", file, "--json", workspace=toy_path).json
    assert (known["files"][0]["known"], known["rows_known"]) == (True, 5)
    assert "were taken in before; --again reads them" in run("ingest", file, workspace=toy_path).err
    again = run("ingest", file, "--again", "--json", workspace=toy_path).json
    assert (again["files"][0]["known"], again["rows_known"], again["rows_new"]) == (False, 5, 0)
    assert run("ingest", file, "--trust", "low", workspace=toy_path).code == 0
    query = "SELECT ?trust { ?source a tg:Source ; tg:trust ?trust }"
    assert run("kb", "query", query, "--json", workspace=toy_path).json["rows"] == [["low"]]
    assert run("ingest", file, "--trust", "blind", workspace=toy_path).code == 2
