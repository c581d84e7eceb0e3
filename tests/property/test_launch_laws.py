"""Laws of launches: each form says the same, a start reads back as what was read, no program is guessed.

Flags, their types and choices are drawn from the releases' own registries, values from what a shell, JSON and YAML
can hold; forms are written here, not by the product.
"""

import json
import shlex
from dataclasses import replace

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.program import program_signs
from ingest.questions.launches.serving import NOT_TUNED
from kg.errors import InputError
from kg.nouns.setting import Setting, SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings, Value
from kg.terms.meanings import meaning_of, plain_name
from kg.terms.setting_registry import registry
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.current_settings import with_current
from recommender.ranking.starts.launchable import launchable
from recommender.ranking.starts.writing import switched
from tests.unit.recommender.ranking.starts.situations import screen, situation
from tools.oracle.judge import judge

PROGRAM, VERSION = "vllm", "0.18.0"
RELEASE = registry(PROGRAM).at(VERSION)
PLAIN = [
    item
    for item in RELEASE
    if item.place is SettingPlace.FLAG
    and item.type in {"bool", "int", "float", "str"}
    and plain_name(item.key) not in NOT_TUNED
    and meaning_of(item.key, PROGRAM) is None  # sizes decide devices, which other laws hold
    and (item.type != "bool" or item.negation)
    and not item.conflicts
]
TEXTS = st.text("abcXYZ019 _./:=,'\"$#*()é", min_size=1, max_size=12).filter(
    lambda text: text.strip() == text and text[0] not in "-{[" and not _is_number(text) and "$XYZ" not in text
)
NAMES = st.from_regex(r"[a-z][a-z_]{2,8}", fullmatch=True)
OBJECTS = st.recursive(
    st.booleans() | st.integers(-9, 999) | TEXTS | st.none() | st.lists(st.integers(0, 9), max_size=3),
    lambda inner: st.dictionaries(NAMES | st.sampled_from(["a.b", "enabled"]), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in {"True", "False", "None", "null", "nan", "inf"}
    return True


@st.composite
def flags(draw: st.DrawFn) -> dict[str, Value]:
    """Some flags of the release with values that it takes, by key."""
    chosen = draw(st.lists(st.sampled_from(PLAIN), max_size=6, unique_by=lambda item: item.key))
    return {item.key: draw(_value(item)) for item in chosen}


def _value(item: Setting) -> st.SearchStrategy[Value]:
    if item.type == "bool":
        return st.booleans()
    if item.choices:
        texts = [choice for choice in item.choices if isinstance(choice, str) and not _is_number(choice)]
        return st.sampled_from(texts) if texts else st.just(item.choices[0])
    if item.type == "str":
        return TEXTS
    low, high = int(item.low or 1), int(item.high if item.high is not None else 9999)
    return st.integers(low, max(low, high))


def words_of(given: dict[str, Value]) -> list[str]:
    """The words of a command line."""
    words: list[str] = []
    for key, value in given.items():
        if isinstance(value, bool):
            words.append(key if value else f"--no-{key.removeprefix('--')}")
        else:
            words += [key, str(value)]
    return words


def current(text: str, **more: object) -> dict[str, object]:
    told = read_launch(text, "c", **more).question  # type: ignore[arg-type]
    assert (told["model"], told["software"]) == ("a/B", {PROGRAM: ""})
    found = told["current"]
    assert isinstance(found, dict)
    return found


@given(flags())
@settings(max_examples=60, deadline=None)
def test_every_form_of_a_launch_says_the_same(given: dict[str, Value]) -> None:
    words = words_of(given)
    expected = {plain_name(key): value for key, value in given.items()}
    assert current(f"vllm serve a/B {shlex.join(words)}") == expected
    assert current(f"bash -c {shlex.quote(f'vllm serve a/B {shlex.join(words)}')}") == expected
    escaped = [word.replace("$", "$$") for word in words]  # by both kinds of manifests
    container = {"image": "vllm/vllm-openai:latest", "command": ["vllm", "serve"], "args": ["a/B", *escaped]}
    assert current(yaml.safe_dump({"kind": "Pod", "spec": {"containers": [container]}})) == expected
    compose = {"services": {"x": {"image": "vllm/vllm-openai", "command": ["--model", "a/B", *escaped]}}}
    assert current(yaml.safe_dump(compose)) == expected
    file = yaml.safe_dump({"model": "a/B", **{key.removeprefix("--"): value for key, value in given.items()}})
    assert current("vllm serve --config c.yaml", beside={"c.yaml": file}.get) == expected
    named = {"model": "a/B", **{plain_name(key): value for key, value in given.items()}}
    assert current(f"INFO non-default args: {named!r}") == expected
    code = ", ".join(f"{name}={value!r}" for name, value in named.items())
    assert current(f"from vllm import LLM\nllm = LLM({code})") == expected


@given(
    flags(),
    st.dictionaries(NAMES.map(lambda name: f"--{name.replace('_', '-')}-config"), OBJECTS, max_size=2),
)
@settings(max_examples=100, deadline=None)
def test_a_start_reads_back_as_what_runs(
    given: dict[str, Value], objects: dict[str, dict[str, object]]
) -> None:
    assume(all(RELEASE.look_up(name, suggest=False).setting is None for name in objects))
    objects |= {"--hf-overrides": {"rope_parameters": {"factor": 4.0, "rope_type": "yarn"}}}
    text = f"export OF_NOBODY=1\nvllm serve a/B {shlex.join(words_of(given))} " + " ".join(
        f"{flag} {shlex.quote(json.dumps(content))}" for flag, content in objects.items()
    )
    before = read_launch(text, "c").question
    ran, places = before["current"], before.get("places", {})
    assert isinstance(ran, dict)
    assert isinstance(places, dict)
    about = situation(framework=PROGRAM, version=VERSION)
    facts = [StatedFact(name=f"places.{k}", value=v, origin=FactOrigin.SCRIPT) for k, v in places.items()]
    asked = replace(about.problem, current=Settings(ran), situation=Situation.of(facts))
    about = replace(about, problem=asked)
    written = switched(with_current([], about, screen(about), is_divided=False), RELEASE)
    start, said = launchable(StartConfiguration(framework=PROGRAM, settings=tuple(written)), RELEASE)
    assert said == []
    printed = "\n".join(start.paste_lines)
    after = read_launch(printed, "c").question
    assert after["current"] == ran
    for flag, content in objects.items():
        assert content in [
            json.loads(word) for word in shlex.split(printed.replace("\\\n", " ")) if word[:1] == "{"
        ], flag


@given(flags())
@settings(max_examples=60, deadline=None)
def test_what_the_gate_lets_out_the_engines_parser_takes(given: dict[str, Value]) -> None:
    words = words_of(given)
    assume(not judge(PROGRAM, VERSION, ["vllm", "serve", "a/B", *words]))
    about = situation(
        framework=PROGRAM, version=VERSION, current={plain_name(k): v for k, v in given.items()}
    )
    written = switched(with_current([], about, screen(about), is_divided=False), RELEASE)
    start, said = launchable(StartConfiguration(framework=PROGRAM, settings=tuple(written)), RELEASE)
    argv = shlex.split(" ".join(line.rstrip("\\") for line in start.paste_lines))
    assert judge(PROGRAM, VERSION, argv) == ()
    assert said == []


LAUNCHERS = (
    "torchrun --nproc_per_node 8",
    "deepspeed --num_gpus 4",
    "srun -N 2",
    "mpirun -n 8",
    "ray job submit --",
)
WORDS = st.from_regex(r"--[a-z]{3,9}(_[a-z]{2,6})? [a-z0-9]{1,5}", fullmatch=True)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@given(name=st.from_regex(r"[a-z]{4,9}", fullmatch=True), options=st.lists(WORDS, max_size=4))
@settings(max_examples=40, deadline=None)
def test_no_launcher_is_taken_for_a_program(launcher: str, name: str, options: list[str]) -> None:
    given = {word.split()[0].lstrip("-") for word in options}
    signs = {option for one in program_signs().values() for option in (*one.options, *one.alone)}
    assume(not given & signs)
    with pytest.raises(InputError):
        read_launch(f"{launcher} python {name}_x.py {' '.join(options)}", "c")
