"""``tunegraph ingest``: good rows in, bad rows told, and nothing torn whatever happens meanwhile."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recommender.workspace.workspace import Workspace


def rows_in(path: Path) -> int:
    """Rows that a reader sees, of a workspace in which everything agrees."""
    with Workspace.open(path, cache=path.parent / "cache") as workspace:
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
        return workspace.trials.counts().trials


@pytest.fixture
def many(tmp_path: Path, line: Any) -> Path:
    """A file that takes some seconds."""
    path = tmp_path / "many.jsonl"
    path.write_text(
        "".join(line(1 + number % 7, block=number % 10, size=number // 10) for number in range(12_000))
    )
    return path


def test_good_rows_are_kept_and_bad_ones_told_with_their_lines(
    run: Any, empty_path: Path, tmp_path: Path, line: Any
) -> None:
    path = tmp_path / "cases.jsonl"
    bad = [
        "{not json\n",
        line(-3),
        line(float("nan")),
        line(unit="parsec"),
        line("1.5"),
        line(0),
        "[]\n",
        "3\n",
        '{"hello": "world"}\n',
        line(hardware={"vendor": "x", "name": ""}),
    ]
    path.write_text(line() + "".join(bad) + line(block=32))
    ran = run("ingest", path, "--json", workspace=empty_path)
    assert ran.code == 2
    [file] = ran.json["files"]
    assert (file["rows_good"], file["rows_bad"]) == (2, len(bad))
    assert [fault["place"] for fault in file["faults"]] == [
        f"line {number}" for number in range(2, 2 + len(bad))
    ]
    reasons = {fault["place"]: fault["reason"] for fault in file["faults"]}
    assert reasons["line 3"] == "outcome.value: -3 is negative"
    assert reasons["line 5"] == "outcome.unit: unknown unit 'parsec'"
    assert rows_in(empty_path) == 2
    again = run("ingest", path, "--keep-going", workspace=empty_path)
    assert again.code == 0
    assert "line 3: outcome.value: -3 is negative" in again.err
    assert "line" not in again.out


def test_a_dry_run_reports_and_writes_nothing(run: Any, empty_path: Path, tmp_path: Path, line: Any) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line() + "{\n")
    ran = run("ingest", path, "--dry-run", "--json", workspace=empty_path)
    assert ran.code == 2
    assert (ran.json["dry_run"], ran.json["rows_good"], ran.json["rows_bad"]) == (True, 1, 1)
    assert rows_in(empty_path) == 0


def test_a_folder_without_cases_is_not_success(run: Any, empty_path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("nothing to see")
    ran = run("ingest", tmp_path / "folder", workspace=empty_path)
    assert ran.code == 2
    assert ran.fault == "nothing there could be read"
    assert "notes.txt: skipped" in ran.err


@pytest.mark.long
def test_who_may_not_write_can_read(
    run: Any, toy_path: Path, seal: Callable[[Path], Path], bound_by_permissions: list[str], tmp_path: Path
) -> None:
    seal(toy_path)
    user = {"workspace": toy_path, "before": bound_by_permissions}
    for command in (
        ["recommend", "--op", "toy", "--hardware", "acme-one"],
        ["similar", "--op", "toy", "--hardware", "acme-one"],
        ["kb", "stats"],
        ["kb", "query", "classes"],
        ["kb", "query", "ASK { ?s ?p ?o }"],
        ["doctor"],
        ["ingest", tmp_path / "toy.jsonl", "--dry-run"],
    ):
        assert run(*command, **user).code == 0, command
    for command in (
        ["ingest", tmp_path / "toy.jsonl"],
        ["kb", "add", "hardware", tmp_path / "chip.yaml"],
        ["doctor", "--repair"],
    ):
        ran = run(*command, **user)
        assert (ran.code, ran.out) == (1, ""), command
        assert ran.fault == f"{toy_path} cannot be written to: Permission denied"


def test_what_may_not_even_be_read_is_one_line(
    run: Any, toy_path: Path, bound_by_permissions: list[str]
) -> None:
    toy_path.chmod(0)
    ran = run("kb", "stats", workspace=toy_path, before=bound_by_permissions)
    toy_path.chmod(0o755)
    assert (ran.code, ran.out) == (1, "")
    assert ran.fault == f"{toy_path} cannot be read: Permission denied"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small disk here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_costs_only_what_was_not_acknowledged(
    run: Any, small_disk: Path, tmp_path: Path, many: Path, line: Any
) -> None:
    place = small_disk / "workspace"
    Workspace.create(place, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    few = tmp_path / "few.jsonl"
    few.write_text(line() + line(block=32))
    assert run("ingest", few, workspace=place).code == 0
    ran = run("ingest", "--no-learn", many, workspace=place)
    assert (ran.code, ran.out) == (1, "")
    assert "No space left on device" in ran.fault or "disk is full" in ran.fault
    there = rows_in(place)
    assert there >= 2
    assert there < 12_000


def started(
    script: str,
    clean: dict[str, str],
    workspace: Path,
    *words: str | Path,
    until: str = "acknowledged",
) -> subprocess.Popen[str]:
    """An ingest at work: it holds the lock and has said what is waited for."""
    process = subprocess.Popen(
        [script, "--workspace", str(workspace), "--verbose", "ingest", *map(str, words)],
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for said in process.stderr:
        if until in said:
            break
    return process


@pytest.mark.long
def test_a_second_writer_is_told_who_the_first_is_and_readers_go_on(
    run: Any, script: str, clean: dict[str, str], toy_path: Path, many: Path, tmp_path: Path
) -> None:
    process = started(script, clean, toy_path, "--no-learn", many)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        second = run("ingest", tmp_path / "toy.jsonl", workspace=toy_path)
        reader = run("recommend", "--op", "toy", "--hardware", "acme-one", "--json", workspace=toy_path)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    out, _ = process.communicate(timeout=60)
    assert (second.code, second.out) == (1, "")
    assert f"process {process.pid} on" in second.fault
    assert "ingest" in second.fault
    assert reader.code == 0
    assert process.returncode == 0
    assert "12,000 rows" in out
    assert rows_in(toy_path) == 12_005


def test_ctrl_c_keeps_what_was_acknowledged(
    script: str, clean: dict[str, str], empty_path: Path, many: Path
) -> None:
    process = started(script, clean, empty_path, "--no-learn", many)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "tunegraph: interrupted; what was acknowledged is kept"
    assert 4000 <= rows_in(empty_path) < 12_000


def test_ctrl_c_before_anything_is_one_line(
    script: str, clean: dict[str, str], empty_path: Path, many: Path
) -> None:
    for wait_s in (0.06, 0.15, 0.3):
        process = subprocess.Popen(
            [script, "--workspace", str(empty_path), "ingest", "--no-learn", str(many)],
            env=clean,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(wait_s)
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if process.returncode != -signal.SIGINT:  # the interpreter itself was still starting
            assert process.returncode == 130
            assert err.splitlines()[-1] == "tunegraph: interrupted; what was acknowledged is kept"
    assert rows_in(empty_path) < 12_000


def test_the_summary_counts_what_is_new_and_what_was_known(
    run: Any, empty_path: Path, tmp_path: Path, line: Any
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text(line() + line(block=32))
    second.write_text(line() + line(block=16))
    run("ingest", first, workspace=empty_path)
    summary = run("ingest", second, "--json", workspace=empty_path).json
    assert (summary["rows_good"], summary["rows_new"], summary["rows_known"], summary["problems_new"]) == (
        2,
        1,
        1,
        0,
    )
    again = run("ingest", second, workspace=empty_path)
    assert again.code == 0
    assert "0 rows and 0 problems are new" in again.out


def test_a_line_is_json_whatever_the_locale(run: Any, toy_path: Path) -> None:
    ran = run(
        "kb", "stats", "--json", workspace=toy_path, environment={"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}
    )
    assert json.loads(ran.out)["cases"]["rows"] == 5


def test_stopping_the_learning_keeps_the_summary(
    script: str, clean: dict[str, str], empty_path: Path, many: Path
) -> None:
    pytest.importorskip("sklearn", reason="learning needs scikit-learn")
    process = started(script, clean, empty_path, many, until="learning how")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "12,000 rows and 1,200 problems are new" in out
    assert "learning was stopped" in err
    assert "Traceback" not in err
    assert rows_in(empty_path) == 12_000
