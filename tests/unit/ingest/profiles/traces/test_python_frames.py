"""Frames of Python beside a device: what they tell by themselves, and what ran while it was idle."""

import json
from pathlib import Path

import pytest

from ingest.profiles.facts.run import Rank
from ingest.profiles.folders import read_profile
from ingest.profiles.traces.python_frames import short_name

Event = dict[str, object]


def frame(number: int, parent: int | None, name: str, ts: float, dur: float, tid: object = 1) -> Event:
    links = {"Python id": number, "Python parent id": parent}
    return {"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
            "args": links}  # fmt: skip


def kernel(ts: float, dur: float) -> Event:
    return {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"stream": 7, "device": 0}}  # fmt: skip


def read(folder: Path, *events: Event) -> Rank:
    path = folder / "host_0.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "with_stack": 1, "traceEvents": list(events)}))
    [rank] = read_profile(path).ranks
    return rank


def test_idle_time_belongs_to_the_innermost_function(tmp_path: Path) -> None:
    rank = read(
        tmp_path,
        kernel(0, 100), kernel(1100, 100), kernel(1230, 100), kernel(1400, 100),
        frame(1, None, "train.py(3): <module>", 0, 2000),
        frame(2, 1, "lib/site-packages/torch/utils/data/dataloader.py(720): __next__", 200, 700),
        frame(3, 2, "torch/utils/data/_utils/fetch.py(49): fetch", 300, 500),
        frame(4, 1, "<built-in method item of Tensor object at 0x7f0a>", 1330, 40),
        frame(9, None, "torch/utils/data/_utils/pin_memory.py(18): _pin_memory_loop", 0, 1900, tid=2),
    )  # fmt: skip
    idle = {item.name: item.us for item in rank.details.idle_frames}
    assert idle == {
        "torch/utils/data/_utils/fetch.py: fetch": pytest.approx(500),
        "train.py: <module>": pytest.approx(1000 - 700 + 70 - 40),
        "torch/utils/data/dataloader.py: __next__": pytest.approx(200),
        "item of Tensor (built in)": pytest.approx(40),
    }  # the gap of 30 us is a launch's; another thread waits beside it
    told = {(call.level, call.name) for call in rank.calls}
    assert ("loader", "torch/utils/data/dataloader.py: __next__") in told
    assert ("frame", "torch/utils/data/_utils/pin_memory.py: _pin_memory_loop") in told
    assert not any("train.py" in name for _, name in told)


def test_gaps_outside_of_steps_do_not_count(tmp_path: Path) -> None:
    def step(number: int, ts: float, dur: float) -> Event:
        return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 5,
                "ts": ts, "dur": dur, "args": {}}  # fmt: skip

    rank = read(
        tmp_path,
        step(0, 1000, 1000),
        kernel(0, 100), kernel(500, 100), kernel(1100, 100), kernel(1500, 100),
        frame(1, None, "other.py(1): run", 0, 3000, tid=4),
        frame(2, None, "more.py(1): run", 0, 3000, tid=4),
        frame(3, None, "train.py(1): run", 0, 3000, tid=5),
    )  # fmt: skip
    assert {item.name: item.us for item in rank.details.idle_frames} == {
        "train.py: run": pytest.approx(500 + 300)
    }


def test_what_pythons_library_takes_is_its_callers(tmp_path: Path) -> None:
    rank = read(
        tmp_path,
        kernel(0, 100), kernel(1100, 100),
        frame(1, None, "mine/metrics.py(3): score", 110, 900),
        frame(2, 1, "json/encoder.py(200): encode", 200, 500),
        frame(3, 2, "<built-in method encode of Encoder object at 0x7f0a>", 200, 400),
        frame(4, 1, "<built-in method wait of Condition object at 0x7f0b>", 800, 100),
    )  # fmt: skip
    functions = {item.name: item.us for item in rank.details.idle_functions}
    assert functions == {"mine/metrics.py: score": 800, "wait of Condition (built in)": 100}


@pytest.mark.parametrize("links", [{}, {"Python id": "7"}, {"Python id": -1}, {"Python id": 1 << 80}])
def test_frames_without_a_number_tell_what_they_are_alone(tmp_path: Path, links: Event) -> None:
    event = frame(1, None, "<built-in function collect>", 100, 900) | {"args": links, "tid": ["x"]}
    rank = read(tmp_path, kernel(0, 100), kernel(1100, 100), event)
    assert rank.details.idle_frames == ()
    assert [(call.level, call.total_us) for call in rank.calls] == [("gc", 900)]


def test_the_collector_counts_once(tmp_path: Path) -> None:
    own = {"ph": "X", "cat": "GC", "name": "GC", "pid": 1, "tid": 1, "ts": 110, "dur": 800, "args": {}}
    rank = read(
        tmp_path, kernel(0, 9), kernel(1100, 9), own, frame(1, None, "<built-in function collect>", 100, 900)
    )
    assert [(call.name, call.total_us) for call in rank.calls if call.level == "gc"] == [("GC", 800)]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("torch/optim/adam.py(553): _multi_tensor_adam", "torch/optim/adam.py: _multi_tensor_adam"),
        ("/usr/lib/python3/dist-packages/apex/x.py(1): step", "apex/x.py: step"),
        (
            "<built-in method run of torch._C.Engine object at 0x7f61a8fa6ff0>",
            "run of torch._C.Engine (built in)",
        ),
        ("<built-in function linear>", "linear (built in)"),
        ("nn.Module: Linear_0", "nn.Module: Linear_0"),
    ],
)
def test_names_lose_what_differs_between_machines(name: str, short: str) -> None:
    assert short_name(name) == short
