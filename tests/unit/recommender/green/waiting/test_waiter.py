"""The waiter: real processes, a clock that the test moves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.errors import InfeasibleError, WorkspaceError
from recommender.green.desk import GreenDesk
from recommender.green.history import DAY
from recommender.green.plan import GreenJob
from recommender.green.shelf import GreenShelf
from recommender.green.waiting.outcome import WaitOutcome
from recommender.green.waiting.waiter import Clocks, Waiter, WaitRequest

NOW = datetime(2026, 3, 2, 18, 0, tzinfo=UTC)


class Night:
    """A clock that sleeping moves on."""

    def __init__(self) -> None:
        self.moment, self.seconds, self.jumps = NOW, 0.0, dict[float, float]()

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.moment += timedelta(seconds=seconds)
        for at in [at for at in self.jumps if at <= self.seconds]:
            self.moment += timedelta(seconds=self.jumps.pop(at))

    @property
    def clocks(self) -> Clocks:
        return Clocks(now=lambda: self.moment, passed=lambda: self.seconds, sleep=self.sleep)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid that is clean from midnight to six, in a folder of its own."""
    folder = tmp_path_factory.mktemp("stored")
    slots = np.arange(20 * DAY)
    start = NOW - timedelta(days=20)
    hours = (slots / 2 + start.hour) % 24
    lines = [
        f"{start + timedelta(minutes=30 * int(slot)):%Y-%m-%d %H:%M},{100 if hour < 6 else 400}"
        for slot, hour in zip(slots, hours, strict=True)
    ]
    path = folder / "xx.csv"
    path.write_text("Time,Carbon Intensity\n" + "\n".join(lines) + "\n", encoding="utf-8")
    GreenShelf(folder / "green").add([path], region="XX", zone="UTC", kind="average")
    return folder / "green" / "XX.npz"


@pytest.fixture
def shelf(stored: Path, tmp_path: Path) -> GreenShelf:
    (tmp_path / "green").mkdir()
    shutil.copy(stored, tmp_path / "green")
    return GreenShelf(tmp_path / "green")


def request(tmp_path: Path, code: str = "", *, hours: float = 2, by: float = 14, **more: Any) -> WaitRequest:
    command = (sys.executable, "-c", code or "open('ran', 'a').write('x')")
    job = GreenJob(duration_s=3600 * hours, deadline=NOW + timedelta(hours=by))
    return WaitRequest(command=command, job=job, folder=str(tmp_path), **{"region": "XX", **more})


def test_it_waits_for_the_clean_hours_and_gives_the_exit_code_on(shelf: GreenShelf, tmp_path: Path) -> None:
    night, said = Night(), list[str]()
    waiter = Waiter(
        shelf,
        request(tmp_path, "import sys; open('ran', 'a').write('x'); sys.exit(7)"),
        said.append,
        night.clocks,
    )
    assert waiter.run() == 7
    assert NOW + timedelta(hours=5.5) <= night.moment <= NOW + timedelta(hours=10)
    assert len(waiter.plans) >= 11  # planned anew every half hour
    assert (tmp_path / "ran").read_text() == "x"
    assert not list((tmp_path / "green" / "waiting").glob("*.json"))
    assert "waiting until" in said[0]


def test_without_a_series_it_runs_at_once_and_says_why(tmp_path: Path) -> None:
    night, said = Night(), list[str]()
    shelf = GreenShelf(tmp_path / "green")
    assert Waiter(shelf, request(tmp_path), said.append, night.clocks).run() == 0
    assert night.seconds == 0
    assert any("no series" in text for text in said)


def test_a_wait_leaves_its_outcome_behind(shelf: GreenShelf, tmp_path: Path) -> None:
    night = Night()
    night.sleep(5 * 3600)
    desk = GreenDesk(shelf.folder)
    assert desk.wait(request(tmp_path), lambda _: None, night.clocks) == 0
    [line] = shelf.outcomes.read_text(encoding="utf-8").splitlines()
    outcome = WaitOutcome.from_line(line)
    assert outcome is not None
    assert outcome.arrived == NOW + timedelta(hours=5)
    assert outcome.promised > 0
    assert outcome.spans == ((night.moment, night.moment),)  # the clock of the test stands while it runs
    assert desk.record("XX").jobs == 0  # its hours are not in the series yet


@pytest.mark.parametrize("kind", ["empty", "text", "cut"])
def test_a_damaged_series_never_blocks(shelf: GreenShelf, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "green" / "XX.npz"
    path.write_bytes({"empty": b"", "text": b"broken", "cut": path.read_bytes()[:2000]}[kind])
    night, said = Night(), list[str]()
    assert Waiter(shelf, request(tmp_path), said.append, night.clocks).run() == 0
    assert night.seconds == 0
    assert any("damaged" in text for text in said)


def test_a_folder_that_cannot_be_written_runs_at_once(shelf: GreenShelf, tmp_path: Path) -> None:
    (tmp_path / "green" / "waiting").write_text("no folder")
    said: list[str] = []
    assert Waiter(shelf, request(tmp_path), said.append, Night().clocks).run() == 0
    assert any("no state can be kept" in text for text in said)


@pytest.mark.long
def test_times_are_printed_on_this_machines_clock(
    shelf: GreenShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    said: list[str] = []
    try:
        waiter = Waiter(shelf, request(tmp_path), said.append, Night().clocks)
        waiter.run()
        with pytest.raises(InfeasibleError, match="before 2026-03-03 05:00"):
            Waiter(shelf, request(tmp_path, hours=4, by=2), print, Night().clocks).run()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert said[0].startswith(f"waiting until {waiter.plans[0].start + timedelta(hours=9):%Y-%m-%d %H:%M}")


def test_a_clock_set_back_does_not_make_it_late(shelf: GreenShelf, tmp_path: Path) -> None:
    night, said = Night(), list[str]()
    night.jumps = {3600.0: -5 * 3600.0}
    assert Waiter(shelf, request(tmp_path), said.append, night.clocks).run() == 0
    assert night.seconds <= 12 * 3600 + 60  # of true time: 14 h less 2 h of work
    assert any("set back" in text for text in said)


def test_a_clock_set_forward_past_the_deadline_runs_at_once(shelf: GreenShelf, tmp_path: Path) -> None:
    night, said = Night(), list[str]()
    night.jumps = {1800.0: 20 * 3600.0}
    assert Waiter(shelf, request(tmp_path), said.append, night.clocks).run() == 0
    assert night.seconds < 3600
    assert any("set forward" in text for text in said)


def test_a_deadline_too_near_is_refused_at_the_first_call(shelf: GreenShelf, tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="does not fit"):
        Waiter(shelf, request(tmp_path, hours=4, by=2), print, Night().clocks).run()


def test_it_goes_on_after_a_restart_with_its_first_deadline(shelf: GreenShelf, tmp_path: Path) -> None:
    first = request(tmp_path)
    leave(tmp_path, first, "waiting", 3)
    night, said = Night(), list[str]()
    assert Waiter(shelf, first, said.append, night.clocks).run() == 0
    assert night.seconds <= 3600
    assert "going on after a restart" in said[0]


@pytest.mark.long
def test_a_deadline_that_has_passed_is_none_of_a_new_call(shelf: GreenShelf, tmp_path: Path) -> None:
    first = request(tmp_path)
    leave(tmp_path, first, "waiting", -24)
    night, said = Night(), list[str]()
    assert Waiter(shelf, first, said.append, night.clocks).run() == 0
    assert night.seconds >= 5.5 * 3600  # it waits for the night again
    assert "begins anew" in said[0]


def test_one_that_was_running_when_its_waiter_was_killed_runs_again(
    shelf: GreenShelf, tmp_path: Path
) -> None:
    first = request(tmp_path)
    leave(tmp_path, first, "running", 12)
    night, said = Night(), list[str]()
    assert Waiter(shelf, first, said.append, night.clocks).run() == 0
    assert night.seconds == 0
    assert "--by of this call is not taken" in said[0]


def leave(folder: Path, left: WaitRequest, state: str, hours: float) -> None:
    """A state of an earlier waiter."""
    place = folder / "green" / "waiting"
    place.mkdir(parents=True)
    kept = {"state": state, "deadline": (NOW + timedelta(hours=hours)).isoformat()}
    (place / f"{left.key}.json").write_text(json.dumps(kept), encoding="utf-8")


def started(folder: Path, code: str, **more: Any) -> subprocess.Popen[str]:
    """A waiter in a process of its own that runs at once."""
    script = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime, timedelta\n"
        "from recommender.green.shelf import GreenShelf; from recommender.green.plan import GreenJob\n"
        "from recommender.green.waiting.waiter import Clocks, WaitRequest\n"
        "from recommender.green.waiting.waiter import Waiter\n"
        f"now = datetime.fromisoformat({NOW.isoformat()!r})\n"
        f"shelf = GreenShelf(Path({str(folder / 'green')!r}))\n"
        "job = GreenJob(duration_s=7200, deadline=now + timedelta(hours=14))\n"
        f"request = WaitRequest(command=(sys.executable, '-c', {code!r}), job=job, **{more!r})\n"
        "say = lambda text: print(text, flush=True)\n"
        "sys.exit(Waiter(shelf, request, say, Clocks(now=lambda: now)).run())\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )


def test_a_command_outlives_its_killed_waiter_and_is_not_run_beside_itself(
    shelf: GreenShelf, tmp_path: Path
) -> None:
    """It holds its name and its device until it ends, then the next one begins."""
    code = f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)"
    waiter = started(tmp_path, code, name="one", devices=("0",))
    until = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    waiter.kill()
    waiter.wait()
    pid = int((tmp_path / "pid").read_text())
    again = request(tmp_path, region="", name="one", devices=("0",))
    with pytest.raises(WorkspaceError, match=f"running already, as process {pid}"):
        Waiter(shelf, again, lambda _: None, Clocks(now=lambda: NOW)).run()
    said: list[str] = []

    def hear(text: str) -> None:
        said.append(text)
        if "device 0 runs another" in text:
            os.killpg(pid, signal.SIGKILL)

    other = request(tmp_path, region="", name="two", devices=("0",))
    assert Waiter(shelf, other, hear, Clocks(now=lambda: NOW, sleep=lambda _: time.sleep(0.02))).run() == 0
    assert any("device 0 runs another" in text for text in said)
    assert Waiter(shelf, again, hear, Clocks(now=lambda: NOW)).run() == 0


def test_the_same_command_does_not_wait_twice(shelf: GreenShelf, tmp_path: Path) -> None:
    code = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.02)"
    one = request(tmp_path, code, region="")
    thread = threading.Thread(target=Waiter(shelf, one, lambda _: None, Clocks(now=lambda: NOW)).run)
    thread.start()
    while not (tmp_path / "begun").exists():
        assert thread.is_alive()
        time.sleep(0.02)
    try:
        with pytest.raises(WorkspaceError, match=r"(running|waiting) already"):
            Waiter(shelf, one, lambda _: None, Clocks(now=lambda: NOW)).run()
    finally:
        (tmp_path / "go").touch()
        thread.join()


def test_two_waiters_on_one_device_run_one_after_the_other(shelf: GreenShelf, tmp_path: Path) -> None:
    code = (
        "import time; f = open('log', 'a'); f.write('a'); f.flush(); time.sleep(0.3); f.write('z'); f.close()"
    )
    said: list[str] = []
    waiters = [
        Waiter(
            shelf,
            request(tmp_path, code, region="", name=name, devices=("0",)),
            said.append,
            Clocks(now=lambda: NOW),
        )
        for name in ("one", "two")
    ]
    threads = [threading.Thread(target=waiter.run) for waiter in waiters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "log").read_text() == "azaz"
    assert any("device 0 runs another" in text for text in said)


@pytest.mark.long
def test_a_split_job_is_paused_in_dirty_hours_and_goes_on(
    shelf: GreenShelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight hours, of which the first night has six: it ends only after it was paused and went on."""
    monkeypatch.setattr("recommender.green.waiting.waiter.TICK_S", 0.01)
    code = (
        "import os, sys, time\nuntil = time.monotonic() + 60\n"
        "while not os.path.exists('go'):\n time.sleep(0.01)\n if time.monotonic() > until: sys.exit(3)\n"
    )
    night, said = Night(), list[str]()

    def hear(text: str) -> None:
        said.append(text)
        if text == "going on":
            (tmp_path / "go").touch()

    def hurried() -> float:
        night.sleep(300.0)
        return night.seconds

    job = GreenJob(duration_s=8 * 3600, deadline=NOW + timedelta(hours=36), can_split=True)
    wanted = WaitRequest(command=(sys.executable, "-c", code), job=job, region="XX", folder=str(tmp_path))
    clocks = Clocks(now=lambda: night.moment, passed=hurried, sleep=night.sleep)
    assert Waiter(shelf, wanted, hear, clocks).run() == 0
    assert said.index("paused: a later time is cleaner") < said.index("going on")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_wait_and_the_state_stays(
    shelf: GreenShelf, tmp_path: Path, number: int, code: int
) -> None:
    waiter = started(tmp_path, "", region="XX", name="kept")
    assert waiter.stdout is not None
    assert "waiting until" in waiter.stdout.readline()
    waiter.send_signal(number)
    assert waiter.wait(60) == code  # the clean hours are half a day away
    assert list((tmp_path / "green" / "waiting").glob("wait-*.json"))
