"""Mutated real files: whatever is in them, a reader answers with cases and faults."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingest.door.records import NameResolver
from ingest.reading import FileReport, discover, read
from kg.errors import InputError
from kg.nouns.entities import Case

SAMPLES = (
    "optuna/journal.log",
    "optuna/trials_dataframe.csv",
    "optuna/studies.sqlite3",
    "mlflow_wandb_csv/mlflow_search_runs.csv",
    "mlflow_wandb_csv/wandb_export.csv",
    "argonne_csv/power_results_A100.csv",
    "llmperf/anyscale_7b.json",
    "mlperf_mllog/result_0.EXCERPT.txt",
    "nemo_recommended_configs/model_configs_b200.csv",
    "markdown_tables/flagperf_zh_training_nvidia_retinanet-pytorch.md",
    "markdown_tables/flagperf_zh_operation_benchmarks_tanh_iluvatar_BI150.md",
    "markdown_tables/llm-foundry_training_benchmarks.md",
    "markdown_tables/megatron_bridge_performance.md",
    "mindformers/llama3_1_README.md",
    "mindformers/finetune_llama3_1_70b.yaml",
    "ascend_serving_recipes/sglang_ascend_best_practice.EXCERPT.mdx",
    "ray_tune/conv_a4000/objective_00000_0_2023-12-22_10-00-11/result.json",
    "ray_tune/conv_a4000/objective_00006_6_2023-12-22_10-06-11/params.json",
)
PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"1e999",
    b"-1",
    b"null",
    b'"',
    b"\n",
    b",",
    b"|",
    b"{",
    b"[",
    b"NaN",
    b"9" * 400,
)


def mutated(raw: bytes, seed: int) -> bytes:
    """Some bytes of a file cut out, doubled, replaced or filled with what hurts."""
    chance = random.Random(seed)
    data = bytearray(raw)
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(data) + 1)
        length = chance.choice((1, 3, 40, 2000))
        match chance.randrange(4):
            case 0:
                del data[at : at + length]
            case 1:
                data[at:at] = data[at : at + length]
            case 2:
                data[at:at] = chance.choice(PIECES)
            case _:
                data[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(data)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_mutated_file_never_raises(names: NameResolver, shared: Path, tmp_path: Path, sample: str) -> None:
    source = shared / "formats" / sample
    folder = tmp_path / "exp_a100"
    for file in source.parent.iterdir():
        if file.is_file() and file.stat().st_size < 200_000:
            (folder / "trial").mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / "trial" / file.name)
    raw = source.read_bytes()
    target = folder / "trial" / source.name

    @example(seed=4296, hardware="")  # a damaged schema, quoted in SQLite's message
    @given(seed=st.integers(0, 2**32), hardware=st.sampled_from(["", "A100"]))
    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def check(seed: int, hardware: str) -> None:
        target.write_bytes(mutated(raw, seed))
        reports = []
        for item in read([folder], names, hardware=hardware):
            assert isinstance(item, Case | FileReport)
            if isinstance(item, FileReport):
                reports.append(item)
        mine = next(report for report in reports if report.path.name == source.name)
        assert all(fault.reason for fault in mine.faults)
        assert mine.bad >= len(mine.faults)

    check()


def test_a_pickle_is_named_and_not_loaded(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_bytes(b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(InputError, match="a pickle: never loaded"):
        discover([tmp_path / "study.csv"])
