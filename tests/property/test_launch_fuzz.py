"""Whatever a text is, a reader of launches tells what it says or names what is wrong; it never breaks."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import LaunchFacts, merge_facts
from ingest.questions.launches.model_config import SIZES, read_config
from ingest.questions.smi import read_smi
from kg.errors import InputError

WORDS = st.sampled_from(
    [
        "torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", "--num-layers", "vllm", "serve", "a/B", "-tp", "4",
        "--x={\"a\": {\"b\": 1}}", "python", "-m", "sglang.launch_server", "--model-path", "$X", "${Y:-2}", "$(id)",
        "\\\n", "'a b'", '"$Z"', "export", "A=1", "bash", "-c", "msrun", "--", "--=", "-", "\n", ";", "&&", "`", "(", "{",
    ]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SIZES, "hidden_size", "x"]), inner)
    ),
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


@given(st.lists(st.sampled_from(
    ["| 0     910B3               | OK            |", "| 0    | 0000:C1:00.0  | 0  0 / 0  3162 / 65536 |", "name", "NVIDIA L4,",
     "|   0  NVIDIA L4          On  | 00000000:07:00.0 Off |", "4MiB / 81920MiB", "GPU 0: NVIDIA L4 (UUID: x)", ",,", ""]),
    max_size=8))  # fmt: skip
def test_lines_of_device_tools_in_any_order(lines: list[str]) -> None:
    tells(read_smi, "\n".join(lines))
