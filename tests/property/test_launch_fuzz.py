"""Whatever a text is, a reader of launches tells what it says or names what is wrong; it never breaks."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.questions.checkpoints.model_facts import KEYS
from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import LaunchFacts, merge_facts
from ingest.questions.launches.mindformers import read_mindformers
from ingest.questions.launches.model_config import SIZES, read_config
from ingest.questions.smi import read_smi
from kg.errors import InputError
from tests.quiet_machine import cpu_seconds

WORDS = st.sampled_from(
    [
        "torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", "--num-layers", "vllm", "serve", "a/B", "-tp", "4",
        "--x={\"a\": {\"b\": 1}}", "python", "-m", "sglang.launch_server", "--model-path", "$X", "${Y:-2}", "$(id)",
        "\\\n", "'a b'", '"$Z"', "export", "A=1", "bash", "-c", "msrun", "--", "--=", "-", "\n", ";", "&&", "`", "(", "{",
    ]
)  # fmt: skip
NETWORK = {"num_hidden_layers": 10**9, "hidden_size": 8, "num_attention_heads": 2}
NAMES = [
    *(key for keys in (*SIZES.values(), *KEYS.values()) for key in keys[:1]), "x", "compress_ratios", "layer_types",
    "linear_attn_config", "full_attn_layers", "quantization_config", "config_groups", "sparse_attention_config",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=10,
)


def tells(read: object, text: str) -> None:
    try:
        told, fault = read(text, "text"), "text: "  # type: ignore[operator]
    except InputError as refused:
        told, fault = None, str(refused)
    assert fault.startswith("text: ")
    if told is not None:
        assert isinstance(told, LaunchFacts)
        assert "\\x00" not in repr(told) or "\0" in text
        json.dumps(merge_facts([told]))


@given(st.lists(WORDS, max_size=25))
@settings(max_examples=300)
def test_words_of_commands_in_any_order(words: list[str]) -> None:
    tells(read_launch, " ".join(words))


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    for read in (read_launch, read_config, read_smi):
        tells(read, text)


@given(JSON)
def test_any_json_as_a_config(content: object) -> None:
    tells(read_config, json.dumps(content))
    tells(read_config, json.dumps(NETWORK | content if isinstance(content, dict) else NETWORK))


@given(st.lists(st.sampled_from(
    ["| 0     910B3               | OK            |", "| 0    | 0000:C1:00.0  | 0  0 / 0  3162 / 65536 |", "name", "NVIDIA L4,",
     "|   0  NVIDIA L4          On  | 00000000:07:00.0 Off |", "4MiB / 81920MiB", "GPU 0: NVIDIA L4 (UUID: x)", ",,", ""]),
    max_size=8))  # fmt: skip
def test_lines_of_device_tools_in_any_order(lines: list[str]) -> None:
    tells(read_smi, "\n".join(lines))


@pytest.mark.parametrize("factor", [".nan", ".inf", "-1", "1e300", "0x" + "f" * 400_000, "1" + "0" * 400])
@pytest.mark.parametrize("name", ["hidden_size", "ffn_dim_multiplier", "multiple_of", "seq_length"])
def test_any_number_in_a_task_of_mindformers(name: str, factor: str) -> None:
    sizes = {"num_layers": "2", "num_heads": "2", "hidden_size": "8", name: factor}
    text = "model:\n  model_config:\n" + "".join(f"    {key}: {value}\n" for key, value in sizes.items())
    tells(lambda text, place: read_mindformers(text.encode(), place), text)


SERVE = "vllm serve a/B "
PYTHON = "from vllm import LLM\nLLM(model='a/B', x={})\n"
GROWING = {
    "arrays that double": "a=(x x)\n" + 'a=("${a[@]}" "${a[@]}")\n' * 40 + SERVE + '"${a[@]}"',
    "an array often": f"a=({'x ' * 4000})\n" + SERVE + '"${a[@]}" ' * 20_000,
    "many exports": f"export {' '.join(f'A{n}=1' for n in range(40_000))}\n" + "b\n" * 15_000 + SERVE,
    "a text run often": f"A='{'x;' * 20_000}'\n" + 'bash -c "$A"\n' * 3000 + SERVE,
    "defaults in defaults": SERVE + "${a:-" * 3000,
    "arguments in one line": "non-default args: {'a': 1}" * 30_000,
    "a key that is a list": "non-default args: {[1]: 2}\n",
    "a dictionary of them": PYTHON.format("{[1]: 2}"),
    "a long chain": PYTHON.format(".".join("a" * 700)),
    "a long sum": PYTHON.format("+".join("z" * 900)),
}
SETTINGS = {
    "long key": "a." * 100_000 + "b=1", "deep": "a=" + "[" * 5000, "long number": "a=" + "9" * 5000,
}  # fmt: skip


def told_in_time(text: str, beside: str = "") -> None:
    began = time.process_time()
    with suppress(InputError):
        read_launch(text, "text", beside=lambda name: beside if name.endswith(".toml") else None)
    took = time.process_time() - began
    assert took < 5 or took < cpu_seconds(5)


@pytest.mark.parametrize("name", GROWING)
def test_a_text_that_grows_is_told_or_refused_in_time(name: str) -> None:
    told_in_time(GROWING[name])


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_no_reader_holds_are_refused(name: str) -> None:
    told_in_time("torchrun -m torchtitan.train --job.config_file a.toml", SETTINGS[name])
