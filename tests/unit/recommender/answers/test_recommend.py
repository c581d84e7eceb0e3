"""Cases and strategies merged into one answer, and the reasons for giving none."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InfeasibleError, InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.values import Settings
from recommender.calibration.outlook import LISTED
from recommender.ranking.changes.strategies import StrategyRanker
from recommender.ranking.plan.planner import Planner
from recommender.space.space_file import read_space
from recommender.workspace.searches import SearchDesk
from recommender.workspace.workspace import Workspace
from tests.shipped_hardware import add_hardware

QUESTION: dict[str, Any] = {"model": "bert-large", "phase": "training", "hardware": "910b3", "count": 8}


def ask(workspace: Workspace, k: int = 5, **more: Any) -> Any:
    problem, notes = workspace.problem({**QUESTION, **more})
    return workspace.recommend(problem, k, notes=notes)


def moe(value: float, tp: int, ep: int, *, experts: int = 8, device: str = "NVIDIA H100 80GB HBM3") -> str:
    record = {
        "task": {"kind": "operator", "op": "moe_layer", "shape": {"experts": experts, "inter": 128}},
        "hardware": {"vendor": "nvidia", "name": device, "count": 8},
        "config": {"moe_tp_size": tp, "moe_ep_size": ep},
        "outcome": {"metric": "latency", "unit": "ms", "value": value, "better": "lower", "status": "ok"},
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
    }
    return json.dumps(record) + "\n"


@pytest.fixture
def layouts(empty_path: Path, tmp_path: Path) -> Workspace:
    file, chip = tmp_path / "cases.jsonl", tmp_path / "chip.yaml"
    file.write_text(moe(4, 8, 1) + moe(2, 4, 2) + moe(1, 1, 8) + moe(3, 2, 4))
    chip.write_text(
        "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - {id: acme-one, level: device, broader: acme, label: {en: Acme One}}\n"
    )
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        editor.ingest([file])
        editor.add_file("hardware", chip)
    return Workspace.open(empty_path, cache=tmp_path)


def asked(workspace: Workspace, k: int = 3, **more: Any) -> Any:
    raw = {
        "op": "moe_layer",
        "hardware": "acme-one",
        "shape": {"experts": 8, "inter": 128},
        "count": 8,
        **more,
    }
    problem, _ = workspace.problem(raw)
    return workspace.recommend(problem, k)


def test_the_best_known_configuration_comes_first(layouts: Workspace) -> None:
    answer = asked(layouts)
    first = answer.recommendations[0]
    assert first.configuration.to_json() == {"moe_tp_size": 1, "moe_ep_size": 8}
    assert first.flags == ("moe_ep_size=8", "moe_tp_size=1")
    assert first.gain is not None
    assert first.gain.low <= first.gain.expected <= first.gain.high
    assert first.gain.expected > 0
    assert "a/b" in first.evidence[0].source
    assert first.distance_class == "other_vendor"


def test_the_gain_is_against_the_current_configuration_where_that_is_known(layouts: Workspace) -> None:
    answer = asked(layouts, current={"moe_tp_size": 8, "moe_ep_size": 1})
    first = answer.recommendations[0]
    assert first.against == "the current configuration"
    assert first.gain.expected > asked(layouts).recommendations[0].gain.expected
    assert asked(layouts).recommendations[0].against == "the median configuration of similar cases"


def test_what_the_shape_cannot_split_is_refused_with_the_arithmetic(layouts: Workspace) -> None:
    answer = asked(layouts, shape={"experts": 4, "inter": 128})
    configurations = [item.configuration["moe_ep_size"] for item in answer]
    assert configurations
    assert 8 not in configurations
    assert any(item.reason == "experts is 4, not divisible by 8" for item in answer.refused)


def test_where_all_is_refused_the_rules_are_named(layouts: Workspace) -> None:
    with pytest.raises(InfeasibleError, match="expert parallel size divides the experts") as raised:
        asked(layouts, shape={"experts": 7, "inter": 127})
    assert raised.value.exit_code == 4


def test_what_was_never_decided_by_the_metric_is_not_answered(layouts: Workspace) -> None:
    with pytest.raises(NoEvidenceError, match="no case of moe_layer decided by energy") as raised:
        asked(layouts, objective="energy")
    assert raised.value.exit_code == 3


def test_an_unmeasured_current_configuration_changes_nothing_else(layouts: Workspace) -> None:
    first = asked(layouts, current={"moe_tp_size": 3}).recommendations[0]
    assert first.against == "the median configuration of similar cases"


def test_only_what_differs_from_the_current_configuration_is_set(layouts: Workspace) -> None:
    first = asked(layouts, current={"moe_tp_size": 1, "moe_ep_size": 4}).recommendations[0]
    assert first.configuration.to_json() == {"moe_ep_size": 8}


def test_no_configuration_is_told_twice(shipped: Workspace) -> None:
    for hardware in ("910b3", "ascend-910", "h100-sxm"):
        told = [item.configuration for item in ask(shipped, 20, hardware=hardware) if item.configuration]
        assert len(told) == len(set(told))


def test_a_strategy_that_does_not_fit_does_not_come_back_as_a_case(shipped: Workspace) -> None:
    def is_left_to_strategies(configuration: str, **question: Any) -> bool:
        problem, _ = shipped.problem({"phase": "training", "hardware": "910b3", **question})
        neighbours = shipped.snapshot.retriever.find(problem)
        rules = shipped.snapshot.recommender.feasibility.of(problem, {}, neighbours)
        cases = shipped.snapshot.recommender.cases.choose(problem, neighbours, 50, rules).recommendations
        ranked, _ = shipped.snapshot.recommender.strategies.rank(problem)
        [case] = [item for item in cases if str(item.configuration) == configuration]
        return shipped.snapshot.recommender._is_for_strategies(case, ranked, problem)

    # Fused SwiGLU is for models that have SwiGLU: BERT has none, and for LLaMA the strategy itself speaks.
    assert is_left_to_strategies("use_fused_swiglu=true", model="bert-large")
    assert is_left_to_strategies("use_fused_swiglu=true", model="llama-2-7b")
    assert not is_left_to_strategies("priority_scheduling=true", model="llama-2-7b", phase="serving")


def test_what_is_left_to_strategies_is_not_told_as_a_case(
    shipped: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StrategyRanker, "rank", lambda *_, **__: ([], []))
    monkeypatch.setattr(Planner, "plan", lambda *_, **__: None)
    answer = ask(shipped, 50, count=None)
    assert answer.plan is None
    told = {str(item.configuration) for item in answer}
    assert told
    assert "use_fused_swiglu=true" not in told


def test_no_gain_passes_the_ceiling_of_its_bottleneck(shipped: Workspace) -> None:
    answer = ask(shipped, 20, bottlenecks={"allreduce-wait": 0.28, "host-bound": 0.1})
    ceilings = {"collective-wait": -math.log1p(-0.28), "host-bound": -math.log1p(-0.1)}
    assert answer.ceiling == pytest.approx(-math.log1p(-0.38))
    observed = [item for item in answer if item.bottleneck]
    assert list(answer)[: len(observed)] == observed
    assert {item.bottleneck for item in observed} == ceilings.keys()
    for item in observed:
        assert item.ceiling == pytest.approx(ceilings[item.bottleneck])
        assert item.gain is None or item.gain.high <= ceilings[item.bottleneck] + 1e-12


def test_limits_are_listed_as_unchecked_and_notes_are_kept(shipped: Workspace) -> None:
    answer = ask(shipped, hardware="Ascend 910", limits=["peak_memory<=32GB", "accuracy_loss<=0.5%"])
    assert [limit.metric for limit in answer.unchecked] == ["accuracy_loss"]  # layouts are held to the other
    assert "Ascend 910 is taken as Ascend 910A" in answer.notes


def test_evidence_that_is_too_far_is_no_recommendation(
    layouts: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = asked(layouts)
    assert answer.abstention is None
    listed = list(answer.regret)
    assert listed == [k for k in LISTED if k <= len(answer.recommendations)]
    assert sorted(answer.regret.values(), reverse=True) == list(answer.regret.values())
    monkeypatch.setattr("recommender.answers.recommend.ABSTAIN_ABOVE", answer.regret[1] - 0.001)
    abstained = asked(layouts).abstention
    assert abstained is not None
    assert "another vendor" in abstained.reason
    ids = [item.id for item in answer]
    assert abstained.measure[0] == ids[0]
    assert len(abstained.measure) == 2
    assert set(abstained.measure) <= set(ids)
    said = asked(layouts).to_json()["abstained"]
    assert said["measure_next"] == list(abstained.measure)


def test_the_query_path_imports_no_search() -> None:
    script = (
        "import sys\n"
        "import recommender.answers.recommend, recommender.workspace, recommender.answers.explanation\n"
        "print([m for m in sys.modules if m.startswith('recommender.search') or m.split('.')[0] == 'optuna'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_short_json_keeps_the_decision_and_the_heads_of_lists(shipped: Workspace) -> None:
    answer = ask(shipped, 4)
    whole, short = answer.to_json(), answer.brief_json()
    kept = [
        {name: item.get(name) for name in ("where", "key", "value", "from")}
        for item in whole["start"]["settings"]
    ]
    assert [{name: item.get(name) for name in kept[0]} for item in short["start"]["settings"]] == kept
    assert not any("source" in item for item in short["start"]["settings"])
    assert short["start"]["paste"] == whole["start"]["paste"]
    assert short["not_here"] == whole["not_here"][:5]
    assert short["not_here_count"] == len(whole["not_here"])
    assert [item["id"] for item in short["changes"]] == [item["id"] for item in whole["changes"]]
    assert all(len(item["evidence"]) <= 1 for item in short["changes"])
    assert not any({"settings", "because"} & set(item) for item in short["alternatives"])
    assert not {"refused", "neighbours"} & set(short)
    assert "words" not in str(short["situation"])


def test_a_format_that_the_chip_lacks_is_infeasible_before_anything_is_planned(shipped: Workspace) -> None:
    with pytest.raises(InfeasibleError, match="the chip computes in the number format"):
        ask(shipped, model="llama-2-7b", phase="serving", precision="fp8")


KERNEL: dict[str, Any] = {
    "op": "gemm", "shape": {"M": 4096, "N": 4096, "K": 4096}, "hardware": "NVIDIA H100 PCIe",
}  # fmt: skip


def kernel(workspace: Workspace, **more: Any) -> Any:
    problem, notes = workspace.problem({**KERNEL, **more})
    return workspace.recommend(problem, notes=notes)


def test_a_kernel_is_planned_on_a_workspace_that_has_no_case_of_it(shipped: Workspace) -> None:
    answer = kernel(shipped)
    json = answer.to_json()
    start = {item["key"]: item["value"] for item in json["start"]["settings"]}
    assert start.keys() == {
        "BLOCK_SIZE_M",
        "BLOCK_SIZE_N",
        "BLOCK_SIZE_K",
        "GROUP_SIZE_M",
        "num_warps",
        "num_stages",
    }
    assert {start["BLOCK_SIZE_M"], start["BLOCK_SIZE_N"]} == {128, 256}
    assert json["start"]["fits"] is True
    assert json["recommendations"][0]["configuration"] == start
    assert json["abstained"] is None
    assert any("precision: taken as fp16" in note for note in answer.notes)


def test_devices_and_languages_get_kernels_of_their_own(shipped: Workspace) -> None:
    asked: list[dict[str, Any]] = [
        {"hardware": "ascend-910b3", "traits": {"language": "triton"}},
        {"hardware": "ascend-910b3", "traits": {"language": "ascend-c"}},
        {"hardware": "a100-sxm4-80gb"},
    ]
    keys = [frozenset(item.key for item in kernel(shipped, **one).plan.start.settings) for one in asked]
    assert len(set(keys)) == len(asked)
    assert not any("num_warps" in found for found in keys[:2])


def test_a_kernel_without_a_model_abstains_and_names_two_measurements(shipped: Workspace) -> None:
    with pytest.raises(NoEvidenceError, match="nothing says how fast") as error:
        kernel(shipped, op="fused_moe", hardware="ascend-910b3", shape={"M": 64, "N": 1024, "E": 8})
    assert "the smallest and the largest tile" in error.value.hint


def test_an_unknown_operator_is_told_its_neighbours(shipped: Workspace) -> None:
    with pytest.raises(UnknownEntityError) as error:
        kernel(shipped, op="gemmm")
    assert "gemm" in error.value.hint
    assert "matmul" in error.value.hint


def ingest(rows: list[Any], place: Path, folder: Path) -> None:
    """Cases on an H100 into an empty workspace."""
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Workspace.editor(place, cache=folder) as editor:
        add_hardware(editor, "nvidia", "h100-pcie")
        editor.ingest([folder / "cases.jsonl"])


def test_measured_cases_of_a_kernel_go_before_the_model(empty_path: Path, tmp_path: Path) -> None:
    record: dict[str, dict[str, object]] = {
        "task": {"kind": "kernel", "op": "gemm", "shape": KERNEL["shape"], "dtype": "float16"},
        "hardware": {"vendor": "nvidia", "name": "NVIDIA H100 PCIe"},
        "outcome": {"metric": "latency", "unit": "us", "better": "lower", "status": "ok"},
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
    }
    tile = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 4, "num_stages": 2}
    rows = [
        {**record, "config": {**tile, "num_warps": warps}, "outcome": {**record["outcome"], "value": value}}
        for warps, value in ((2, 300.0), (4, 200.0), (8, 400.0))
    ]
    ingest(rows, empty_path, tmp_path)
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        answer = kernel(workspace, precision="float16")
        assert answer.plan is None  # nothing modelled stands before or in what was timed
        first = answer.recommendations[0]
        assert first.configuration == Settings({**tile, "num_warps": 4})
        assert (first.tier, first.title) == ("measured here", "200 us, timed once, no spread")
        assert [item.configuration["num_warps"] for item in answer.recommendations] == [4, 2, 8]
        assert not answer.regret
        other = kernel(workspace, precision="float16", shape={**KERNEL["shape"], "N": 8192})
        assert {item.key for item in other.plan.start.settings} <= {*tile, "num_warps"}


def test_a_parameter_that_a_kernel_measured_here_has_not_is_in_no_answer_of_another_shape(
    empty_path: Path, tmp_path: Path
) -> None:
    names = {"BLOCK_SIZE", "num_warps", "num_stages"}
    rows = [
        {
            "task": {"kind": "kernel", "op": "softmax", "shape": {"M": 4096, "N": n}},
            "hardware": {"vendor": "nvidia", "name": "NVIDIA H100 PCIe"},
            "config": {"BLOCK_SIZE": 1024, "num_warps": warps, "num_stages": 1},
            "outcome": {
                "metric": "latency",
                "unit": "us",
                "better": "lower",
                "status": "ok",
                "value": n / warps,
            },
            "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
        }
        for n in (1024, 4096)
        for warps in (2, 4, 8)
    ]
    ingest(rows, empty_path, tmp_path)
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        found = kernel(workspace, op="softmax", shape={"M": 4096, "N": 2048})
        assert found.recommendations[0].configuration["num_warps"] == 8
        assert all(set(item.configuration) == names for item in found.recommendations)


MATMUL = {"tile_m": [64], "rows": [8], "tile_n": [32, 128], "tile_k": [32], "pack": [0, 1], "threads": [1, 2]}


def test_a_declared_space_bounds_what_is_known_of_a_kernel(shipped: Workspace) -> None:
    _, question = SearchDesk.declared_space("matmul")
    problem, _ = shipped.problem({**question, "hardware": "xeon-virtual-6-167", "objective": "kernel_time"})
    space = read_space({"parameters": {**MATMUL, "flags": ["-O2", "-O3"]}})
    found = [item.configuration for item in shipped.ask.recommend(problem, 3, space=space)]
    assert found
    assert all(space.violated(item) is None for item in found)
    assert found != [item.configuration for item in shipped.recommend(problem, 3)]
    with pytest.raises(NoEvidenceError, match="is a point of the space"):
        shipped.ask.recommend(problem, space=read_space({"parameters": {"tile_m": [64]}}))


def test_a_whole_model_has_no_declared_space(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="--space is the space of a kernel"):
        shipped.ask.recommend(shipped.problem(QUESTION)[0], space=read_space({"parameters": {"tile": [1]}}))
