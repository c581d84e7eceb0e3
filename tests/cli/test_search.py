"""Searches by real commands in processes of their own: killed, interrupted, resumed, and given bad commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.cli.conftest import Ran, Run

QUICK = "import sys, json; x, y = map(float, sys.argv[1:3]); print(json.dumps({'t': 1 + (x - 3) ** 2 + y}))"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def task(place: Path, code: str = QUICK, **more: Any) -> Path:
    """A search file over eighteen points whose command is some Python."""
    content = {
        "name": "toy",
        "parameters": {"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2]},
        "default": {"x": 0, "y": 0},
        "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
        "command": [sys.executable, "-c", code, "{x}", "{y}"],
        "stop": {"evaluations": 8},
        "timeout_s": 20,
        **more,
    }
    path = place / "toy.yaml"
    path.write_text(yaml.safe_dump({key: item for key, item in content.items() if item is not None}))
    return path


def trials(place: Path, name: str = "toy.journal") -> list[dict[str, Any]]:
    """State of each trial in a journal, as its lines tell."""
    found: list[dict[str, Any]] = []
    for line in (place / name).read_text().splitlines():
        operation = json.loads(line)
        if operation["op_code"] == 4:
            found.append({"state": operation.get("state", 0), "attributes": operation.get("user_attrs", {})})
        elif operation["op_code"] == 6:
            found[operation["trial_id"]]["state"] = operation["state"]
        elif operation["op_code"] == 8:
            found[operation["trial_id"]]["attributes"].update(operation["user_attr"])
    return found


def search(run: Run, place: Path, *arguments: object) -> Ran:
    """Run a verb of search in the folder, without taking its cases in."""
    return run("search", *arguments, folder=place)


def started(
    script: str, clean: dict[str, str], place: Path, shipped: Path, *arguments: str
) -> subprocess.Popen[bytes]:
    """The script in the background."""
    return subprocess.Popen(
        [script, "--workspace", str(shipped), "search", *arguments],
        cwd=place,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def ended(place: Path) -> int:
    """Trials that ended so far."""
    return (
        sum(item["state"] in {1, 2, 3} for item in trials(place)) if (place / "toy.journal").is_file() else 0
    )


def test_a_search_finds_the_best_and_says_what_it_gained(run: Run, place: Path) -> None:
    ran = search(
        run, place, "run", task(place, stop={"evaluations": 18}), "--no-ingest", "--json", "--plot", "a.svg"
    )
    assert ran.code == 0, ran.err
    assert ran.json["best"]["configuration"] == {"x": 3, "y": 0}
    assert ran.json["gain_factor"] == pytest.approx(10)
    assert ran.json["state"] == {"ended": 18, "running": 0, "waiting": 0, "failed": 0}
    assert "evaluation 18 of 18" in ran.err
    assert "; best 1 s" in ran.err
    assert (place / "a.svg").read_text().startswith("<svg")
    report = search(run, place, "report", "toy.journal", "--json")
    assert report.json["contributions"][0]["parameters"] == ["x"]
    assert report.json["contributions"][0]["factor"] == pytest.approx(10)
    assert report.json["figures"]["evaluations"] == 18


@pytest.mark.long
def test_killed_at_any_moment_it_goes_on(
    run: Run, script: str, clean: dict[str, str], shipped_path: Path, place: Path
) -> None:
    """Killed with -9 during an evaluation, three times: nothing told is lost, the running trial is queued again."""
    slow = "import time; time.sleep(0.3);" + QUICK
    arguments = ["run", str(task(place, slow)), "--no-ingest"]
    told = 0
    for _ in range(3):
        process = started(script, clean, place, shipped_path, *arguments)
        end = time.monotonic() + 60
        while ended(place) <= told:
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.15)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        told = ended(place)
        arguments = ["resume", "toy.journal", "--no-ingest"]
    ran = search(run, place, "resume", "toy.journal", "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["state"] == {"ended": 8, "running": 0, "waiting": 0, "failed": 0}
    configurations = [item["configuration"] for item in ran.json["top"]]
    assert len({json.dumps(item, sort_keys=True) for item in configurations}) == 8, "no configuration twice"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
def test_a_command_that_outlived_a_killed_search_is_ended_by_the_next(
    run: Run, script: str, clean: dict[str, str], shipped_path: Path, place: Path
) -> None:
    code = "import os, time; open('pid', 'a').write(f'{os.getpid()} '); time.sleep(0 if os.path.exists('go') else 900);"
    process = started(
        script, clean, place, shipped_path, "run", str(task(place, code + QUICK)), "--no-ingest"
    )
    until(lambda: (place / "pid").is_file() and (place / "pid").read_text())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    orphan = int((place / "pid").read_text().split()[0])
    assert Path(f"/proc/{orphan}").exists()
    (place / "go").touch()
    ran = search(run, place, "resume", "toy.journal", "--no-ingest", "-n", "2", "--json")
    assert ran.json["state"] == {"ended": 2, "running": 0, "waiting": 0, "failed": 0}
    until(lambda: not Path(f"/proc/{orphan}").exists(), 60)


def test_ctrl_c_leaves_a_search_that_goes_on(
    run: Run, script: str, clean: dict[str, str], shipped_path: Path, place: Path
) -> None:
    slow = "import time, os; open('pid', 'w').write(str(os.getpid())); time.sleep(0.4);" + QUICK
    process = started(script, clean, place, shipped_path, "run", str(task(place, slow)), "--no-ingest")
    until(lambda: ended(place) >= 1)
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Go on: tunegraph search resume toy.journal" in err
    assert b"Traceback" not in err
    assert sum(item["state"] == 0 for item in trials(place)) == 0, "nothing is left as running"
    ran = search(run, place, "resume", "toy.journal", "--no-ingest", "--json")
    assert ran.json["state"]["ended"] == 8


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('no number')", "printed no kernel_time"),
        ("print('{\"t\": NaN}')", "kernel_time is nan"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("import time; time.sleep(60)", "timeout: still running after 0.3 s"),
        ("import os, time\nif os.fork() == 0: time.sleep(60)\ntime.sleep(60)", "timeout"),
        ("f = open('big', 'wb')\nwhile True: f.write(b'x' * 65536)", "larger than allowed"),
        ("import sys; sys.exit('CUDA error: out of memory')", "out of memory"),
    ],
)
def test_a_command_that_never_works_is_told_with_its_reason(
    run: Run, place: Path, code: str, reason: str
) -> None:
    hangs = "sleep" in code
    file = task(
        place, code + " # ", stop={"evaluations": 2}, timeout_s=0.3 if hangs else 20, file_bytes=1 << 16
    )
    ran = search(run, place, "run", file, "--no-ingest")
    assert ran.code == 4, ran.err
    assert re.search(reason, ran.fault) or "File too large" in ran.fault, ran.fault
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
def test_another_space_is_refused_when_resuming(run: Run, place: Path) -> None:
    file = task(place, stop={"evaluations": 2})
    assert search(run, place, "run", file, "--no-ingest").code == 0
    assert search(run, place, "resume", "toy.journal", "--file", file, "-n", "3", "--no-ingest").code == 0
    changed = task(place, parameters={"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2, 9]})
    ran = search(run, place, "resume", "toy.journal", "--file", changed, "--no-ingest")
    assert ran.code == 2
    assert "the parameter y changed" in ran.fault
    again = search(run, place, "run", file)
    assert (again.code, "holds a search named 'toy' already" in again.fault) == (2, True)


@pytest.mark.long
def test_a_database_by_url_is_as_good_as_a_journal(run: Run, place: Path) -> None:
    url = "sqlite:///toy.db"
    assert (
        search(run, place, "run", task(place, stop={"evaluations": 3}), "--log", url, "--no-ingest").code == 0
    )
    ran = search(run, place, "resume", url, "-n", "5", "--no-ingest", "--json")
    assert ran.json["state"]["ended"] == 5
    missing = search(run, place, "resume", "sqlite:///gone.db")
    assert (missing.code, (place / "gone.db").exists()) == (2, False)


@pytest.mark.long
def test_what_a_database_elsewhere_holds_enters_the_workspace(run: Run, place: Path) -> None:
    """An address that is no plain file's, as a database on another machine has."""
    url = f"sqlite:///{place}/toy.db?timeout=5"
    problem = {"op": "toy", "phase": "kernel", "shape": {"M": 7}, "hardware": "ascend-910b3"}
    file = task(place, problem=problem, stop={"evaluations": 4})
    ran = run("--workspace", "own", "search", "run", file, "--log", url, folder=place)
    assert ran.code == 0, ran.err
    assert "4 new rows in the workspace" in ran.err
    assert not (place / "toy.journal").exists()


@pytest.mark.long
def test_steps_that_a_report_measures_are_kept(run: Run, place: Path) -> None:
    file = task(place, default={"x": 0, "y": 2})
    search(run, place, "ask", file, "-n", "1")
    for x, y in ((0, 2), (3, 0)):
        value = f"kernel_time={1 + (x - 3) ** 2 + y}s"
        assert search(run, place, "tell", "toy.journal", "--set", f"x={x},y={y}", "--value", value).code == 0
    search(run, place, "report", "toy.journal")
    before = len(trials(place))
    measured = search(run, place, "report", "toy.journal", "--measure", "--json").json
    assert all(item["evaluated"] for item in measured["contributions"])
    assert [item["parameters"] for item in measured["contributions"]] == [["x"], ["y"]]
    assert len(trials(place)) == before + 2  # x alone and y alone
    assert measured["figures"]["evaluations"] == 4
    search(run, place, "report", "toy.journal", "--measure")
    assert len(trials(place)) == before + 2


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
def test_two_workers_share_one_log(
    run: Run, script: str, clean: dict[str, str], shipped_path: Path, place: Path
) -> None:
    slow = "import time; time.sleep(0.2);" + QUICK
    file = str(task(place, slow, stop={"evaluations": 12}))
    first = started(script, clean, place, shipped_path, "run", file, "--no-ingest")
    until(lambda: ended(place) >= 1)
    second = started(script, clean, place, shipped_path, "resume", "toy.journal", "--no-ingest")
    for process in (first, second):
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
    state = search(run, place, "status", "toy.journal", "--json").json
    assert 12 <= state["state"]["ended"] <= 13
    assert state["state"]["failed"] == 0, "neither ends the commands of the other"
    assert len({json.dumps(item["configuration"]) for item in state["top"]}) == len(state["top"])
    owners = {item["attributes"]["search"]["owner"] for item in trials(place)}
    assert len(owners) == 2


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


def test_a_search_of_another_tool_is_reported(run: Run, place: Path, line: Any) -> None:
    (place / "other.jsonl").write_text(
        "".join(line(value, block=block) for block, value in enumerate((9, 5, 4, 4.1)))
    )
    ran = search(run, place, "report", "other.jsonl", "--json")
    [figures] = ran.json["searches"].values()
    assert (figures["evaluations"], figures["evaluations_to_95_percent"]) == (4, 3)
    assert figures["best"] == pytest.approx(0.004)


def filled_by_tpe(place: Path, log: str, study: str) -> None:
    """Four trials of Optuna's own sampler in a journal."""
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(str(place / log))
    theirs = optuna.create_study(
        study_name=study,
        storage=optuna.storages.JournalStorage(backend),
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=1),
    )
    theirs.optimize(
        lambda trial: (
            trial.suggest_categorical("x", [0, 1, 2, 3, 4, 5]) + trial.suggest_categorical("y", [0, 1, 2])
        ),
        n_trials=4,
    )


@pytest.mark.long
def test_a_storage_that_another_sampler_filled_is_gone_on_with_beside_it_or_refused(
    run: Run, place: Path
) -> None:
    begun = search(run, place, "run", task(place, stop={"evaluations": 4}), "--no-ingest", "--json")
    assert begun.code == 0, begun.err
    filled_by_tpe(place, "toy.journal", "toy")  # into our study: trials that we did not propose
    filled_by_tpe(place, "toy.journal", "theirs")  # a study beside ours
    assert "which search?" in search(run, place, "status", "toy.journal").fault
    status = search(run, place, "status", "toy.journal", "--name", "toy", "--json")
    assert status.json["state"]["ended"] == 4
    resumed = search(
        run, place, "resume", "toy.journal", "--name", "toy", "--evaluations", "9", "--no-ingest", "--json"
    )
    assert resumed.code == 0, resumed.err
    assert resumed.json["state"]["ended"] == 9
    refused = search(run, place, "resume", "toy.journal", "--name", "theirs")
    assert refused.code == 2
    assert "'theirs' was not made by a search of this version" in refused.fault


@pytest.mark.long
def test_a_search_of_a_later_release_is_refused_and_left_as_it_is(run: Run, place: Path) -> None:
    assert search(run, place, "run", task(place, stop={"evaluations": 2}), "--no-ingest").code == 0
    path = place / "toy.journal"
    path.write_text(re.sub(r'("schema": ?)1\b', r"\g<1>7", path.read_text()))
    before = path.read_bytes()
    for verb in ("resume", "status"):
        refused = search(run, place, verb, "toy.journal")
        assert refused.code == 2
        assert "of a later release (schema 7, here 1)" in refused.fault
    assert path.read_bytes() == before


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
    report = search(run, place, "report", "bert-large-8x910.journal", "--json", "--plot", "b.svg").json
    assert all(item["evaluated"] for item in report["contributions"])
    product = 1.0
    for item in report["contributions"]:
        product *= item["factor"]
    assert product == pytest.approx(ran.json["gain_factor"])
    assert (place / "b-front.svg").is_file()
    shown = search(run, place, "status", "bert-large-8x910.journal")
    assert "Modelled by the cost model, not measured." in shown.out


def test_without_optuna_it_says_what_to_install(run: Run, place: Path) -> None:
    (place / "shadow").mkdir()
    (place / "shadow" / "optuna.py").write_text("raise ImportError('hidden')\n")
    ran = run("search", "run", task(place), folder=place, environment={"PYTHONPATH": str(place / "shadow")})
    assert ran.code == 1
    assert "pip install 'tunegraph[optuna]'" in ran.err


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_shipped_kernel_is_searched_from_its_measured_sweeps(run: Run, place: Path) -> None:
    ran = search(run, place, "run", "matmul", "-n", "2", "--no-ingest", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["state"]["ended"] >= 2
    assert ran.json["best"]["values"]["accuracy_loss"] < 1e-5
    assert {item["rows"] for item in ran.json["sources"]} == {512}
    assert ran.json["environment"]["software"]["gcc"]
