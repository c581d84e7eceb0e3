"""Measures the error of the cost model on this machine's accelerator: operators and training steps.

    python -m benchmarks.cost_models.own_gpu --hardware h100-sxm [--tables DIR] [--quick]

Products and attention are timed as replays of a captured graph (elsewhere as calls, one after the other), with six
copies of what is read in turn; training steps of networks with random weights need Transformers, and tell the most that
was allocated. ``--tables`` keeps what was measured, in the columns of ``tunegraph calibrate``. The seed draws
the shapes, so that two weeks measure others. Without an accelerator the processor runs the short form, as a test.

``h100_operators`` is what the constants of NVIDIA's GPUs were fitted to: one H100 80GB HBM3 (SXM, 700 W, driver 580, CUDA
13.0, PyTorch 2.11, Transformers 5.17, clocks as found), 2026-11-27, other shapes than here. ``training_steps.csv`` there:
``amp`` is float32 weights under autocast, ``bf16`` all in 16 bit, ``lora`` rank 16 of PEFT without autocast, ``lora_amp``
with; gigabytes are 1e9 bytes of PyTorch's allocator.
"""

import csv
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.worlds.shipped import ShippedKnowledge
from recommender.cost_model.estimate import estimate
from recommender.cost_model.machine import Machine
from recommender.cost_model.operators.kinds import KINDS, shipped

COPIES = 6
PAIRS = (
    (5120, 2560), (2560, 6912), (7168, 2048), (37888, 3584), (3584, 18944), (4608, 3584), (12288, 4096),
    (4096, 12288), (2048, 7168), (16384, 5120), (5120, 25600), (1280, 1280), (2560, 2560),
)  # fmt: skip
HEADS = ((28, 4, 128), (24, 8, 128), (32, 8, 64), (16, 2, 128), (64, 4, 128))
STEPS: tuple[tuple[str, int, int, dict[str, object]], ...] = (
    ("qwen2-5-0-5b", 8, 1024, {}), ("qwen2-5-1-5b", 4, 2048, {"pure_bf16": 1}),
    ("qwen2-5-1-5b", 8, 1024, {"pure_bf16": 1, "recompute": "full"}), ("llama-3-2-1b", 4, 1024, {}),
    ("llama-3-2-1b", 8, 2048, {"recompute": "full"}), ("qwen2-5-3b", 2, 1024, {"pure_bf16": 1}),
)  # fmt: skip
"""Model, batch, length and settings of training steps."""


def microseconds(calls: Sequence[Callable[[], object]], torch: Any, place: str) -> float:
    """Median time of a call, of calls that read different memory."""
    for call in calls:
        call()
    if place != "cuda":
        began = time.perf_counter()
        for call in calls:
            call()
        return (time.perf_counter() - began) / len(calls) * 1e6
    torch.cuda.synchronize()
    graph, ends = torch.cuda.CUDAGraph(), [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times: list[float] = []
    for _ in range(15):
        ends[0].record()
        graph.replay()
        ends[1].record()
        ends[1].synchronize()
        times.append(ends[0].elapsed_time(ends[1]) * 1e3 / len(calls))
    return statistics.median(times[3:])


def operators(torch: Any, place: str, rng: np.random.Generator, *, few: bool) -> dict[str, list[list[float]]]:
    """Shapes and times of products and attention, by the name of their table."""
    from torch.nn import functional

    found: dict[str, list[list[float]]] = {"matmul_bf16": [], "attention_prefill": [], "attention_decode": []}

    attend = functional.scaled_dot_product_attention

    def made(*shape: int) -> Any:
        return torch.randn(*shape, device=place, dtype=torch.bfloat16)

    for n, k in PAIRS[11:12] if few else PAIRS:
        weights = [made(n, k) for _ in range(COPIES)]
        for m in np.unique(np.exp(rng.uniform(0, np.log(32 if few else 8192), 3 if few else 12)).astype(int)):
            x = made(int(m), k)
            calls = [lambda w=w, x=x: functional.linear(x, w) for w in weights]
            found["matmul_bf16"].append([int(m), n, k, microseconds(calls, torch, place)])
    for (heads, kv, size), length in itertools.product(
        HEADS[2:3] if few else HEADS, (128,) if few else (512, 1500, 4096)
    ):
        for batch in (1,) if few else (1, 4, 16):
            q, (k, v) = made(batch, heads, length, size), (made(batch, kv, length, size) for _ in range(2))
            pairs = [(k, v), *((made(*k.shape), made(*k.shape)) for _ in range(COPIES - 1))]
            shape = [batch, length, heads, kv, size]
            whole = [lambda q=q, k=k, v=v: attend(q, k, v, is_causal=True, enable_gqa=True)] * 3
            last = [lambda q=q[:, :, -1:], k=k, v=v: attend(q, k, v, enable_gqa=True) for k, v in pairs]
            found["attention_prefill"].append([*shape, microseconds(whole, torch, place)])
            found["attention_decode"].append([*shape, microseconds(last, torch, place)])
    return found


def training_step(
    torch: Any, place: str, facts: dict[str, Any], batch: int, length: int, said: dict[str, Any]
) -> tuple[float, float]:
    """Seconds of a training step as a loop with Transformers runs it, and the gigabytes that it allocated."""
    import transformers

    config = transformers.Qwen2Config(
        hidden_size=facts["hidden_size"], intermediate_size=facts["intermediate_size"],
        num_hidden_layers=facts["layers"], num_attention_heads=facts["attention_heads"],
        num_key_value_heads=facts["kv_heads"], vocab_size=facts["vocabulary_size"], tie_word_embeddings=True,
    )  # fmt: skip
    pure = bool(said.get("pure_bf16"))
    with torch.device(place):
        model = transformers.Qwen2ForCausalLM(config).to(torch.bfloat16 if pure else torch.float32)
    if said.get("recompute"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.config.use_cache = False
    model.train()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=place == "cuda")
    ids = torch.randint(0, facts["vocabulary_size"], (batch, length), device=place)
    times = []
    for turn in range(9 if place == "cuda" else 2):
        if turn == 2 and place == "cuda":
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        with torch.autocast(place, torch.bfloat16, enabled=not pure):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        adam.step()
        adam.zero_grad(set_to_none=True)
        loss.item()
        times.append(time.perf_counter() - began)
    peak = torch.cuda.max_memory_allocated() / 1e9 if place == "cuda" else float("nan")
    return statistics.median(times[-6:]), peak


def off(ours: NDArray[np.float64], measured: NDArray[np.float64]) -> dict[str, float | None]:
    """Median error in per cent, share within 25 %, and how much longer ours is."""
    ratio = ours / measured
    error = 100 * np.abs(ratio - 1)
    return {
        "n": len(ratio), "median": round(float(np.median(error)), 1),
        "within_25": harness.mean(error <= 25, 3), "ours_over_measured": round(float(np.median(ratio)), 2),
    }  # fmt: skip


def steps(torch: Any, place: str, known: ShippedKnowledge, here: Machine, *, few: bool) -> dict[str, Any]:
    """Errors of time and memory of training steps."""
    rows = []
    for name, batch, length, said in () if few else STEPS:
        priced = estimate(
            model=known.sizes(name), machine=here, phase="training", engine="transformers",
            settings=[{"micro_batch": batch, "seq_len": length, "global_batch": batch, **said}],
        )  # fmt: skip
        held = {part: float(value[0]) / 1e9 for part, value in priced.memory_bytes.items()}
        found = training_step(torch, place, known.model_facts(name), batch, length, said)
        rows.append((float(priced.time_s[0]), found[0], sum(held.values()) - held["reserved"], found[1]))
        print(
            f"  {name} {batch} x {length} {said}: {rows[-1][0]:.3f} for {found[0]:.3f} s, "
            f"{rows[-1][2]:.1f} for {found[1]:.1f} GB"
        )
        gc.collect()
        if place == "cuda":
            torch.cuda.empty_cache()
    table = np.array(rows).reshape(-1, 4)
    if not len(table):
        return {}
    return {"training_time": off(table[:, 0], table[:, 1]), "training_peak": off(table[:, 2], table[:, 3])}


def main() -> None:
    """Measure, price, compare."""
    chosen = harness.read(
        __doc__,
        harness.option("--hardware", required=True, help="this device, as tunegraph names it"),
        harness.option("--tables", type=Path, help="folder for what was measured"),
    )
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"
    few = chosen.quick or place == "cpu"
    known = ShippedKnowledge.load()
    here = known.machine(known.names.hardware(chosen.hardware).id, 1, "")
    figures: dict[str, Any] = {}
    for stem, rows in operators(torch, place, np.random.default_rng(chosen.seed), few=few).items():
        table = np.array(rows)
        figures[stem] = off(shipped()[stem].times_us(here.device, table[:, :-1]), table[:, -1])
        if chosen.tables:
            chosen.tables.mkdir(parents=True, exist_ok=True)
            with (chosen.tables / f"{stem}.csv").open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows([[*KINDS[stem].columns, "measured_us"], *rows])
    figures |= steps(torch, place, known, here, few=few)
    chosen.last_line(figures, n=sum(one["n"] for one in figures.values()))


if __name__ == "__main__":
    main()
