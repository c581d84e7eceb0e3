"""Variables that reach a program."""

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.variables import batch_job, settings_among, visible_devices


def test_variables_of_the_script_are_no_settings() -> None:
    text = "export VLLM_MAX_MODEL_LEN=64\nexport HCCL_BUFFSIZE=200\nexport OTHER=1\nvllm serve a/B --max-model-len $VLLM_MAX_MODEL_LEN"
    assert read_launch(text, "c").question["current"] == {
        "HCCL_BUFFSIZE": 200,
        "OTHER": 1,
        "max_model_len": 64,
    }
    used = "export HCCL_BUFFSIZE=200\necho $HCCL_BUFFSIZE\nvllm serve a/B"
    assert read_launch(used, "c").question["current"] == {"HCCL_BUFFSIZE": 200}


def test_what_is_exported_does_not_reach_a_container_by_itself() -> None:
    text = (
        "export A=1\nexport B=2\ndocker run -e A -e C=3 --env=D=4 --gpus '\"device=0,1\"' img vllm serve $M"
    )
    told = read_launch(text, "c").question
    assert told["current"] == {"A": 1, "C": 3, "D": 4}
    shell = "docker run -e C=3 img bash -c 'export E=5; vllm serve a/B'"
    assert read_launch(shell, "c").question["current"] == {"C": 3, "E": 5}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("#SBATCH -N 16\n#SBATCH --gpus-per-node=8", (16, 8, "")),
        ("#SBATCH --nodes=2\n#SBATCH --gres=gpu:h100:4", (2, 4, "h100")),
        ("#SBATCH --gres=gpu:4", (1, 4, "")),
        ("#SBATCH -N4\n#SBATCH --gpus 32", (4, 8, "")),
        ("#SBATCH --time=1", (0, 0, "")),
    ],
)
def test_batch_jobs(lines: str, expected: tuple[int, int, str]) -> None:
    assert batch_job(lines) == expected


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("nvidia.com/gpu", "2", 2),
        ("huawei.com/Ascend910", "8", 8),
        ("reservations/gpu", "1", 1),
        ("reservations/gpu", "all", None),
        ("rdma/hca", "4", None),
        ("nvidia.com/gpu", "9" * 12, None),
    ],
)
def test_the_devices_of_a_container_are_visible(name: str, value: str, shown: int | None) -> None:
    assert visible_devices({name: value}) == shown
    assert settings_among({name: value}, frozenset(), "vllm") == {}
