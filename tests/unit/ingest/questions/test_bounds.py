"""Numbers of a question: what can be stays, what nothing can be is refused by name."""

import pytest

from ingest.questions.bounds import (
    LARGEST_SYSTEM,
    check_room,
    check_settings,
    check_sizes,
    check_traits,
    device_count,
    with_own_count,
)
from kg.errors import InputError
from kg.nouns.values import Value


@pytest.mark.parametrize("stated", [None, 1, 8, 1000, LARGEST_SYSTEM])
def test_a_number_of_devices_that_a_system_has(stated: int | None) -> None:
    assert device_count(stated) == stated


@pytest.mark.parametrize("stated", [0, -1, True, 1.5, "8", LARGEST_SYSTEM + 1, 10**18])
def test_a_number_of_devices_that_no_system_has(stated: object) -> None:
    with pytest.raises(InputError, match=r"^count: "):
        device_count(stated)


@pytest.mark.parametrize(
    "settings",
    [
        {"tensor_parallel": 8, "max_num_seqs": 256, "max_model_len": 40960},
        {"max_model_len": -1, "dp": -1, "max_num_seqs": 10**18},
        {"own_knob": 0, "HCCL_BUFFSIZE": -7, "request_rate_of_a_test": "inf"},
        {"enforce_eager": True, "gpu_memory_utilization": 0.9, "quantization": "ascend", "empty": None},
    ],
)
def test_settings_that_programs_run_with(settings: dict[str, Value]) -> None:
    check_settings(settings)


@pytest.mark.parametrize("key", ["current", "shape", "traits", "software", "bottlenecks", "sizes", "limits"])
def test_more_than_any_question_has(key: str) -> None:
    entries = [f"own_{number}" for number in range(501)]
    check_room({key: dict.fromkeys(entries[:500], 1), "notes": entries, "origins": dict.fromkeys(entries, 1)})
    for content in (entries, dict.fromkeys(entries, 1)):
        with pytest.raises(InputError, match=f"^{key}: 501 entries; at most 500 are read"):
            check_room({key: content})


def test_one_size_in_two_spellings_is_one_value() -> None:
    check_settings({"tp_size": 4, "tensor_parallel_size": "4", "dtype": "half", "quantization": "fp8"})
    with pytest.raises(InputError, match="current: tp-size is 4 and tp 8: both say devices that share"):
        check_settings({"tp-size": 4, "tp": 8})


def test_a_size_that_a_file_leaves_to_its_reader_contradicts_nothing() -> None:
    sizes: dict[str, Value] = {"per_device_train_batch_size": 2, "train_micro_batch_size_per_gpu": "auto"}
    for told in (sizes, dict(reversed(sizes.items()))):
        check_settings(told)


def test_turns_without_a_pipeline_give_way_to_those_of_one() -> None:
    """MindFormers has both in its files, and reads the first where layers are in one stage."""
    check_settings(
        {"parallel_config.micro_batch_num": 8, "runner_config.gradient_accumulation_steps": 1}, "mindformers"
    )


def test_a_name_says_what_its_program_means_by_it() -> None:
    settings: dict[str, Value] = {"parallel": 4, "batch_size": 512}
    check_settings(settings, "llama.cpp")  # whose batch is of tokens, beside four users
    with pytest.raises(InputError, match="batch_size is 512 and max_num_seqs 4"):
        check_settings({"batch_size": 512, "max_num_seqs": 4}, "vllm")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tensor_parallel", 0),
        ("tp", -2),
        ("--tensor-parallel-size", "0"),
        ("max_num_seqs", 0),
        ("max_model_len", "nan"),
        ("global_batch_size", "-Infinity"),
    ],
)
def test_settings_that_no_program_runs_with(name: str, value: Value) -> None:
    with pytest.raises(InputError, match=rf"^current: {name}"):
        check_settings({name: value})


@pytest.mark.parametrize(
    "traits", [{"concurrency": 1, "shared_prefix_share": 0, "nodes": 2}, {"whatever": -4, "dataset": "long"}]
)
def test_facts_that_can_be(traits: dict[str, Value]) -> None:
    check_traits(traits)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0),
        ("concurrency", -1),
        ("nodes", 0),
        ("nodes", "many"),
        ("shared_prefix_share", 1.5),
        ("shared_prefix_share", -0.1),
        ("whatever", "nan"),
        ("whatever", "inf"),
    ],
)
def test_facts_that_cannot_be(name: str, value: Value) -> None:
    with pytest.raises(InputError, match=rf"^trait: {name}"):
        check_traits({name: value})


@pytest.mark.parametrize("value", [None, "", -1, "nan", "1e999", 1e308, True])
def test_sizes_that_cannot_be(value: Value) -> None:
    with pytest.raises(InputError, match=r"^(shape: )?seq_len"):
        check_sizes({"seq_len": value})


def test_a_load_is_of_one_request_at_least() -> None:
    check_sizes({"concurrency": 1, "input_len": 0})
    with pytest.raises(InputError, match="concurrency is 0; it is 1 or more"):
        check_sizes({"concurrency": 0})


@pytest.mark.parametrize(
    ("named", "device", "count"),
    [
        ("8xH100", "H100", 8), ("4 x 910B3", "910B3", 4), ("2*Ascend 910B", "Ascend 910B", 2),
        ("910B3 x 4", "910B3", 4), ("H100-SXM*8", "H100-SXM", 8), ("16×B200", "B200", 16),
        ("RTX 3090", "RTX 3090", None), ("mi300x", "mi300x", None), ("8x", "8x", None),
    ],
)  # fmt: skip
def test_hardware_that_is_named_with_its_count(named: str, device: str, count: int | None) -> None:
    told = with_own_count({"hardware": named, "model": "a"})
    assert (told["hardware"], told.get("count")) == (device, count)
    assert with_own_count(told) == told


def test_two_counts_of_hardware_contradict_each_other() -> None:
    assert with_own_count({"hardware": "4xH100", "count": 4})["count"] == 4
    with pytest.raises(InputError, match="'4xH100' is 4 devices, and the count is 2"):
        with_own_count({"hardware": "4xH100", "count": 2})
