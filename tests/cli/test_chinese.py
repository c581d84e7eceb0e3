"""No English in Chinese output: the help of every command, and screens; names, options and formats stay."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from cli.app import app
from cli.text.language import help_text, localised, use_language
from data import text as shipped_text
from kg import errors
from kg.terms.setting_registry import softwares
from tools.source_tree import SourceModule, modules

_NAMES = (
    "amd nvidia batches classes disagreements effects kinds provenance sources problem family region code"
    " agent aiperf alpha ascendc ask attention average base batch block bottlenecks calibration carbon cases "
    "chip compose convolution copy cp cpu csv cuda data decode dmesg dp earlier en end env ep evaluate exporter "
    "export fast file files flashcomm find finetune fix flags float fp framework frameworks gb gemm gpu guidellm h hardware "
    "high higher hpc id info ingest init int item items journal json kb kernel kernels kg kind kubernetes "
    "kwh latency layer layernorm learn less low lower manifest marginal mb mcp medium megatron memory metric "
    "mindie model models ms names none now npu ns number off operator operators optuna path pp prefill "
    "profile profiles python query question range recipes req restart rmsnorm s scale serve server servers "
    "serving set settings sglang shapes shell shm softmax softwares sp spills start statement step stop str "
    "strategies strategy tb tell text throughput tok token took tp tpot tps trace train training trial "
    "auto blackwell chunk config deepep dlrm full head http hybrid inference jemalloc kpack modelslim module mp multibuffer"
    " https parquet pyarrow profiler schema study rank tile tokenizer transformer groups chromium chrome edge postgresql loss liger"
    " name ascend cann cube shm tiling torchrun ttft triton true tunegraph us value values vllm wh words worker workers workspace x yaml zh"
)
NAMES = {*_NAMES.split(), *softwares()}
"""Words of commands, of values that options take, and of formats: they are typed as they stand."""
PROPER = re.compile(
    r"\b(?:tunegraph|python|bash|openssl|pip|chmod)(?: [^\s\u3000-\uffef]+)*|--?\w[\w-]*(?:[= ]<[^>]*>)?|'[^']*'|\"[^\"]*\"|<[^>]*>|"
    r"\{[^}]*\}|[^\s\u2e80-\uffef()\[\],;:]*[\d_./=@$%*+&|#~\\-][^\s\u2e80-\uffef()\[\],;:]*|"
    r"\b\w*[A-Z]\w*[A-Z]\w*\b"
)
"""Command lines, options, quotations, identifiers, paths and what has two capitals."""


def english(text: str) -> list[str]:
    """The English words of a text in Chinese."""
    words = re.findall(r"(?<![\w-])[A-Za-z]{2,}(?![\w-])", PROPER.sub(" ", text))
    return [word for word in words if word.lower() not in NAMES]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name in command.list_commands(typer.Context(command)) if hasattr(command, "list_commands") else ():
        yield from commands(command.get_command(typer.Context(command), name), (*path, name))


HELPS = list(commands(typer.main.get_command(app)))


def test_no_help_has_english(run: Any) -> None:
    names = {name for each in HELPS for name in each}
    for path in HELPS:
        shown = run("--lang", "zh", *path, "--help").out
        lines = [line for line in shown.splitlines() if not line.startswith(("  示例", "用法"))]
        lines = [re.sub(r"^  [\w.]+(?=  )", "", line) for line in lines]
        assert [word for word in english("\n".join(lines)) if word not in names] == [], path


SCREENS = (
    "size --model qwen3-32b --phase serving --hardware 910B3 --shape input_len=1024,output_len=256 --rate 20/s",
    "check serve_qwen3.sh --hardware 910B3",
    "ab record before.log after.log --pattern 'step_time:ms=step took (\\S+) ms'",
    "kb stats",
    "kb query",
    "green plan --region DE --duration 8h --by +24h",
    "kb list settings",
    "kb query effects",
    "kb diff vllm=0.18 vllm=0.19",
    "explain nothing",
    "search report none.journal",
    "tune serve_qwen3.sh --hardware 910B3 --dry-run",
    "estimate --from-command serve_qwen3.sh --hardware 910B3",
    "recommend --op attention --shape B=1,H=32,S=4096,D=128 --hardware a100-pcie-40gb -v",
    "recommend --from-command serve_qwen3.sh --hardware 910B3 -v",
    "recommend --from-command pretrain_llama2.sh --smi npu-smi.txt -v",
    "recommend --model qwen2.5-vl-7b --phase serving --hardware 910B3 --count 2 -v",
    "recommend --model dlrm --phase training --hardware 910B3 --count 8",
    "search space --hardware 910B3",
    "recommend -k 99",
    "nosuch",
    "examples serve_qwen3.sh",
    "predict --model qwen3-32b --phase serving --hardware 910B3 --count 8 --software vllm-ascend",
    "recommend --model qwen3-32b --phase training --hardware 910B3 --count 8 --software vllm",
    "recommend --op matmul --shape M=0,N=4,K=4 --hardware 910B3",
    "check nothing.sh",
    "recommend --model qwen3-8b --phase training --hardware 910B3 --count 8 --software llamafactory",
    "diagnose error.log",
)
MORE_SCREENS = (
    "predict --model qwen3-32b --phase serving --hardware 910B3 --count 4",
    "recommend --model qwen3-235b-a22b --phase serving --hardware 910C --count 16 --limit tpot<=50ms --software sglang -v",
    "recommend --model deepseek-v3 --phase serving --hardware 910B3 --count 8",
    "size --model qwen3-14b --phase serving --hardware 910B3 --rate 5/s --limit ttft<=1s --limit tpot<=40ms",
)
"""Dear ones, whose texts are nearly all on others."""


@pytest.fixture(scope="module")
def examples(run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    run("examples", "--all", folder=folder)
    return folder


@pytest.mark.parametrize(
    "line", [*SCREENS, *(pytest.param(line, marks=pytest.mark.long) for line in MORE_SCREENS)]
)
def test_no_screen_has_english(
    run: Any, examples: Path, tmp_path: Path, shipped_path: Path, line: str
) -> None:
    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    own = shutil.copytree(shipped_path, tmp_path / "w") if line.startswith("ab ") else None  # which it writes
    home = {"XDG_DATA_HOME": str(tmp_path)}
    ran = run("--lang", "zh", *shlex.split(line), folder=tmp_path, environment=home, workspace=own)
    quoted = Path(tmp_path / "error.log").read_text(encoding="utf-8") if line.endswith("error.log") else ""
    assert [word for word in english(ran.out + ran.err) if word not in quoted] == []


def test_english_is_found() -> None:
    assert english("另有 3 项：the rest is modelled; -k 8 lists them") == [
        "the",
        "rest",
        "is",
        "modelled",
        "lists",
        "them",
    ]
    assert english("用 --set NAME=VALUE 或 `tunegraph kb list` 查看 vllm-ascend 0.18 的 ms") == []


@pytest.mark.parametrize(
    "software", ["vllm-ascend=0.18", "mindspeed-llm", pytest.param("sglang", marks=pytest.mark.long)]
)
def test_settings_are_explained_in_chinese(run: Any, software: str) -> None:
    """Names, defaults and types of a list of settings stay; what they mean does not."""
    asked = ("kb", "list", "settings", "--software", software)
    means = {one["means"] for one in run(*asked, "--json").json["settings"] if "means" in one}
    shown = run("--lang", "zh", *asked).out
    assert re.findall(r"[a-z]{2,}", shown.splitlines()[0]) == []
    assert [text for text in means if len(english(text)) > 1 and f"  {text}  " in shown] == []
    assert len(means) > 10


UNTRANSLATED = 480
"""Sentences of the code that keep words of English sentences; some are parts of others, or read by machines alone."""
_OF_SENTENCES = (
    "a an the of is are was were be no not to from with without than at for it its that which this these by has have had"
    " does do each all where but in on and or"
)
"""Words that names of columns, units and titles lack."""
_FILLS = ("ZQ7", "7", "7 %", "7.0x")
"""Values for the places of a text: names, counts, shares, factors."""
_CODE = re.compile(r"SELECT|INSERT|PREFIX|CREATE |PRAGMA|DELETE FROM|UPDATE |\(\?|\\s|</|%\(|^\w+:\w+$")
"""Queries, patterns, pages, log lines and terms of the graph."""


def texts_of(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The texts that an expression may be, each with its places filled in several ways."""
    match node:
        case ast.Constant(value=str() as text):
            yield (text,)
        case ast.JoinedStr(values=parts):
            yield tuple(
                "".join(str(part.value) if isinstance(part, ast.Constant) else fill for part in parts)
                for fill in _FILLS
            )
        case ast.IfExp(body=first, orelse=second):
            yield from texts_of(first)
            yield from texts_of(second)


def calls(text: str, names: Iterable[str]) -> Iterator[ast.Call]:
    """Calls of some names in a source: each is parsed alone, which takes a tenth of parsing all."""
    for start in re.finditer(rf"\b(?:{'|'.join(names)})\(", text):
        for end in re.finditer(r"\)", text[start.start() :]):
            with suppress(SyntaxError):
                found = ast.parse(text[start.start() : start.start() + end.end()], mode="eval").body
                assert isinstance(found, ast.Call)
                yield found
                break


def texts_of_errors(text: str) -> Iterator[tuple[str, ...]]:
    """Texts of errors and their hints."""
    for call in calls(text, [name for name in vars(errors) if name.endswith("Error")]):
        for told in (*call.args[:1], *(item.value for item in call.keywords if item.arg == "hint")):
            yield from texts_of(told)


def all_texts(module: SourceModule) -> Iterator[tuple[str, ...]]:
    """All texts of a module but docstrings."""
    nodes = list(ast.walk(module.tree))
    inside = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    inside |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    inside -= {id(node) for node in nodes if isinstance(node, ast.JoinedStr)}
    for node in nodes:
        if id(node) not in inside and isinstance(node, ast.Constant | ast.JoinedStr):
            yield from texts_of(node)


def in_chinese(text: str) -> str:
    """A text in Chinese, less a field of a file or an option's name that it begins with."""
    return re.sub(r"^[a-z]+(?=：)", "", localised(text))


@pytest.fixture
def chinese() -> Iterator[None]:
    use_language("zh")
    yield
    use_language("en")


@pytest.mark.usefixtures("chinese")
def test_no_error_has_english() -> None:
    texts = {text for module in modules() for text in texts_of_errors(module.text)}
    assert len(texts) > 1000
    assert sorted(one[0] for one in texts if all(english(in_chinese(each)) for each in one)) == []


@pytest.mark.long
@pytest.mark.usefixtures("chinese")
def test_few_texts_of_the_code_have_no_chinese() -> None:
    texts = {one for module in modules() for one in all_texts(module)}
    of_sentences = {*_OF_SENTENCES.split()}
    found = {one for one in texts if len(words := english(one[0])) > 1 and of_sentences & {*words}}
    prose = {one for one in found if not _CODE.search(one[0]) and help_text(one[0]) == one[0]}
    report = shipped_text("report/words-zh.json")
    left = [
        one[0]
        for one in prose
        if one[0] not in report and all(of_sentences & {*english(localised(each))} for each in one)
    ]
    assert len(left) <= UNTRANSLATED, (len(left), sorted(left))


def test_what_a_setting_needs_is_told_in_chinese(chinese: None) -> None:
    """Settings that do not apply say which part the situation lacks."""
    parts = [item["part"] for item in yaml.safe_load(shipped_text("settings/parts.yaml"))]
    lacking = [f"no {part}" for part in parts]
    assert [text for text in lacking if localised(text) == text] == []
