"""Searches that are killed, interrupted and shared."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.search.toy import QUICK, ended, search, started, task, trials, until


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
