"""Cases and outcomes come in over HTTP: with a token, in turn, each once; else nothing is written."""

import io
import shutil
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from kg.errors import InputError
from recommender.service.access import Access
from recommender.service.app import TuningService
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line
from tests.unit.recommender.service.conftest import TOKEN, running

BEARER = {"Authorization": f"Bearer {TOKEN.decode()}"}
VENDORS = "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"


def case(block: int, value: float = 1.0) -> bytes:
    return case_line(value, block=block, hardware={"name": "acme"}).encode()


OUTCOME: dict[str, Any] = {
    "question": {"op": "toy", "shape": {"M": 128}, "hardware": "acme"},
    "metric": "kernel_time",
    "unit": "ms",
    "control": {"block": 8},
    "treatment": {"block": 16},
    "samples": {
        "control": [2.0 + 0.001 * (i % 7) for i in range(40)],
        "treatment": [1.0 + 0.001 * (i % 5) for i in range(40)],
    },
    "in_order": True,
}


@pytest.fixture(scope="module")
def toy_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that knows one vendor and one case."""
    place = tmp_path_factory.mktemp("toy")
    Workspace.create(place / "workspace", cache=place, text_model=None, with_shipped=False)
    (place / "vendors.yaml").write_text(VENDORS)
    (place / "first.jsonl").write_bytes(case(1))
    with Workspace.editor(place / "workspace", cache=place) as editor:
        editor.add_file("hardware", place / "vendors.yaml")
        editor.ingest([place / "first.jsonl"])
    return place / "workspace"


@pytest.fixture
def path(toy_path: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(toy_path, tmp_path / "workspace")


@pytest.fixture
def client(path: Path) -> Iterator[httpx.Client]:
    """A client with the token of a server that takes writes."""
    with running(path, Access.of("127.0.0.1", token=TOKEN), writes=True) as made:
        made.headers.update(BEARER)
        yield made


def rows(path: Path) -> int:
    with Workspace.open(path, cache=path.parent) as workspace:
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
        return workspace.trials.counts().trials


def send(client: httpx.Client, body: bytes, name: str = "a.jsonl", **headers: str) -> httpx.Response:
    return client.post("/v1/ingest", params={"name": name}, content=body, headers=headers)


def test_a_file_of_cases_comes_in_once(client: httpx.Client, path: Path) -> None:
    before = path.parent / "before"
    with Workspace.open(path, cache=path.parent) as workspace:
        workspace.upkeep.backup(before)
    body = case(2) + case(3)
    key = {"Idempotency-Key": sha256(body).hexdigest()}
    first = send(client, body, **key)
    assert (first.status_code, first.headers["tunegraph-exit-code"]) == (200, "0")
    answer = first.json()
    assert (answer["rows_new"], answer["files"][0]["path"]) == (2, "a.jsonl")
    assert send(client, body, **key).json() == answer
    assert rows(path) == 3
    assert client.get("/v1/kb/stats").json()["cases"]["rows"] == 3
    other = send(client, case(4), **key)
    assert (other.status_code, rows(path)) == (422, 3)
    assert "is not the SHA-256" in other.json()["detail"]
    UpkeepDesk.restore(path, before)
    assert rows(path) == 1
    again = send(client, body, **key)
    assert (again.json()["rows_new"], rows(path)) == (2, 3), "no reply from before the restore"


@pytest.mark.long
def test_bad_rows_are_said_and_good_ones_stay(client: httpx.Client, path: Path) -> None:
    mixed = send(client, case(2) + b'{"task": 1}\n')
    assert (mixed.status_code, mixed.headers["tunegraph-exit-code"]) == (200, "2")
    assert (mixed.json()["rows_good"], mixed.json()["rows_bad"]) == (1, 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("cases/b.jsonl", case(5))
    assert send(client, packed.getvalue(), "b.zip").json()["rows_new"] == 1
    assert rows(path) == 3
    for body, name in ((b"\0\1\2", "a.bin"), (b"x", "../a.jsonl"), (b"PK", "a.zip")):
        refused = send(client, body, name)
        assert refused.status_code == 400, refused.text
        assert "/tmp" not in refused.text
    assert rows(path) == 3


def test_an_outcome_is_judged_and_learned(client: httpx.Client, path: Path) -> None:
    first = client.post("/v1/outcomes", json=OUTCOME)
    assert (first.status_code, first.headers["tunegraph-exit-code"]) == (200, "0")
    answer = first.json()
    assert answer["told"]["rows"] == 1
    assert answer["treatments"][0]["verdict"] == "better"
    assert client.post("/v1/outcomes", json=OUTCOME).json() == answer
    assert rows(path) == 2


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"sample": []}, "unknown key 'sample'"),
    ({"metric": None}, "metric and samples are needed"),
    ({"metric": 3}, "metric is a text"),
    ({"samples": "1,2"}, "metric and samples are needed"),
    ({"samples": {"control": [1.0], "treatment": ["x"]}}, "samples.json"),
    ({"question": None}, "about nothing"),
    ({"treatment": None}, "what was tried"),
    ({"treatment": [1]}, "treatment"),
    ({"recommendation": "ffff"}, "no recommendation 'ffff'"),
    ({"better": "sideways"}, "sideways"),
)


def test_a_wrong_outcome_is_named(client: httpx.Client, path: Path) -> None:
    for changed, says in WRONG:
        refused = client.post("/v1/outcomes", json={**OUTCOME, **changed})
        assert refused.status_code == 400, refused.text
        assert says in refused.json()["detail"]
        assert "/tmp" not in refused.text
    assert rows(path) == 1


@pytest.mark.long
def test_many_writers_wait_in_one_queue(client: httpx.Client, path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda block: send(client, case(block)), range(10, 34)))
    assert {item.status_code for item in found} == {200}
    assert rows(path) == 25


@pytest.mark.long
def test_another_writer_is_waited_for_by_the_client(client: httpx.Client, path: Path) -> None:
    with Workspace.editor(path, cache=path.parent):
        busy = send(client, case(2))
    assert (busy.status_code, busy.json()["code"]) == (503, 1)
    assert "is being written to by" in busy.json()["detail"]
    assert send(client, case(2)).json()["rows_new"] == 1


def test_without_a_token_or_leave_nothing_is_written(path: Path) -> None:
    with running(path, Access.of("127.0.0.1", token=TOKEN), writes=True) as without:
        assert send(without, case(2)).status_code == 401
    with running(path, Access.of("127.0.0.1", token=TOKEN)) as reading:
        reading.headers.update(BEARER)
        for refused in (send(reading, case(2)), reading.post("/v1/outcomes", json=OUTCOME)):
            assert (refused.status_code, refused.json()["detail"]) == (403, "this server only reads")
    with pytest.raises(InputError, match="writes need a token"):
        TuningService.of(path, path.parent, Access.of("127.0.0.1"), writes=True)
    assert rows(path) == 1
