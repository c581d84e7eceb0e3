"""Memory of a training step, beside the figures of documentation and of publications."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cost_models.training_memory import RESERVED
from kg.errors import InputError
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.facts.physics import PHYSICS, physics_of
from recommender.cost_model.settings.plans import CHOICES
from recommender.cost_model.workloads.memory_fit import memory_bytes
from tests.unit.recommender.cost_model.machines import model

PEAKS = Path(__file__).parents[5] / "benchmarks" / "cost_models" / "training_peaks.csv"


def parts(name: str = "llama-2-7b", devices: int = 8, **settings: object) -> dict[str, float]:
    said = {"seq_len": 4096, "micro_batch": 1, **settings}
    found = memory_bytes(model(name), "training", [said], devices, reserved=PHYSICS["gpu_reserved_bytes"])
    return {part: float(held[0]) for part, held in found.items()}


def total(name: str = "llama-2-7b", devices: int = 8, **settings: object) -> float:
    return sum(parts(name, devices, **settings).values())


def test_choices_and_their_bytes_are_in_one_order() -> None:
    assert tuple(physics_of("state_bytes")) == CHOICES["optimizer_kind"]
    assert tuple(physics_of("logit_bytes")) == CHOICES["loss_kind"]


def test_peaks_that_documentation_prints_are_met() -> None:
    with PEAKS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    off = []
    for row in rows:
        said = dict(word.split("=") for word in row["settings"].split())
        held = parts(
            row["model"], int(row["devices"]), seq_len=row["seq_len"], micro_batch=row["micro_batch"], **said
        )
        ours = sum(held.values()) - (held["reserved"] if row["reading"] != "device" else 0)
        if row["reading"] == "reserved":
            ours *= RESERVED["recompute" in said]
        off.append(abs(ours / 1e9 / float(row["peak_gb"]) - 1))
    assert len(rows) >= 48
    assert np.median(off) < 0.10
    assert np.mean(np.array(off) < 0.25) > 0.75


def test_zero_divides_what_its_paper_divides() -> None:
    # 2 + 4 + 12 bytes a parameter (Rajbhandari et al. 2020, with gradients kept in float32)
    held = [parts(zero_stage=stage, recompute="full") for stage in range(4)]
    assert held[0]["optimizer"] == pytest.approx(8 * held[1]["optimizer"])
    assert held[1]["gradients"] == pytest.approx(8 * held[2]["gradients"])
    llama = model("llama-2-7b")
    spread = 2 * llama.known_parameters / 8
    gathered = 2 * 2 * llama.layer_parameters + 2 * 2 * llama.vocabulary * llama.hidden
    assert held[3]["weights"] == pytest.approx(spread + gathered, rel=0.01)


@pytest.mark.parametrize(("stage", "offload"), [(2, "optimizer"), (3, "optimizer"), (3, "parameters")])
def test_what_is_offloaded_is_not_on_the_device(stage: int, offload: str) -> None:
    # 2 bytes a parameter remain of ZeRO 2, those of its share of ZeRO 3, the gathered blocks where weights go too
    held, kept = parts(zero_stage=stage, offload=offload), parts(zero_stage=stage)
    assert held["gradients"] == held["optimizer"] == 0
    assert (held["weights"] < kept["weights"]) == (offload == "parameters")
    assert held["activations"] == kept["activations"]


def test_an_optimiser_keeps_what_its_kind_keeps() -> None:
    held = {kind: parts(optimizer_kind=kind)["optimizer"] for kind in CHOICES["optimizer_kind"]}
    assert held["adam_8bit"] < held["sgd"] == held["lion"] == held["muon"] < held["adam"]
    half = parts(optimizer_kind="adam", pure_bf16=1)
    assert half["optimizer"] == pytest.approx(
        held["adam"] / 3
    )  # two moments of 2 bytes, no weight in float32


def test_a_reference_is_a_second_copy_of_the_weights_unless_adapters_are_trained() -> None:
    plain, paired, judged = (parts(objective_kind=kind) for kind in ("tokens", "pairs", "dpo"))
    assert judged["weights"] == 2 * plain["weights"] == 2 * paired["weights"]
    assert judged["activations"] == paired["activations"] == pytest.approx(2 * plain["activations"])
    assert judged["gradients"] == plain["gradients"]
    adapted = [parts(objective_kind=kind, lora_rank=8)["weights"] for kind in ("tokens", "dpo")]
    assert adapted[0] == adapted[1]


def test_four_bit_weights_beside_adapters_take_a_third() -> None:
    wide = parts(devices=1, lora_rank=16, recompute="full")
    narrow = parts(devices=1, lora_rank=16, recompute="full", frozen_bits=4)
    assert 0.28 < narrow["weights"] / wide["weights"] < 0.40
    assert (
        parts(devices=1, frozen_bits=4)["weights"] == parts(devices=1)["weights"]
    )  # what is trained is whole


def test_each_table_of_the_vocabulary_is_cast_once_beside_narrow_weights() -> None:
    sizes = model("llama-2-7b")
    tables = sizes.embeddings * sizes.vocabulary * sizes.hidden
    assert sizes.embeddings == 2
    for bits, size in physics_of("frozen_bytes").items():
        wide, narrow = (
            parts(devices=1, lora_rank=16, frozen_bits=one)["weights"] for one in (16, float(bits))
        )
        end = PHYSICS["cast_bytes"] if size < 2 else 2
        assert narrow == pytest.approx(size * (wide / 2 - tables) + end * tables)
    cast, kept = (parts(devices=2, lora_rank=16, frozen_bits=4, zero_stage=3, pure_bf16=n) for n in (0, 1))
    assert cast["weights"] == kept["weights"]  # where they are shared out they stay in 16 bit


def test_compressed_and_grouped_attention_keep_what_they_read() -> None:
    def block(**sizes: float) -> float:
        said = {"layers": 8, "hidden_size": 4096, "attention_heads": 32, "intermediate_size": 8192, **sizes}
        held = memory_bytes(model_of("one", "decoder", said), "training", [{"seq_len": 1024}], 1)
        return float(held["activations"][0]) / 8 / 1024

    # two norms and their results, queries, keys, values and output, what lies between three products
    whole = 2 * (4 * 4096 + 4 * 4096 + 3 * 8192)
    assert block() == pytest.approx(whole)
    assert block(kv_heads=4) == pytest.approx(whole - 2 * 2 * (4096 - 4 * 128))
    wide = block(kv_lora_rank=512, q_lora_rank=1536, qk_nope_head_dim=128, v_head_dim=128)
    assert wide == pytest.approx(
        whole + 2 * (2 * 32 * 64 + 2 * (1536 + 576))
    )  # rotary parts, compressed rows


def test_rows_of_experts_are_gathered_for_each_that_a_token_chooses() -> None:
    few = total("qwen3-30b-a3b", ep=8, zero_stage=1)
    assert total("qwen3-30b-a3b", ep=8, zero_stage=1, seq_len=8192) > few
    held = parts("qwen3-30b-a3b", ep=8)["activations"] / 4096 / 48
    assert held > 8 * (4 * 2048 + 6 * 768)


def test_experts_may_be_split_apart_from_attention() -> None:
    told = {"tp": 4, "ep": 2, "zero_stage": 1}
    follows, whole, cut = (parts("qwen3-30b-a3b", **told, **more) for more in ({}, {"etp": 1}, {"etp": 4}))
    routed = 2 * model("qwen3-30b-a3b").routed_parameters
    assert whole["weights"] - cut["weights"] == pytest.approx(routed * (1 / 2 - 1 / 8))
    assert follows["weights"] == pytest.approx(whole["weights"] - routed * (1 / 2 - 1 / 4))
    with pytest.raises(InputError, match="its tensor split must divide"):
        parts("qwen3-30b-a3b", **told, etp=8)


def test_blocks_that_are_not_computed_again_keep_all() -> None:
    full, eight, none = (parts(recompute="full", recompute_layers=n)["activations"] for n in (0, 8, 1e-9))
    assert (eight - full) / (none - full) == pytest.approx(24 / 32)


def test_states_of_experts_are_spread_over_the_copies_of_experts_alone() -> None:
    apart, twice = (parts("qwen3-30b-a3b", devices, ep=8, zero_stage=1) for devices in (8, 16))
    mixture = model("qwen3-30b-a3b")
    both = 2 * mixture.vocabulary * mixture.hidden  # two tables, of which parameters count one
    dense = mixture.parameters - mixture.routed_parameters + both / 2
    assert apart["optimizer"] == pytest.approx(12 * (dense / 8 + mixture.routed_parameters / 8))
    assert twice["optimizer"] == pytest.approx(12 * (dense / 16 + mixture.routed_parameters / 16))
    assert apart["gradients"] == twice["gradients"]


H100_PEAKS = {
    # torch.cuda.max_memory_allocated of PyTorch 2.11 and Transformers 5 on one H100, random weights, bytes / 1e9
    ("qwen2-5-1-5b", 4, 2048, "pure_bf16=1"): 48.1,
    ("qwen2-5-1-5b", 4, 2048, "autocast=1"): 64.1,
    ("qwen2-5-1-5b", 4, 2048, "pure_bf16=1 recompute=full"): 25.1,
    ("qwen2-5-1-5b", 8, 2048, "autocast=1 recompute=full"): 52.0,
    ("llama-3-2-1b", 8, 1024, "pure_bf16=1"): 34.5,
    ("bert-large", 16, 512, "autocast=1"): 15.9,
}


@pytest.mark.parametrize(("asked", "peak_gb"), H100_PEAKS.items())
def test_what_transformers_allocates_on_a_gpu(asked: tuple[str, int, int, str], peak_gb: float) -> None:
    name, batch, length, words = asked
    said: dict[str, object] = {"fused_ops": 0, "loss_kind": "float32", "autocast": 1}
    said.update(dict(word.split("=") for word in words.split()))
    held = parts(name, 1, seq_len=length, micro_batch=batch, global_batch=batch, **said)
    ours = (sum(held.values()) - held["reserved"]) / 1e9
    assert ours == pytest.approx(peak_gb, rel=0.08)
