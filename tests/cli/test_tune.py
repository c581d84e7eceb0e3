"""``tunegraph tune`` with real processes: an engine that speaks real HTTP, with faults to order."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from recommender.report.document import ReportDocument
from tests import fake_docker
from tests.fake_engine import install, running

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are found by /proc"
)

SCRIPT = (
    "#!/bin/bash\nexport API_KEY=sk-very-secret\nvllm serve /models/tiny --max-num-seqs 4 --enforce-eager\n"
)
LOAD = shlex.split("--load concurrency=4 --input-len 8 --output-len 6 --requests 16 --probe-time 0.2s")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a script, and an engine in a folder of programs."""
    install(tmp_path / "bin")
    (tmp_path / "serve.sh").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def tune(run: Any, place: Path, empty_path: Path) -> Any:
    """Runs ``tunegraph tune`` in that folder, with the engine on the path; a fault may be ordered."""

    def call(*words: object, fault: str = "") -> Any:
        path = f"{place / 'bin'}:{os.environ['PATH']}"
        return run(
            "tune", *words, workspace=empty_path, folder=place, environment={"PATH": path, "FAULT": fault}
        )

    return call


def engines(place: Path) -> list[int]:
    """The engines that run with the programs of a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_engine = b"fake_engine.py" in (entry / "cmdline").read_bytes()
            if is_engine and f"{place / 'bin'}:".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def journal(workspace: Path) -> list[dict[str, Any]]:
    """The events of the newest tune."""
    newest = max((workspace / "tunes").iterdir(), key=lambda path: path.name)
    return [json.loads(line) for line in (newest / "journal.jsonl").read_text().splitlines()]


def test_a_harmful_setting_is_found_and_taken_away(tune: Any, place: Path, empty_path: Path) -> None:
    only = ("--change", "--enforce-eager=", "--change", "--max-num-seqs=2")
    words = ("--write", "tuned.sh", "--report", "page.html", "--seed", 1, "--json")
    ran = tune("serve.sh", *LOAD, *only, *words)
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["verdict"], found["accepted"]) == ("better", ["without --enforce-eager"])
    assert found["confirmation"]["treatments"][0]["ratio_low"] > 1
    assert found["quality"]["state"] == "same"
    assert found["steps"][2]["accepted"] is False
    assert (place / "tuned.sh").read_text() == SCRIPT.replace(" --enforce-eager", "")
    assert (place / "serve.sh").read_text() == SCRIPT
    assert engines(place) == []
    page = ReportDocument.read(place / "page.html")
    assert [part.kind for part in page.parts] == ["search", "experiment"]
    assert page.parts[0].content["contributions"][0]["parameters"] == ["enforce_eager"]
    kept = "".join(path.read_text() for path in (empty_path / "tunes").rglob("*.jsonl"))
    assert "sk-very-secret" not in kept


def test_a_dry_run_starts_nothing_and_shows_every_start(tune: Any, place: Path, empty_path: Path) -> None:
    ran = tune("serve.sh", "--dry-run")
    assert ran.code == 0, ran.err
    assert "--max-num-seqs 8" in ran.out
    assert "without --enforce-eager" in ran.out
    assert "Nothing was started" in ran.out
    assert not (empty_path / "tunes").exists()


def test_other_machines_measure_too_and_one_that_dies_is_done_without(
    tune: Any, place: Path, empty_path: Path
) -> None:
    """Two processes of ours stand for machines; the second is killed at its work."""
    reached = ("--on", "env NODE=node2", "--on", "timeout -s KILL 3 env NODE=node3")
    only = ("--change", "--enforce-eager=", "--change", "--max-num-seqs=1,3", "--json")
    ran = tune("serve.sh", *LOAD, *reached, *only)
    assert ran.code == 0, ran.err
    assert ran.json["accepted"] == ["without --enforce-eager"]
    assert "NODE=node3 measures no more, the others go on" in " ".join(ran.err.split())
    events = journal(empty_path)
    assert {item["on"] for item in events if item["event"] == "start" and "on" in item} > {"NODE=node2"}
    assert {item["on"] for item in events if item["event"] == "pair"} == {"NODE=node2"}
    assert engines(place) == []


def test_a_machine_that_is_not_reached_is_named(tune: Any) -> None:
    ran = tune("serve.sh", *LOAD, "--on", "sh -c 'echo no route to host >&2; exit 255' node2")
    assert ran.code == 2
    assert "node2: no route to host" in ran.err


@pytest.mark.long
def test_one_of_several_servers_is_tuned_and_the_others_are_left_out(tune: Any, place: Path) -> None:
    two = "vllm serve /m/a --port 18993 > a.log 2>&1 &\nX=1 vllm serve /m/b --max-num-seqs 4 --enforce-eager &\nwait\n"
    (place / "serve.sh").write_text(two)
    only = ("--server", 2, "--change", "--enforce-eager=", "--write", "tuned.sh", "--json")
    ran = tune("serve.sh", *LOAD, *only)
    assert (ran.code, ran.json["accepted"]) == (0, ["without --enforce-eager"]), ran.err
    assert (place / "tuned.sh").read_text() == two.replace(" --enforce-eager", "")
    assert (place / "a.log").read_text() == ""
    assert engines(place) == []


def test_a_port_that_is_taken_names_its_holder(tune: Any, place: Path, empty_path: Path) -> None:
    """The script of a command that nothing here knows keeps its own port, which an old server holds."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}/health"
        (place / "own.sh").write_text("./my-server --listen\n")
        ran = tune("own.sh", *LOAD, "--ready", url, "--change", "THREADS=2")
    assert ran.code == 1
    assert "is taken by process" in ran.err
    assert "which tunegraph did not start" in ran.err


def test_nothing_better_is_a_result_and_an_old_server_on_the_port_is_left_alone(
    tune: Any, place: Path
) -> None:
    with running(place, 18991) as decoy:
        (place / "serve.sh").write_text(SCRIPT.replace("--max", "--port 18991 --max"))
        ran = tune("serve.sh", *LOAD, "--change", "--max-num-seqs=1")
        assert ran.code == 3, ran.err  # it was measured on a port of its own
        assert "Nothing better" in ran.out
        assert decoy.poll() is None


def test_a_port_that_the_script_computes_and_its_key_are_its_own(
    tune: Any, place: Path, empty_path: Path
) -> None:
    """Line ends of Windows too: a shell that is given them hands them on to the program."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (place / "serve.sh").write_text(
        f"#!/bin/bash\r\nPORT=${{PORT:-{port}}}\r\n"
        "vllm serve /m/a --port $PORT --max-num-seqs 4 --enforce-eager --api-key ${KEY:-sk-secret}\r\n"
    )
    says = ("--accuracy", "echo no answer for $OPENAI_API_KEY; false")
    ran = tune("serve.sh", *LOAD, "--start-time", "20s", "--change", "--enforce-eager=", *says)
    assert ran.code == 3, ran.err
    written = "".join(path.read_text() for path in empty_path.rglob("journal.jsonl"))
    assert "no answer for [secret]" in written
    assert "sk-secret" not in written + ran.out + ran.err
    assert engines(place) == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("dies", "it ended before it was ready (exit code 1: RuntimeError: NPU out of memory"),
        ("silent", "not ready after"),
        ("mute", "it ended under the load (exit code 1: CUDA error: an illegal memory access"),
    ],
)
def test_a_script_that_does_not_run_says_so_in_one_line(
    tune: Any, place: Path, empty_path: Path, fault: str, says: str
) -> None:
    ran = tune("serve.sh", *LOAD, "--start-time", "2s", fault=fault)
    assert ran.code == 1
    assert says in " ".join(ran.err.split())
    assert f"tunegraph diagnose {empty_path / 'tunes'}" in " ".join(ran.err.split())
    assert engines(place) == []


def test_answers_that_are_noise_are_a_loss(tune: Any) -> None:
    """The fast setting answers something else from the first token on: it is no winner."""
    only = ("--change", "--enforce-eager=")
    ran = tune("serve.sh", *LOAD, *only, "--json", fault="wrong")
    assert ran.code == 3, ran.err
    assert ran.json["steps"][1]["gain"] > 1
    assert ran.json["steps"][1]["quality"]["state"] == "fault"
    assert ran.json["accepted"] == []


def test_the_users_own_command_judges_accuracy(tune: Any, place: Path, empty_path: Path) -> None:
    only = ("--change", "--enforce-eager=", "--accuracy", "echo score .31 at $TUNEGRAPH_URL; exit 1")
    ran = tune("serve.sh", *LOAD, *only, "--json")
    assert ran.code == 3, ran.err
    assert "--accuracy: exit code 1: score .31 at http://127.0.0.1:" in ran.json["steps"][1]["reason"]


BOX = "docker run -d -it --rm -p {port}:8000 vllm/vllm-openai:v0.9.0 --model /m/a --enforce-eager\n"


@pytest.fixture
def box(place: Path) -> Path:
    """A script that runs a container, and the folder of the containers there are."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        (place / "box.sh").write_text(BOX.format(port=free.getsockname()[1]))
    return fake_docker.install(place / "bin")


@pytest.mark.long
def test_a_container_is_marked_by_a_label_and_ended(tune: Any, place: Path, box: Path) -> None:
    (box / "1.json").write_text('{"labels": ["theirs=1"], "port": "1", "pid": 1, "rm": false}')
    ran = tune("box.sh", *LOAD, "--change", "--enforce-eager=", "--write", "tuned.sh", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["accepted"] == ["without --enforce-eager"]
    assert (place / "tuned.sh").read_text() == (place / "box.sh").read_text().replace(" --enforce-eager", "")
    assert (engines(place), [path.name for path in box.iterdir()]) == ([], ["1.json"])


def test_a_container_does_not_outlive_a_kill(place: Path, box: Path, empty_path: Path) -> None:
    process = _begin(place, empty_path, "box.sh")
    _started(place, empty_path, 2)
    process.kill()
    process.communicate()
    until = time.monotonic() + 60
    while (engines(place) or any(box.iterdir())) and time.monotonic() < until:
        time.sleep(0.1)
    assert not engines(place)
    assert not list(box.iterdir())


def test_a_budget_shorter_than_one_start(tune: Any, place: Path, empty_path: Path) -> None:
    began = time.monotonic()
    ran = tune("serve.sh", *LOAD, "--budget", "0.5s", fault="silent")
    assert ran.code == 2
    assert "shorter than one start" in ran.err
    assert engines(place) == []
    assert time.monotonic() - began < 60  # not the half hour that a start may be silent


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("missing.sh",), "missing.sh: no such file"),
        (("serve.sh", "--limit", "quality<=3"), "quality<=3"),
        (("serve.sh", "--change", "speed"), "no change of the plan"),
        (("two.sh", "--server", "3"), "it starts 2 programs (1 vllm of /m/a on 1 device; 2 vllm of /m/b"),
        (("wait.sh", "--server", "2"), "it waits for launch 1, on port 8081, which would be left out"),
        (("own-box.sh", "--ready", "http://127.0.0.1:1/"), "docker starts it where tunegraph can neither"),
        (("odd.sh", "--train"), "there is nothing to try on"),
        (("serve.sh", "--resume"), "a script to tune, or --resume"),
        (("serve.sh", "--on", "a", "--on", "x a"), "--on names a twice"),
        (("serve.sh", "--client", "vllm", "--limit", "ttft<=1s"), "states no request one by one"),
        (("serve.sh", "--report", "none/page.html"), "none: no such folder"),
        (("serve.sh", "--change", "--max-num-sequences=8"), "did you mean --max-num-seqs?"),
    ],
)
def test_bad_input_is_one_line(
    tune: Any, place: Path, empty_path: Path, words: tuple[str, ...], says: str
) -> None:
    (place / "two.sh").write_text("vllm serve /m/a --port 1 &\nvllm serve /m/b --port 2 --max-num-seqs 9\n")
    until = "until curl -s localhost:8081/health; do sleep 1; done\n"
    (place / "wait.sh").write_text(f"vllm serve /m/a --port 8081 &\n{until}vllm serve /m/b --port 2 &\n")
    (place / "joined.sh").write_text("bash -c 'vllm serve /m/a & vllm serve /m/b'\n")
    (place / "box.sh").write_text("docker run -p 8000 vllm/vllm-openai:v0.9.0 --model /m/a\n")
    (place / "own-box.sh").write_text("docker run -d -p 8000:8000 my/own-image\n")
    (place / "odd.sh").write_text("echo hello\n")
    ran = tune(*words)
    assert ran.code == 2, ran.err
    assert says in " ".join(ran.err.split())
    assert not list((empty_path / "tunes").glob("*")) if (empty_path / "tunes").exists() else True


def _begin(place: Path, workspace: Path, script: str = "serve.sh") -> subprocess.Popen[str]:
    words = ["--workspace", str(workspace), "tune", script, *map(str, LOAD), "--seed", "3"]
    words += ["--change", "--enforce-eager=", "--change", "--max-num-seqs=2,3"]
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("tunegraph")), *words],
        cwd=place,
        env={**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _started(place: Path, workspace: Path, starts: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (workspace / "tunes").exists():
            try:
                if sum(item["event"] == "start" for item in journal(workspace)) >= starts and engines(place):
                    return
            except (ValueError, OSError):
                pass
        time.sleep(0.02)
    raise AssertionError("it does not start")


def test_ctrl_c_leaves_no_process_and_says_the_best(place: Path, empty_path: Path) -> None:
    process = _begin(place, empty_path)
    _started(place, empty_path, 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Best so far, not confirmed: the script as it is" in " ".join(err.split())
    assert "Go on: tunegraph tune --resume" in err
    assert engines(place) == []


@pytest.mark.long
def test_what_was_killed_goes_on_and_leaves_nothing_behind(tune: Any, place: Path, empty_path: Path) -> None:
    process = _begin(place, empty_path)
    _started(place, empty_path, 3)
    process.kill()
    process.communicate()
    before = [item for item in journal(empty_path) if item["event"] == "measured"]
    ran = tune("--resume", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["accepted"] == ["without --enforce-eager"]
    after = [item for item in journal(empty_path) if item["event"] == "measured"]
    assert after[: len(before)] == before
    assert len({item["digest"] for item in after}) == len(after)
    assert engines(place) == []
    starts = sum(item["event"] == "start" for item in journal(empty_path))
    again = tune("--resume", "--json")  # it has ended: nothing is started for its result
    assert (again.code, again.json["accepted"], again.json["starts"]) == (
        0,
        ran.json["accepted"],
        ran.json["starts"],
    )
    assert sum(item["event"] == "start" for item in journal(empty_path)) == starts
