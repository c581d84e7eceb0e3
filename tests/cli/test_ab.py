"""``tunegraph ab`` with real processes: verdicts, exit codes, kill -9, Ctrl-C, and a graph that learns."""

import csv
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, math, random, sys, time
size, fails = float(sys.argv[1]), sys.argv[2:]
with open(__file__ + ".runs", "a") as runs:  # the luck of a run follows from how many went before
    runs.write(".")
    random.seed(runs.tell())
if fails and random.random() < float(fails[0]):
    sys.exit("RuntimeError: NPU out of memory")
time.sleep(0.01)
print(json.dumps({"time_s": size * math.exp(0.01 * random.gauss(0, 1)), "memory": 1e9 * size}))
"""
PLAIN = ("--alpha", "0.05", "--metric", "step_time=time_s:s")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace directory that is not there yet: a test needs none of its content."""
    return tmp_path / "workspace"


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    """A program whose time follows its argument."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return ("--", sys.executable, str(path), "{size}")


def test_a_better_treatment(run: Any, place: Path, program: tuple[str, ...]) -> None:
    arms = ("--control", "size=1", "--treatment", "size=0.9", "--name", "first")
    guard = ("--metric", "peak_memory=memory:B", "--guard", "peak_memory<=+5%")
    worth = ("--device-hours", 100, "--price", 2, "--power", 300, "--intensity", 400)
    ran = run("ab", "run", *arms, *PLAIN, *guard, *worth, "--json", *program, workspace=place)
    assert ran.code == 0, ran.err
    [item] = ran.json["treatments"]
    assert (ran.json["verdict"], item["guards"][0]["state"]) == ("better", "kept")
    assert item["ratio_low"] < 1 / 0.9 < item["ratio_high"]
    assert [saving["name"] for saving in item["impact"]] == ["device hours", "cost", "energy", "carbon"]
    assert "pair 6; " in ran.err
    assert ", p " in ran.err
    shown = run("ab", "show", "first", workspace=place)
    assert shown.code == 0
    assert "treatment: BETTER" in shown.out
    rows = list(csv.DictReader(io.StringIO(run("ab", "show", "first", "--samples", workspace=place).out)))
    assert len(rows) == ran.json["samples"]
    assert {row["arm"] for row in rows} == {"control", "treatment"}
    assert "first" in run("ab", "show", workspace=place).out
    assert run("ab", "show", "--json", workspace=place).json["experiments"][0]["verdict"] == "better"


def test_no_verdict_is_exit_code_5(run: Any, place: Path, program: tuple[str, ...]) -> None:
    ran = run(
        "ab", "run", "--control", "x=1", "--treatment", "x=2", "--alpha", "0.05", "--pairs", 6, "--margin",
        "0.001%", "--command", "sleep 0.00{x}", workspace=place,
    )  # fmt: skip
    assert ran.code in {0, 5}  # the time of a sleep may differ visibly
    ran = run(
        "ab", "run", "--self-test", "--control", "size=1", *PLAIN, "--pairs", 8, "--margin", "0.001%",
        "--seed", 1, "--name", "same", *program, workspace=place,
    )  # fmt: skip
    assert ran.code == 5
    assert "8 pairs is used up" in ran.out


def test_commands_themselves_may_be_the_arms(run: Any, place: Path) -> None:
    ran = run(
        "ab", "run", "--control", "sleep 0.002", "--treatment", "sleep 0.05", "--alpha", "0.05", "--json",
        workspace=place,
    )  # fmt: skip
    assert (ran.code, ran.json["verdict"], ran.json["design"]["metric"]) == (0, "worse", "run_time")


def test_commands_that_fail(run: Any, place: Path, program: tuple[str, ...]) -> None:
    arms = ("--control", "size=1,p=0", "--treatment", "size=0.9,p=1")
    ran = run("ab", "run", *arms, *PLAIN, "--json", *program, "{p}", workspace=place)
    [item] = ran.json["treatments"]
    assert (ran.code, item["verdict"]) == (0, "worse")
    assert "out of memory" in item["failures"]["reason"]
    sometimes = ("--control", "size=1,p=0.3", "--treatment", "size=0.8,p=0.3")
    ran = run("ab", "run", *sometimes, *PLAIN, "--seed", 1, "--json", *program, "{p}", workspace=place)
    assert (ran.code, ran.json["verdict"]) == (0, "better")
    ran = run("ab", "run", "--control", "false 1", "--treatment", "false 2", workspace=place)
    assert ran.code == 5
    assert "all runs of 8 rounds failed" in ran.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--control", "a=1", "--treatment", "a=2", "--command", "true {b}"), "{b}, which is no parameter"),
        (("--control", "a=1", "--treatment", "a=2", "--guard", "energy"), "--guard"),
        (("--control", "a=1", "--treatment", "a=2", "--margin", "small"), "--margin 'small'"),
        (("--control", "true 1", "--treatment", "true 2", "--guard", "energy<=5%"), "nothing to read"),
        (("--treatment", "a=1"), "nothing to run"),
        (("--resume", "nothing"), "no experiment named 'nothing'"),
        (("--control", "a=1", "--treatment", "a=2", "--price", 3), "how much there is"),
        (("--recommendation", "0123456789ab", "--control", "a=1"), "is remembered"),
        (("--control", "a", "--treatment", "b", "--strategy", "overlap"), "on what it was tried"),
        (("--control", "nosuchprogram 1", "--treatment", "nosuchprogram 2", "--name", "../x"), "no name"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Any, place: Path, options: tuple[Any, ...], says: str) -> None:
    ran = run("ab", "run", *options, workspace=place)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.fault
    assert not place.exists()  # nothing is left behind


def start(script: str, clean: dict[str, str], place: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [script, "--workspace", str(place), "ab", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean,
    )


def samples(path: Path) -> int:
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def until(path: Path, count: int) -> None:
    for _ in range(2400):
        if samples(path) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"only {samples(path)} samples")


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_goes_on_after_any_end(
    run: Any, script: str, clean: dict[str, str], place: Path, program: tuple[str, ...], how: signal.Signals
) -> None:
    log = place / "experiments" / "cut.jsonl"
    arms = ("--control", "size=1", "--treatment", "size=1.0001", "--name", "cut", "--pairs", "30")
    process = start(script, clean, place, *arms, *PLAIN, "--margin", "0.01%", *program)
    until(log, 9)
    process.send_signal(how)
    _, told = process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGKILL if how is signal.SIGKILL else 130)
    assert (b"ab run --resume cut" in told) == (how is not signal.SIGKILL)
    before = log.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert kept.count(b"\n") >= 10
    ran = run("ab", "run", "--resume", "cut", "--json", workspace=place)
    assert ran.code in {0, 5}, ran.err
    assert log.read_bytes().startswith(kept)  # nothing measured is lost, nothing is changed
    assert ran.json["rounds"] <= 30
    sessions = {json.loads(line)["sample"]["session"] for line in log.read_bytes().split(b"\n")[1:-2]}
    assert sessions == {0, 1}


def test_one_process_at_a_time(
    run: Any, script: str, clean: dict[str, str], place: Path, program: tuple[str, ...]
) -> None:
    slow = ("--", "sh", "-c", f"sleep 1; exec {shlex.join(program[1:-1])} {{size}}")
    arms = ("--control", "size=1", "--treatment", "size=1.0001", "--name", "busy", "--margin", "0.001%")
    process = start(script, clean, place, *arms, *PLAIN, *slow)
    try:
        until(place / "experiments" / "busy.jsonl", 2)
        ran = run("ab", "run", "--resume", "busy", workspace=place)
        assert (ran.code, "another process" in ran.fault) == (1, True)
        assert run("ab", "show", "busy", workspace=place).code == 0  # looking is always allowed
    finally:
        process.kill()
        process.communicate(timeout=120)


def test_a_name_goes_on_only_as_it_was(run: Any, place: Path) -> None:
    arms = ("--control", "sleep 0.001", "--treatment", "sleep 0.0011", "--pairs", 8, "--name", "same")
    first = run("ab", "run", *arms, "--json", workspace=place)
    again = run("ab", "run", *arms, "--json", workspace=place)
    assert again.json["samples"] == first.json["samples"]
    other = run("ab", "run", *arms, "--alpha", "0.05", workspace=place)
    assert (other.code, "begun with another alpha" in other.fault) == (2, True)
    moved = run("ab", "run", *arms, "--timeout", "5s", workspace=place)
    assert (moved.code, "runs another command" in moved.fault) == (2, True)


def write_pairs(path: Path, factor: float) -> Path:
    rows = ["pair,arm,order,latency"]
    for pair in range(20):
        arms = ("A", "B") if pair * 7 % 5 < 2 else ("B", "A")
        for slot, arm in enumerate(arms):
            value = (factor if arm == "B" else 1.0) * (1 + 0.01 * ((pair * 13 + slot * 5) % 7 - 3) / 3)
            rows.append(f"{pair},{arm},{2 * pair + slot},{value}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_record_is_judged(run: Any, place: Path, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 0.9)
    ran = run("ab", "record", path, "--metric", "latency:s", "--json", workspace=place)
    assert (ran.code, ran.json["verdict"]) == (0, "better")
    assert ran.json["design"]["scheme"] == "randomised"
    assert ran.json["notes"] == []
    lines = sorted(path.read_text().splitlines()[1:], key=lambda line: line.split(",")[1])
    (tmp_path / "sorted.csv").write_text(
        "arm,latency\n" + "\n".join(f"{a},{v}" for _, a, _, v in (line.split(",") for line in lines))
    )
    weak = run("ab", "record", tmp_path / "sorted.csv", "--metric", "latency:s", "--json", workspace=place)
    assert weak.json["design"]["scheme"] == "sequential"
    assert "weaker" in weak.json["notes"][0]
    width = [r.json["treatments"][0]["log_high"] - r.json["treatments"][0]["log_low"] for r in (ran, weak)]
    assert width[1] > 2 * width[0]
    other = run("ab", "record", tmp_path / "none.csv", "--metric", "latency", workspace=place)
    assert (other.code, "No such file" in other.fault) == (2, True)


def test_no_sample_is_a_formula(run: Any, place: Path, tmp_path: Path) -> None:
    path, arm, metric = tmp_path / "pairs.csv", "=cmd|' /C calc'!A0", "@SUM(A1)"
    values = "".join(f"old,{118 + n % 4}\n{arm},{100 + n % 3}\n" for n in range(20))
    path.write_text(f"arm,{metric}\n{values}")
    asked = ("--metric", metric, "--better", "lower", "--treatment", arm, "--name", "cells")
    ran = run("ab", "record", path, *asked, workspace=place)
    assert ran.code == 0, ran.err
    shown = list(csv.reader(io.StringIO(run("ab", "show", "cells", "--samples", workspace=place).out)))
    assert shown[0][-1] == f"'{metric}"
    assert len(shown) == 41
    assert not [cell for row in shown for cell in row if cell.startswith(tuple("=+-@\t\r\n"))]


@pytest.mark.long
def test_the_outcome_of_a_recommendation_reaches_the_graph_once(
    run: Any, toy_path: Path, tmp_path: Path
) -> None:
    asked = run("recommend", "--op", "toy", "--hardware", "acme-one", "--json", workspace=toy_path).json
    identifier = asked["recommendations"][0]["id"]
    path = write_pairs(tmp_path / "pairs.csv", 0.9)
    told = ("ab", "record", path, "--metric", "latency:s", "--recommendation", identifier)
    first = run(*told, workspace=toy_path)
    assert first.code == 0, first.err
    assert "the graph has this case now" in first.err
    assert "knew this outcome already" in run(*told, workspace=toy_path).err
    question = "SELECT ?o ?v ?r { ?o a tg:Outcome ; tg:verdict ?v ; tg:recommendation ?r ; prov:used ?p . ?p a tg:Problem }"
    [row] = run("kb", "query", question, "--json", workspace=toy_path).json["rows"]
    assert row[1:] == ["better", identifier]
    unknown = run(*told[:-1], "0123456789ab", workspace=toy_path)
    assert (unknown.code, "no recommendation '0123456789ab' is remembered" in unknown.fault) == (2, True)
    untold = run(*told, "--no-tell", workspace=toy_path)
    assert "graph" not in untold.err


def test_nothing_outlives_a_test_that_was_killed(
    run: Any, script: str, clean: dict[str, str], place: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "lives"
    slow = f"touch {marker}; sleep 300"
    process = start(script, clean, place, "--control", slow, "--treatment", f"{slow}1", "--name", "slow")
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True, text=True).stdout
    assert str(marker) not in left
    assert (place / "experiments" / "slow.jsonl").is_file()


def test_the_words_that_stand_for_a_benchmark_are_not_run(run: Any) -> None:
    ran = run("ab", "run", "--control", "a=1", "--treatment", "a=2", "--command", "YOUR BENCHMARK {options}")
    assert ran.code == 2
    assert "stands for the benchmark" in ran.err


def test_the_test_that_an_answer_prints_runs_as_it_stands(
    run: Any, script: str, clean: dict[str, str], shipped_path: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(shipped_path, tmp_path / "workspace")
    asked = ("--model", "Qwen/Qwen3-8B", "--phase", "serving", "--hardware", "l40s", "--count", 1)
    shown = run("recommend", *asked, "-v", workspace=own)
    assert shown.code == 0, shown.err
    printed = shown.err.partition("To test it: ")[2].strip()
    engine = tmp_path / "vllm"  # prints what vLLM's benchmark prints
    engine.write_text(
        "#!/bin/sh\necho 'Throughput: 7.2 requests/s, 829.1 total tokens/s, 92.1 output tokens/s'\n"
    )
    engine.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(script).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-c", f"{printed} --pairs 8 --json"],
        env={**clean, "PATH": path, "TUNEGRAPH_WORKSPACE": str(own)},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr  # both sides are alike
    assert json.loads(ran.stdout)["samples"] >= 16
