"""Load generators of others: how they are told, what is read of them, and what they fail with."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest

from kg.errors import InputError, WorkspaceError
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.http_stream import Address
from recommender.tune.launch_script import LaunchScript
from recommender.tune.load import Load, LoadKind, LoadResult
from recommender.tune.load_client import LoadClient, known_clients
from recommender.tune.serving_run import ServingRun

LOAD = Load(kind=LoadKind.CONCURRENCY, value=4, input_len=64, output_len=16)
PROGRAM = """
import json, os, sys
out, url, mode = sys.argv[1:4]
if mode == "bad":
    sys.exit("ConnectionError: no route for " + os.environ["OPENAI_API_KEY"])
row = {"model_id": url, "total_output_tokens": 5, "output_throughput": 321.5, "mean_ttft_ms": 12.5,
       "mean_e2el_ms": 250.0}
json.dump(row if mode == "good" else {}, open(out, "w"))
"""


@dataclass
class Place:
    """A folder with a load generator, and a server that it is told."""

    folder: Path

    def put(self, mode: str) -> tuple[Path, LoadResult]:
        (self.folder / "client.py").write_text(PROGRAM)
        client = LoadClient.of(f"{sys.executable} client.py {{out}} {{url}} {mode}", LOAD, "/m/a")
        script = LaunchScript.read(self.folder / "serve.sh", self.folder, "vllm serve /m/a\n")
        place = LaunchPlace(script=script, base={}, folder=self.folder, mark="client-test", silence_s=1.0)
        server = SimpleNamespace(address=Address(port=8123, key="sk-1"), model="named", cancel=Event())
        out = self.folder / "load-0"
        result = client.put(cast(ServingRun, server), place, out, count=16, seed=7, rate=None, users=4)
        return out, result


def test_what_it_states_is_what_counts(tmp_path: Path) -> None:
    out, result = Place(tmp_path).put("good")
    assert json.loads(out.read_text())["model_id"] == "http://127.0.0.1:8123/v1"
    stated = {"throughput": 321.5, "ttft": 0.0125, "e2e_latency": 0.25}
    assert result.metrics == stated
    assert (result.tokens_per_s, result.mean_e2e_s) == (321.5, 0.25)


@pytest.mark.parametrize(
    ("mode", "says"),
    [("bad", "exit code 1.*no route for .secret."), ("none", "its result tells no throughput")],
)
def test_a_client_that_fails_is_no_property_of_the_server(tmp_path: Path, mode: str, says: str) -> None:
    with pytest.raises(WorkspaceError, match=f"the load generator failed .*{says}"):
        Place(tmp_path).put(mode)


@pytest.mark.parametrize("name", list(known_clients()))
def test_one_that_is_missing_says_what_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InputError, match=f"--client {name}: no program") as caught:
        LoadClient.of(name, LOAD, "/m/a")
    assert caught.value.hint == f"pip install {name}"


@pytest.mark.parametrize("text", ["locust", "python client.py {url}", "python client.py {out}"])
def test_what_is_neither_a_name_nor_a_command(text: str) -> None:
    with pytest.raises(InputError, match="neither of vllm, guidellm, aiperf, nor a command"):
        LoadClient.of(text, LOAD, "/m/a")
