"""A command as an objective, with real processes of every bad sort."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Status
from kg.nouns.values import Settings
from recommender.measuring.command import CommandObjective
from recommender.measuring.outcome import CancelledError, RunOutcome
from recommender.measuring.process import Bounds
from recommender.measuring.readings import OutputReading

TIME = OutputReading(metric="kernel_time", better=Better.LOWER, unit="ms", path="time")
PRINT = "import sys, json; print(json.dumps({'time': float(sys.argv[1])}))"


def command(code: str, *arguments: str, **more: Any) -> CommandObjective:
    """A command that runs some Python."""
    given: dict[str, Any] = {"readings": (TIME,), "folder": Path.cwd(), "base": dict(os.environ)}
    return CommandObjective(command=(sys.executable, "-c", code, *arguments), **{**given, **more})


def evaluate(of: CommandObjective, **values: object) -> RunOutcome:
    """Evaluate one configuration."""
    return of.evaluate(Settings(values), threading.Event())


def alive(pid: int) -> bool:
    """True if a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """True if a killed process is gone soon."""
    until = time.monotonic() + 30
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


def test_parameters_are_filled_in_and_the_metric_comes_back_in_si() -> None:
    found = evaluate(command(PRINT, "{block}"), block=250)
    assert found.status is Status.OK
    assert found.values == {"kernel_time": 0.25}


def test_an_argument_never_meets_a_shell() -> None:
    found = evaluate(
        command("import sys; print('{\"time\": %d}' % len(sys.argv[1]))", "{x}"), x="a; echo $HOME"
    )
    assert found.values == {"kernel_time": 0.013}


def test_a_text_runs_in_a_shell_with_its_values_quoted() -> None:
    shell = command("")
    text = CommandObjective(
        command="v={x}; echo '{{\"time\": '${#v}'}}'", readings=(TIME,), folder=shell.folder, base=shell.base
    )
    assert evaluate(text, x="a; exit 9").values == {"kernel_time": 0.009}


def test_an_argument_of_an_inactive_parameter_is_left_out() -> None:
    code = "import sys; print('{\"time\": %d}' % len(sys.argv))"
    assert evaluate(command(code, "{a}", "--b={b}"), a=1).values == {"kernel_time": 0.002}


def test_repeats_are_averaged_after_the_warm_up(tmp_path: Path) -> None:
    code = (
        "import pathlib; p = pathlib.Path('count'); n = int(p.read_text()) + 1 if p.exists() else 0;"
        "p.write_text(str(n)); print('{\"time\": %d}' % [9000, 1000, 2000, 3000][n])"
    )
    found = evaluate(command(code, folder=tmp_path, warmup=1, repeats=3))
    assert found.values == {"kernel_time": pytest.approx(2)}
    assert found.stdev == {"kernel_time": pytest.approx(1)}
    assert found.repeats == 3


def test_several_inputs_count_by_their_geometric_mean_and_any_failure_fails() -> None:
    inputs = (Settings({"size": 1000}), Settings({"size": 4000}))
    found = evaluate(command(PRINT, "{size}", inputs=inputs))
    assert found.values == {"kernel_time": pytest.approx(2)}
    assert [item["kernel_time"] for item in found.by_input] == [1, 4]
    broken = evaluate(command("import sys; sys.exit(sys.argv[1] == '4000')", "{size}", inputs=inputs[1:] * 2))
    assert broken.status is Status.FAILED
    assert "input 1: size=4000" in broken.reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('done')", "printed no kernel_time (no JSON object); it printed 'done'"),
        ("pass", "it printed nothing"),
        ("print('{\"other\": 1}')", "its JSON has no time"),
        ("print('{\"time\": NaN}')", "kernel_time is nan"),
        ('print(\'{"time": "fast"}\')', "'fast' is no number"),
        ("print('{\"time\": null}')", "is null, which is no number"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL, as the system does when memory runs out"),
        ("raise MemoryError", "out of memory: MemoryError"),
        (
            "import sys; sys.exit('RuntimeError: NPU out of memory. Tried to allocate')",
            "out of memory: RuntimeError",
        ),
        ("import sys; sys.exit('bad tile')", "exit code 1: bad tile"),
    ],
)
def test_a_failure_is_told_by_its_cause(code: str, reason: str) -> None:
    found = evaluate(command(code))
    assert found.status is Status.FAILED
    assert reason in found.reason
    assert not found.values


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    hangs = CommandObjective(  # a shell, which begins at once on a busy machine too
        command=("sh", "-c", "sleep 600 & echo $! > pid; sleep 600"),
        readings=(TIME,),
        folder=tmp_path,
        base=dict(os.environ),
        bounds=Bounds(timeout_s=0.8),
    )
    assert evaluate(hangs).reason == "timeout: still running after 0.8 s"
    assert ends(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
def test_a_process_left_in_a_session_of_its_own_is_killed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recommender.measuring.process.GRACE_S", 0.3)
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        "start_new_session=True); open('pid', 'w').write(str(p.pid)); print('{\"time\": 5}')"
    )
    found = evaluate(command(code, folder=tmp_path, mark="a-test-of-ours"))
    assert found.values == {"kernel_time": 0.005}
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_command_that_ignores_being_asked_to_end_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    assert evaluate(command(code, bounds=Bounds(timeout_s=0.3, grace_s=0.3))).reason.startswith("timeout")


def test_a_flood_of_output_keeps_the_metric_at_its_end() -> None:
    code = "import sys; sys.stdout.write('x' * 60 * 2**20); print(); print('{\"time\": 7}')"
    assert evaluate(command(code)).values == {"kernel_time": 0.007}


def test_a_file_larger_than_allowed_ends_the_command(tmp_path: Path) -> None:
    code = "f = open('big', 'wb')\nwhile True: f.write(b'x' * 65536)"
    found = evaluate(command(code, folder=tmp_path, bounds=Bounds(timeout_s=20, file_bytes=1 << 20)))
    assert found.status is Status.FAILED
    assert "larger than allowed" in found.reason or "File too large" in found.reason
    assert (tmp_path / "big").stat().st_size <= 1 << 20


def test_a_shell_that_allows_less_than_we_do_does_not_fail_the_command(tmp_path: Path) -> None:
    bounds = f"Bounds(file_bytes={1 << 40})"
    code = (
        "import pathlib, resource, threading\n"
        "from recommender.measuring.process import Bounds, run\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({1 << 30}, {1 << 30}))\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        f"done = run(['echo', 'ran'], folder=here, environment={{}}, bounds={bounds}, cancel=threading.Event(), mark='x')\n"
        "print(done.code, done.out, done.err)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "ran"], done.stderr


def test_what_it_leaves_in_its_scratch_folder_is_removed(tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[1] + '/x', 'w').write(sys.argv[1]); print('{\"time\": 1}'); open('at','w').write(sys.argv[1])"
    evaluate(command(code, "{scratch}", folder=tmp_path))
    assert not Path((tmp_path / "at").read_text()).exists()


def test_an_interruption_ends_the_command_at_once() -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        command("import time; time.sleep(600)").evaluate(Settings(), cancel)
    assert time.monotonic() - started < 60


def test_a_program_that_does_not_exist_is_no_failure_of_a_configuration() -> None:
    missing = CommandObjective(
        command=("no-such-program-here",), readings=(TIME,), folder=Path.cwd(), base={}
    )
    with pytest.raises(InputError, match="cannot run 'no-such-program-here'"):
        evaluate(missing)


def test_placeholders_and_parameters_must_meet() -> None:
    with pytest.raises(InputError, match=r"names \{blok\}, which is no parameter"):
        command(PRINT, "{blok}").check(["block"])
    with pytest.raises(InputError, match="does not use the parameter tile"):
        command(PRINT, "{block}").check(["block", "tile"])
    command(PRINT, "{block}", "{size}", inputs=(Settings({"size": 1}),)).check(["block"])


def test_a_pattern_takes_the_last_match() -> None:
    reading = OutputReading(metric="kernel_time", better=Better.LOWER, unit="s", pattern=r"time=(\S+)")
    found = evaluate(command("print('time=3\\ntime=2')", readings=(reading,)))
    assert found.values == {"kernel_time": 2}
    with pytest.raises(InputError, match="needs a group"):
        OutputReading(metric="kernel_time", better=Better.LOWER, unit="s", pattern="time")


def test_a_metric_needs_its_unit_and_no_other() -> None:
    with pytest.raises(InputError, match="in which unit"):
        OutputReading(metric="kernel_time", better=Better.LOWER, path="time")
    with pytest.raises(InputError, match="kernel_time is a time, GB is a bytes"):
        OutputReading(metric="kernel_time", better=Better.LOWER, path="time", unit="GB")


def test_runs_beside_each_other_do_not_end_each_other() -> None:
    """One ends early and cleans up behind itself while the other still runs under the same mark."""
    code = "import sys, time; time.sleep(float(sys.argv[1])); print('{\"time\": 5}')"
    both = command(code, "{s}", mark="one-search")
    found: dict[float, RunOutcome] = {}
    spans = (0.1, 1.0)

    def measure(span: float) -> None:
        found[span] = evaluate(both, s=span)

    threads = [threading.Thread(target=measure, args=(span,)) for span in spans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[span].reason for span in spans] == ["", ""]


def test_a_command_that_writes_more_than_it_may_is_ended(tmp_path: Path) -> None:
    code = """
import os, time
for number in range(200):
    with open('part' + str(number), 'wb') as f:
        f.write(os.urandom(1 << 20) * 8); f.flush(); os.fsync(f.fileno())
    time.sleep(0.02)
"""
    found = evaluate(command(code, folder=tmp_path, bounds=Bounds(timeout_s=30, disk_bytes=24 << 20)))
    assert found.status is Status.FAILED
    assert "it wrote more than 24 MiB to the disk" in found.reason
