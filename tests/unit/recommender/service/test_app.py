"""The HTTP service answers what the command line prints, and refuses the rest with problem details."""

import asyncio
import io
import json
import zipfile
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from ingest.questions.problem_file import KEYS
from kg.hidden_text import HIDDEN
from recommender.service import openapi, reply
from recommender.service.access import MOST_BODY_BYTES
from recommender.service.app import (
    MOST_IN_PROGRESS,
    MOST_IN_PROGRESS_OF_ADDRESS,
    LingeringClose,
    Message,
    Receive,
    Send,
    _has_body,
    _is_end,
)
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.service.conftest import TOKEN

KERNEL = {**openapi.EXAMPLES["kernel"], "k": 2}
TRACE = {
    "traceEvents": [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "gemm",
            "ts": 10 * i,
            "dur": 5,
            "pid": 0,
            "tid": 7,
            "args": {"device": 0},
        }
        for i in range(40)
    ]
}


def refusal(response: httpx.Response, status: int, code: int = 2) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    content: dict[str, Any] = response.json()
    assert content["status"] == status
    assert content["code"] == code
    assert content["title"]
    assert "\n" not in content["detail"]
    return content


@pytest.mark.parametrize("path", ["recommend", "similar"])
def test_an_answer_is_what_the_workspace_gives(path: str, client: httpx.Client, served_path: Path) -> None:
    response = client.post(f"/v1/{path}", json=KERNEL)
    with Workspace.open(served_path, cache=served_path.parent / "cache") as workspace:
        expected = getattr(reply, path)(workspace, dict(KERNEL))
    assert response.status_code == 200, response.text
    assert response.json() == json.loads(json.dumps(expected.to_json()))
    assert response.headers["tunegraph-exit-code"] == str(expected.code)


def test_a_plan_is_explained_and_reported_by_its_ids(client: httpx.Client) -> None:
    answer = client.post("/v1/recommend", json=openapi.EXAMPLES["serving"]).json()
    assert answer["start"]["fits"] is True
    name = answer["changes"][0]["id"]
    explanation = client.get(f"/v1/explain/{name}")
    assert explanation.status_code == 200
    assert explanation.json()["schema_version"] == 2
    page = client.get(f"/v1/report/{name}.html", params={"lang": "zh"})
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert 'lang="zh' in page.text
    assert "Qwen3-32B" in page.text or "qwen3-32b" in page.text


def test_what_does_not_fit_is_an_answer_with_the_exit_code_of_the_command(client: httpx.Client) -> None:
    body = {"model": "deepseek-v3", "phase": "serving", "hardware": "ascend-910b3", "count": 1}
    response = client.post("/v1/recommend", json=body)
    assert response.status_code == 200
    assert response.headers["tunegraph-exit-code"] == "4"
    assert response.json()["start"]["fits"] is False


@pytest.mark.parametrize("mark", ["\u200f", "\U000e0049"])
def test_no_hidden_character_leaves_the_server(mark: str, client: httpx.Client) -> None:
    said = f"x{mark}y"
    launch = f"vllm serve Qwen/Qwen3-32B --unknown-flag {said}"
    script = {"launch": launch, "hardware": "ascend-910b3", "count": 4}
    replies = [
        client.post("/v1/recommend", json={"model": said, "hardware": said, "phase": said}),
        client.post("/v1/recommend", json={said: said}),
        client.post("/v1/check", json=script),
        client.post("/v1/recommend", json=script),
        client.post(
            "/v1/diagnose", params={"name": f"{said}.log"}, content=f"RuntimeError: {said}\n".encode()
        ),
        client.get(f"/v1/explain/{said}"),
        client.get(f"/{said}"),
    ]
    for item in replies:
        assert HIDDEN.search(item.text) is None, item.text
        assert item.json()
    assert any(said in json.dumps(item.json(), ensure_ascii=False) for item in replies), (
        "the mark reaches the answers"
    )


def test_an_id_that_nobody_remembers_is_not_there(client: httpx.Client) -> None:
    refusal(client.get("/v1/explain/ffffffffffff"), 404)
    refusal(client.get("/v1/report/ffffffffffff.html"), 404)
    refusal(client.get("/v1/explain/..%2f..%2fetc"), 404)
    refusal(client.get("/v1/explain/README"), 400)


def test_counts_and_state(client: httpx.Client) -> None:
    assert client.get("/v1/kb/stats").json()["triples"] > 1000
    assert client.get("/healthz").json() == {"status": "ok"}
    state = client.get("/readyz").json()
    assert state["status"] == "ready"
    assert state["snapshot_age_s"] >= 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"k": NaN}', "NaN is no number"),
        (b'{"k": 1e999}', "out of range"),
        (b'{"k": ' + b"9" * 400 + b"}", "a number of 400 digits"),
        (b'{"op": "gemm", "op": "gemm"}', "a key stands twice"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "too deep"),
        (b'{"op": "gemm", "colour": 1}', "unknown key 'colour'"),
        (b'{"op": "gemm", "hardware": "h100-pcie", "k": 51}', "k is a whole number"),
        (b'{"model": "bert-large", "hardware": "910B"}', "fits several devices"),
        (b'{"model": "no-such-model", "hardware": "ascend-910b3"}', "no-such-model"),
    ],
)
def test_a_wrong_body_is_refused_by_name(body: bytes, says: str, client: httpx.Client) -> None:
    assert says in refusal(client.post("/v1/recommend", content=body), 400)["detail"]


def test_a_body_without_an_end_is_cut_off(client: httpx.Client) -> None:
    piece = b" " * 65_536
    pieces = (piece for _ in range(10 * MOST_BODY_BYTES // len(piece)))
    refusal(client.post("/v1/recommend", content=pieces), 413)
    refusal(client.post("/v1/recommend", content=b" " * 10 * MOST_BODY_BYTES), 413)
    connection = HTTPConnection(client.base_url.host, client.base_url.port, timeout=20)
    connection.putrequest("POST", "/v1/recommend")
    connection.putheader("Content-Length", "2000000000")
    connection.endheaders()
    assert connection.getresponse().status == 413  # before a byte of it was sent
    connection.close()
    refusal(client.post("/v1/recommend", headers={"content-encoding": "gzip"}, content=b"x"), 415)


def test_other_methods_and_addresses_are_refused(client: httpx.Client) -> None:
    refusal(client.get("/v1/recommend"), 405)
    refusal(client.get("/v2"), 404)
    refusal(client.get("/docs"), 404)  # it would load scripts from elsewhere


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["recommend", "predict", "similar"]),
    body=st.dictionaries(
        st.sampled_from([*KEYS, "k", "server", "intensity"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=6,
        ),
    ),
    kept=st.sampled_from([{}, KERNEL, openapi.EXAMPLES["training"]]),
)
def test_no_body_breaks_the_server(
    path: str, body: dict[str, Any], kept: dict[str, Any], client: httpx.Client
) -> None:
    text = json.dumps({**kept, **body}).encode()
    response = client.post(f"/v1/{path}", content=text)
    assert response.status_code in {200, 400, 422}, text


def test_a_profile_is_diagnosed(client: httpx.Client) -> None:
    trace = json.dumps(TRACE).encode()
    response = client.post("/v1/diagnose", params={"name": "trace.json"}, content=trace)
    assert response.status_code == 200, response.text
    assert "causes" in response.json()
    assert "/tmp" not in response.text
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("run/trace.json", trace)
    again = client.post("/v1/diagnose", params={"name": "run.zip"}, content=packed.getvalue())
    assert again.json()["causes"] == response.json()["causes"]
    log = client.post("/v1/diagnose", params={"name": "run.log"}, content=b"RuntimeError: EI0006\n")
    assert log.json()["path"] == "run.log"
    assert log.json()["faults"]


@pytest.mark.parametrize("name", ["../x.json", "/etc/passwd", "a/b.json", "", ".hidden", "x" * 200])
def test_an_upload_has_a_plain_name(name: str, client: httpx.Client) -> None:
    refusal(client.post("/v1/diagnose", params={"name": name}, content=b"{}"), 400)


def test_what_is_no_profile_is_said_without_our_folders(client: httpx.Client) -> None:
    said = refusal(client.post("/v1/diagnose", params={"name": "a.csv"}, content=b"a,b\n1,2\n"), 400)
    assert said["detail"].startswith("a.csv: not a profile")


def test_a_foreign_name_is_refused(client: httpx.Client) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        refusal(client.get("/healthz", headers={"host": host}), 421)
    assert client.get("/healthz", headers={"host": "localhost:99"}).status_code == 200


def test_a_page_of_another_place_is_refused(client: httpx.Client) -> None:
    question = b'{"op": "gemm", "hardware": "h100-pcie", "shape": {"M": 64, "N": 64, "K": 64}}'
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        refusal(client.post("/v1/recommend", content=question, headers={"origin": origin}), 403)
    headers = {"origin": "http://localhost:8740"}
    assert client.post("/v1/recommend", content=question, headers=headers).status_code == 200


def test_a_token_is_wanted_everywhere_but_for_health(guarded: httpx.Client) -> None:
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/healthz", headers={"host": "tuning.example"}).status_code == 200
    for given_header in (
        "",
        "Bearer",
        "Bearer wrong",
        f"Basic {TOKEN.decode()}",
        f"Bearer {TOKEN.decode()}0",
    ):
        response = guarded.get("/v1/kb/stats", headers={"authorization": given_header})
        refusal(response, 401)
        assert response.headers["www-authenticate"].startswith("Bearer")
    right = {"authorization": f"Bearer {TOKEN.decode()}"}
    assert guarded.get("/v1/kb/stats", headers=right).status_code == 200
    refusal(guarded.get("/v1/kb/stats", params={"token": TOKEN.decode()}, headers=right), 400)


def test_the_description_has_every_address_and_examples_that_work(client: httpx.Client) -> None:
    content = client.get("/openapi.json").json()
    assert content["openapi"].startswith("3.1")
    paths = content["paths"]
    assert {"/v1/recommend", "/v1/explain/{recommendation_id}", "/v1/diagnose", "/readyz"} <= paths.keys()
    body = paths["/v1/recommend"]["post"]["requestBody"]["content"]["application/json"]
    assert {*body["schema"]["properties"]} == {*KEYS, "k", *openapi.LAUNCH}
    for example in body["examples"].values():
        assert client.post("/v1/recommend", json=example["value"]).status_code == 200


def test_a_newer_state_is_read(client: httpx.Client, served_path: Path, tmp_path: Path) -> None:
    before = client.get("/readyz").json()
    file = tmp_path / "case.jsonl"
    from tests.samples.toy_cases import case_line

    file.write_text(case_line(), encoding="utf-8")
    with Workspace.open(served_path, cache=served_path.parent / "cache") as workspace:
        workspace.ingest(file)
    after = client.get("/readyz").json()
    assert after["batch"] == before["batch"] + 1
    assert after["snapshot_age_s"] < 30


def test_a_launch_script_is_judged_and_answered_without_being_run(client: httpx.Client) -> None:
    body = openapi.EXAMPLES["launch"]
    response = client.post("/v1/check", json=body)
    assert (response.status_code, response.headers["tunegraph-exit-code"]) == (200, "1")
    [finding] = response.json()["findings"]
    assert (finding["setting"], finding["remedy"]) == ("--enforce-eager", {"remove": ["--enforce-eager"]})
    answer = client.post("/v1/recommend", json=body).json()
    assert [item["setting"] for item in answer["findings"]] == ["--enforce-eager"]
    assert "--enforce-eager" not in " ".join(answer["start"]["paste"])
    assert "--max-num-seqs 64" in " ".join(answer["start"]["paste"])
    refusal(client.post("/v1/check", json={"hardware": "ascend-910b3"}), 400)
    refusal(client.post("/v1/check", json={**body, "launch": "echo hello"}), 400)
    refusal(client.post("/v1/check", json={**body, "launch_number": 7}), 400)
    refusal(client.post("/v1/recommend", json={**body, "launch": 7}), 400)


def test_no_address_takes_all_places_of_waiting_requests() -> None:
    """One that has too many is told to come again; another is answered, and so is health, until all are taken."""

    async def run() -> None:
        entered, statuses, ended = list[str](), list[int](), asyncio.Event()

        async def app(scope: Message, receive: Receive, _: Send) -> None:
            await receive()
            entered.append(scope["client"][0])
            await ended.wait()

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            statuses.append(message.get("status", 0))

        door = LingeringClose(app)

        def ask(address: str, path: str = "/v1/check") -> asyncio.Task[None]:
            scope = {"type": "http", "client": (address, 1), "path": path}
            return asyncio.create_task(door(scope, receive, send))

        async def asked(address: str, count: int, path: str = "/v1/check") -> tuple[int, int]:
            before, tasks = len(entered), [ask(address, path) for _ in range(count)]
            waiting.extend(tasks)
            await asyncio.sleep(0.01)
            refused, statuses[:] = statuses.count(503), []
            return len(entered) - before, refused

        waiting: list[asyncio.Task[None]] = []
        assert await asked("a", MOST_IN_PROGRESS_OF_ADDRESS + 3) == (MOST_IN_PROGRESS_OF_ADDRESS, 3)
        rest = MOST_IN_PROGRESS - MOST_IN_PROGRESS_OF_ADDRESS
        assert await asked("b", rest + 1) == (rest, 1)
        assert await asked("c", 1) == (0, 1)
        assert await asked("c", 1, "/readyz") == (1, 0)
        ended.set()
        await asyncio.gather(*waiting)
        assert await asked("c", 1) == (1, 0)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "has_one"),
    [
        ({}, False),
        ({"content-length": "0"}, False),
        ({"content-length": "3"}, True),
        ({"transfer-encoding": "chunked"}, True),
        ({"transfer-encoding": "chunked", "content-length": "0"}, True),
    ],
)
def test_whether_a_request_has_a_body(headers: dict[str, str], has_one: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert _has_body(Request({"type": "http", "headers": raw})) is has_one


def test_where_the_body_of_a_request_ends() -> None:
    ends: list[Message] = [
        {"type": "http.disconnect"},
        {"type": "http.request"},
        {"type": "http.request", "more_body": False},
    ]
    assert all(_is_end(message) for message in ends)
    assert not _is_end({"type": "http.request", "more_body": True})
