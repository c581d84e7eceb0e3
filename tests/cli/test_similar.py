"""``tunegraph similar``: the nearest known problems."""

from pathlib import Path
from typing import Any


def test_neighbours_come_nearest_first_and_say_what_they_are(run: Any) -> None:
    ran = run(
        "similar", "--model", "bert-large", "--phase", "training", "--hardware", "910b3", "-k", 4, "--json"
    )
    assert ran.code == 0
    found = ran.json["neighbours"]
    assert len(found) == 4
    same_work = [item["distance"] for item in found if item["operator"] == "train"]
    assert same_work == sorted(same_work)
    for item in found:
        assert item["rows"] >= 1
        assert item["distance_class"]
        assert item["best_configuration"]


def test_the_table_has_a_row_for_each(run: Any) -> None:
    ran = run("similar", "--op", "arg_min", "--hardware", "h100-sxm", "-k", 2)
    assert ran.code == 0
    heading, *rows = ran.out.splitlines()
    assert heading.split()[:3] == ["operator", "model", "shape"]
    assert [row.split()[0] for row in rows] == ["1", "2"]


def test_a_workspace_without_a_text_model_says_so(run: Any, toy_path: Path) -> None:
    ask = ("similar", "--op", "toy", "--hardware", "acme-one")
    said = "no text model: similarity rests on numbers and names alone"
    assert said in run(*ask, workspace=toy_path).err
    assert any(said in note for note in run(*ask, "--json", workspace=toy_path).json["notes"])


def test_a_question_without_hardware_is_bad_input(run: Any) -> None:
    ran = run("similar", "--op", "arg_min")
    assert (ran.code, ran.out) == (2, "")
    assert ran.fault == "no hardware: add --hardware, such as --hardware 910B3"


def test_a_number_out_of_bounds_is_a_usage_error(run: Any) -> None:
    ran = run("similar", "--op", "arg_min", "--hardware", "h100-sxm", "-k", 0)
    assert (ran.code, ran.out) == (2, "")
    assert "'-k'" in ran.err
