"""Searches by real commands in processes of their own, and bad commands given to them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.search.toy import QUICK, search, task, trials


def test_a_search_finds_the_best_and_says_what_it_gained(run: Run, place: Path) -> None:
    ran = search(run, place, "run", task(place, stop={"evaluations": 18}), "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["best"]["configuration"] == {"x": 3, "y": 0}
    assert ran.json["gain_factor"] == pytest.approx(10)
    assert ran.json["state"] == {"ended": 18, "running": 0, "waiting": 0, "failed": 0}
    assert "evaluation 18 of 18" in ran.err
    assert "; best 1 s" in ran.err
    report = search(run, place, "report", "toy.journal", "--json")
    assert report.json["contributions"][0]["parameters"] == ["x"]
    assert report.json["contributions"][0]["factor"] == pytest.approx(10)
    assert report.json["figures"]["evaluations"] == 18


def test_a_search_starts_from_the_estimate_of_its_file(run: Run, place: Path) -> None:
    file = task(place, estimate="1 + abs(x - 3) + y", default=None, stop={"evaluations": 2})
    ran = search(run, place, "run", file, "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert "starting from the estimate in the search file" in ran.err
    assert "similar problems" not in ran.err
    assert ran.json["best"]["configuration"] == {"x": 3, "y": 0}
    wrong = search(run, place, "run", task(place, estimate="1 + z"), "--no-ingest")
    assert wrong.code == 2
    assert "estimate: '1 + z' speaks of 'z', which is no parameter" in wrong.fault


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('no number')", "printed no kernel_time"),
        ("import time; time.sleep(60)", "timeout: still running after 0.3 s"),
        ("import sys; sys.exit('CUDA error: out of memory')", "out of memory"),
    ],
)
def test_a_command_that_never_works_is_told_with_its_reason(
    run: Run, place: Path, code: str, reason: str
) -> None:
    hangs = "sleep" in code
    file = task(place, code + " # ", stop={"evaluations": 2}, timeout_s=0.3 if hangs else 20)
    ran = search(run, place, "run", file, "--no-ingest")
    assert ran.code == 4, ran.err
    assert reason in ran.fault
    assert [item["state"] for item in trials(place)] == [3, 3]


def test_failures_among_successes_are_data(run: Run, place: Path) -> None:
    code = "import sys; sys.exit('RESOURCE: out of memory') if sys.argv[1] == '5' else None\n" + QUICK
    ran = search(run, place, "run", task(place, code, stop={"evaluations": 18}), "--no-ingest", "--json")
    assert ran.json["state"]["ended"] == 18
    assert ran.json["failures"] == [{"reason": "out of memory: RESOURCE: out of memory", "times": 3}]
    assert ran.json["figures"]["out_of_memory"] == 3


def test_a_program_that_does_not_exist_is_bad_input_before_anything_is_logged(run: Run, place: Path) -> None:
    file = task(place, command=["no-such-program", "{x}", "{y}"])
    ran = search(run, place, "run", file)
    assert ran.code == 2
    assert "no-such-program" in ran.fault
    assert not (place / "toy.journal").exists()


def test_a_space_without_a_feasible_point_is_infeasible(run: Run, place: Path) -> None:
    ran = search(run, place, "run", task(place, constraints=["x > 9"], default=None))
    assert ran.code == 4
    assert "x > 9" in ran.err


@pytest.mark.long
def test_ask_and_tell_by_hand(run: Run, place: Path) -> None:
    file = task(place, command=None, timeout_s=None)
    asked = search(run, place, "ask", file, "-n", "2", "--json").json["asked"]
    assert len(asked) == 2
    first, second = (str(item["trial"]) for item in asked)
    assert search(run, place, "tell", "toy.journal", first, "--value", "kernel_time=1500us").code == 0
    assert search(run, place, "tell", "toy.journal", second, "--failed", "out of memory").code == 0
    own = search(
        run, place, "tell", "toy.journal", "--set", "x=3,y=0", "--value", "kernel_time=1ms", "--json"
    )
    assert own.json["trial"] == 2
    state = search(run, place, "status", "toy.journal", "--json").json
    assert state["best"]["values"] == {"kernel_time": 0.001}
    assert state["best"]["configuration"] == {"x": 3, "y": 0}
    assert state["state"] == {"ended": 3, "running": 0, "waiting": 0, "failed": 1}
    twice = search(run, place, "tell", "toy.journal", first, "--value", "kernel_time=1")
    assert (twice.code, "told already" in twice.fault) == (2, True)
    outside = search(run, place, "tell", "toy.journal", "--set", "x=7,y=0", "--value", "kernel_time=1")
    assert (outside.code, "no value 7" in outside.fault) == (2, True)
    unit = search(run, place, "tell", "toy.journal", "--set", "x=0,y=0", "--value", "kernel_time=1GB")
    assert (unit.code, "in s, not in GB" in unit.fault) == (2, True)


@pytest.mark.long
def test_a_finished_search_is_a_source_of_the_next(run: Run, empty_path: Path, place: Path) -> None:
    problem = {
        "op": "toy_search",
        "phase": "kernel",
        "shape": {"M": 64},
        "hardware": "NVIDIA A100-SXM4-80GB",
        "count": 1,
    }
    with_chip = place / "chip.yaml"
    with_chip.write_text(
        "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - {id: acme-one, level: device, broader: acme, label: {en: Acme One}}\n"
    )
    assert run("kb", "add", "hardware", with_chip, workspace=empty_path).code == 0
    problem["hardware"] = "acme-one"
    first = run(
        "search",
        "run",
        task(place, problem=problem, stop={"evaluations": 12}),
        workspace=empty_path,
        folder=place,
    )
    assert first.code == 0, first.err
    assert "12 new rows in the workspace" in first.err
    second = task(place, problem={**problem, "shape": {"M": 128}}, name="next", stop={"evaluations": 2})
    ran = run("search", "run", second, "--no-ingest", "--json", workspace=empty_path, folder=place)
    assert ran.code == 0, ran.err
    assert [(item["name"], item["rows"]) for item in ran.json["sources"]] == [
        ("toy_search on 1 x acme-one", 12)
    ]
    cold = run(
        "search",
        "run",
        second,
        "--cold",
        "--log",
        "c.journal",
        "--no-ingest",
        "--json",
        workspace=empty_path,
        folder=place,
    )
    assert cold.json["sources"] == []


@pytest.mark.parametrize("name", ["../../outside", "{above}/outside", ".."])
def test_the_name_of_a_search_leads_out_of_no_folder(run: Run, place: Path, name: str) -> None:
    file = task(place, command=None, timeout_s=None, name=name.format(above=place.parent))
    for _ in range(2):
        assert search(run, place, "ask", file).code == 0
    assert [path.parent for path in place.parent.rglob("*.journal")] == [place]


@pytest.mark.long
def test_wrong_files_are_told_in_one_line(run: Run, place: Path) -> None:
    assert "no key 'paramters'" in search(run, place, "run", task(place, paramters={})).fault
    assert "names {z}" in search(run, place, "run", task(place, command=["cat", "{x}", "{y}", "{z}"])).fault
    assert "in which unit" in search(run, place, "run", task(place, metrics={"kernel_time": "t"})).fault
    assert "no search file missing.yaml" in search(run, place, "run", "missing.yaml").fault
    assert "no search at gone.journal" in search(run, place, "status", "gone.journal").fault
    (place / "bad.yaml").write_text("a: [")
    assert search(run, place, "run", "bad.yaml").code == 2


@pytest.mark.long
def test_the_founding_scenario_on_the_cost_model(run: Run, place: Path) -> None:
    ran = search(run, place, "run", "bert-large-8x910", "-n", "25", "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert "assumed: idle_power_w = 90" in ran.err
    best = ran.json["best"]
    assert best["values"]["peak_memory"] <= 32e9
    assert best["values"]["accuracy_loss"] == 0
    assert ran.json["gain_factor"] > 1.2
    front = [
        (item["values"]["throughput"], item["values"]["peak_memory"], item["values"]["energy"])
        for item in ran.json["front"]
    ]
    for one in front:
        assert not any(a[0] >= one[0] and a[1] <= one[1] and a[2] <= one[2] and a != one for a in front)
    report = search(run, place, "report", "bert-large-8x910.journal", "--json").json
    assert all(item["evaluated"] for item in report["contributions"])
    product = 1.0
    for item in report["contributions"]:
        product *= item["factor"]
    assert product == pytest.approx(ran.json["gain_factor"])
    shown = search(run, place, "status", "bert-large-8x910.journal")
    assert "Modelled by the cost model, not measured." in shown.out


def test_without_optuna_it_says_what_to_install(run: Run, place: Path) -> None:
    (place / "shadow").mkdir()
    (place / "shadow" / "optuna.py").write_text("raise ImportError('hidden')\n")
    ran = run("search", "run", task(place), folder=place, environment={"PYTHONPATH": str(place / "shadow")})
    assert ran.code == 1
    assert "in a clone: pip install '.[optuna]'" in ran.err


@pytest.mark.long
@pytest.mark.usefixtures("compiler")
def test_the_shipped_kernel_is_searched_from_its_measured_sweeps(run: Run, place: Path) -> None:
    ran = search(run, place, "run", "matmul", "-n", "2", "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["state"]["ended"] >= 2
    assert ran.json["best"]["values"]["accuracy_loss"] < 1e-5
    assert {item["rows"] for item in ran.json["sources"]} == {512}
    assert ran.json["environment"]["software"]["gcc"]
