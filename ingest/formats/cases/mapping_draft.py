"""A draft of a mapping for a CSV table, from its headers and cells; gaps are left as questions."""

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from ingest.door.columns import quantity
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows
from ingest.formats.cases.mapping import MAPPING_FORMAT, VERSION, status_of
from ingest.formats.trackers.experiments import parse_number
from kg.errors import CaseFormatError, Fault, InputError
from kg.terms.metrics import METRICS
from kg.terms.setting_registry import softwares
from kg.terms.units import Dimension

LOOKED_AT = 500
"""Rows that a draft is made from."""

_COUNT = re.compile(
    r"(n|no|num|number|count|of|nr|#)?_*((gpu|npu|device|card|chip|accelerator)s|_of_hardware)(_count)?"
)
_HARDWARE = re.compile(
    r"(hardware|gpu|npu|device|accelerator|chip|card|machine|system|gfx|arch)(_?(name|type|model))?"
)
_MODEL = re.compile(r"(model|network|net|llm)(_?name)?")
_OPERATOR = re.compile(r"(op|operator|kernel|kernel_name|task|activity|benchmark)")
_FORMAT = re.compile(
    r"(dtype|data_type|number_format)|(quant|quantization|precision|weights?)(_(dtype|format))?"
)
_PROGRAM = re.compile(r"(serving_|inference_|training_)?(engine|framework|backend)")
_RELEASE = re.compile(r"((serving_|inference_|training_)?(engine|framework|backend)_?)?(version|release)")
_PLACES: tuple[tuple[re.Pattern[str], bool | None, str, str], ...] = (
    (_COUNT, True, "hardware", "count"),
    (_HARDWARE, False, "hardware", "name"),
    (_MODEL, None, "task", "model"),
    (_FORMAT, False, "task", "dtype"),
    (_PROGRAM, False, "config", "framework"),
    (_RELEASE, None, "source", "framework_version"),
    (_OPERATOR, False, "task", "op"),
)
"""Where a column goes by its name, of numbers or not."""
_KINDS = {"op": "operator", "operator": "operator", "kernel": "kernel", "kernel_name": "kernel"}
_STATUS = re.compile(r"(status|state|result|outcome)")
_IDENTITY = re.compile(
    r"(id|.*_id|uuid|name|run|run_name|url|.*_uri|date|time_?stamp|created|.*_at|.*_time|notes?|comment|user|index|)"
)
_ABOUT_RUN = {"notes", "user", "comment", "tags", "date", "day", "time_stamp", "timestamp"}
_SHAPE = {
    **dict.fromkeys(("seq_len", "seqlen", "sequence_length", "max_seq_len", "seq_length"), "seq_len"),
    **dict.fromkeys(
        ("gbs", "global_batch", "global_train_batch_size", "global_batch_size", "globalbatchsize"),
        "global_batch",
    ),
    **dict.fromkeys(("input_len", "input_length", "isl"), "input_len"),
    **dict.fromkeys(("output_len", "output_length", "osl"), "output_len"),
    **{name: name.upper() for name in ("m", "n", "k", "g")},
    **{name: name for name in ("problem_size", "hidden_size", "num_layers", "vocab_size", "concurrency")},
}
_CHINESE = {
    **dict.fromkeys(("模型", "模型名", "模型名称"), "model"),
    **dict.fromkeys(("硬件", "芯片", "设备", "机型", "加速卡"), "hardware"),
    **dict.fromkeys(("卡数", "芯片数", "设备数"), "devices"),
    **dict.fromkeys(("并发", "并发数", "并发请求数"), "concurrency"),
    **dict.fromkeys(("输入长度", "输入"), "input_len"),
    **dict.fromkeys(("输出长度", "输出"), "output_len"),
    **dict.fromkeys(("精度", "数据类型", "量化"), "precision"),
    **dict.fromkeys(("张量并行", "张量并行度"), "tp"),
    **dict.fromkeys(("流水线并行", "流水线并行度", "流水并行"), "pp"),
    **dict.fromkeys(("数据并行", "数据并行度"), "dp"),
    **dict.fromkeys(("专家并行", "专家并行度"), "ep"),
    **dict.fromkeys(("批大小", "批次大小"), "batch_size"),
    **dict.fromkeys(("状态", "结果"), "status"),
    "序列长度": "seq_len", "全局批大小": "global_batch", "微批大小": "micro_batch", "框架": "framework",
    "版本": "version", "算子": "operator", "备注": "notes",
}  # fmt: skip
"""Headers in Chinese by ours."""
_UNIT_BEHIND = re.compile(r"\s*([^\s(]+)\s*(\([^)]*\))?\s*")
_DERIVED = re.compile(r"speed_?up|ratio|improvement|gain|vs_\w+")
"""Columns that other columns give."""
_WITH_PROMPTS = re.compile(r"(?<![a-z])(total|overall|combined)(?![a-z])")
_TIMED = re.compile(r"(?P<of>[^\W\d_](?:_*+[^\W_]|_*+-)*)[_ (\[]++(?P<unit>ns|us|ms)[)\]]?")
"""A time of something that is no metric: of one of several implementations side by side."""
_USUAL_UNITS = {
    Dimension.TIME: "s, ms or us",
    Dimension.ENERGY: "J or mJ",
    Dimension.MASS: "g or kg",
    Dimension.POWER: "W or mW",
    Dimension.BYTES: "B, MiB or GiB",
    Dimension.RATE: "tokens/s, samples/s or FLOP/s",
    Dimension.RATIO: "1 or %",
}
_MANY = 0.5
"""A column of fractions of which more than this share differ is more likely measured than set."""


def suggest_mapping(path: Path) -> str:
    """A mapping file for a table, as YAML, with ``?`` before each question.

    Raises:
        InputError: The file cannot be read.
        CaseFormatError: It is no CSV table.
    """
    rows, faults = _sample(path)
    if not rows:
        raise CaseFormatError(
            str(path), faults[:1] or [Fault(place="line 1", reason="no rows under a header")]
        )
    draft = _Draft(rows)
    for column in rows[0]:
        draft.place(column)
    return draft.text(path.name)


def _sample(path: Path) -> tuple[list[dict[str, str]], list[Fault]]:
    rows: list[dict[str, str]] = []
    faults: list[Fault] = []
    try:
        with Content(path) as content:
            for _, row in csv_rows(content):
                if isinstance(row, Fault):
                    faults.append(row)
                else:
                    rows.append(row)
                if len(rows) + len(faults) >= LOOKED_AT:
                    break
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ContentError as error:
        faults.append(Fault(place="", reason=str(error)))
    return rows, faults


class _Draft:
    """A mapping built column by column."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self._rows = rows
        names = ("task", "hardware", "shape", "config", "source")
        self._sections: dict[str, dict[str, object]] = {name: {} for name in names}
        self._status: dict[str, object] = {}
        self._metrics: list[dict[str, object]] = []
        self._left_out: list[str] = []

    def place(self, column: str) -> None:
        """Add a column to the section that its name and cells suggest."""
        header = _in_english(column)
        key = re.sub(r"[\s\-./]+", "_", header.strip().lower())
        plain = re.sub(r"^(params|metrics|tags|config|summary)_", "", key)
        cells = [row[column] for row in self._rows if row[column]]
        from_column = {"column": column}
        numbers = _numbers(cells)
        if _DERIVED.fullmatch(plain):
            self._left_out.append(column)
            return
        if numbers is not None and self._is_metric(column, header, cells, numbers):
            return
        word = plain.replace("#", "n_").replace("__", "_")
        section, name = next(
            (
                (section, name)
                for pattern, of_numbers, section, name in _PLACES
                if pattern.fullmatch(word) and of_numbers in {None, numbers is not None}
            ),
            ("", ""),
        )
        if section and cells and (name != "framework" or _are(cells, softwares())):
            self._sections[section].setdefault(name, from_column)
            if kind := _KINDS.get(plain, "") if name == "op" else "":
                self._sections["task"].setdefault("kind", kind)
        elif _STATUS.fullmatch(plain) and numbers is None and not self._status:
            self._status = {"column": column, **_statuses(set(cells))}
        elif plain in _SHAPE:
            self._sections["shape"].setdefault(_SHAPE[plain], from_column)
        elif (
            plain in _ABOUT_RUN or not cells or (_IDENTITY.fullmatch(plain) and len(set(cells)) == len(cells))
        ):
            self._left_out.append(column)
        else:
            self._sections["config"][header.strip() or "unnamed"] = from_column

    def _is_metric(self, column: str, header: str, cells: list[str], numbers: list[float]) -> bool:
        measured = quantity(header)
        if measured is not None:
            symbol = measured.unit
            if not symbol:
                usual = _USUAL_UNITS.get(METRICS[measured.metric].dimension, "")
                largest = max(numbers, default=0.0)
                symbol = f"? {usual} (values up to {largest:g})"
            self._metrics.append({"column": column, "metric": measured.metric, "unit": symbol})
            return True
        if (timed := _TIMED.fullmatch(header.strip())) is not None:
            metric = {"column": column, "metric": "kernel_time", "unit": timed["unit"]}
            self._metrics.append({**metric, "config": {"implementation": timed["of"]}})
            return True
        fractions = sum(not number.is_integer() for number in numbers)
        if len(cells) > 2 and fractions > _MANY * len(cells) and len(set(cells)) > _MANY * len(cells):
            self._metrics.append(
                {
                    "column": column,
                    "metric": "? what does it measure, or is it a setting (then move it to config)",
                    "unit": "? its unit",
                }
            )
            return True
        return False

    def text(self, name: str) -> str:
        """The draft as YAML."""
        measured = {str(item["metric"]).partition("_")[0] for item in self._metrics}
        if "output_len" in self._sections["shape"] or {"ttft", "tpot"} & measured:
            self._sections["task"] = {"kind": "serving", "op": "serve", **self._sections["task"]}
            for item in self._metrics:
                if item["metric"] == "throughput" and _WITH_PROMPTS.search(str(item["column"]).lower()):
                    item["metric"] = "total_throughput"
        if self._sections["task"].get("kind") == "kernel":
            self._metrics = [
                {**item, "metric": "kernel_time"} if item["metric"] == "run_time" else item
                for item in self._metrics
            ]
        self._sections["task"].setdefault("kind", "? kernel, operator, training, serving or hpc")
        self._sections["task"].setdefault("op", "? what runs (gemm, pretrain, serve)")
        self._sections["hardware"].setdefault("name", "? on which hardware")
        if not self._metrics:
            self._metrics.append(
                {"column": "? which column is the result", "metric": "? latency, throughput", "unit": "? ms"}
            )
        source = {"title": f"table {name}", **self._sections.pop("source")}
        document = {
            "format": MAPPING_FORMAT,
            "version": VERSION,
            **self._sections,
            "metrics": self._metrics,
            "status": self._status,
            "source": source,
        }
        lines = [
            f"# Draft for {name!r}, from its headers and {len(self._rows)} rows. Answer what begins with ?."
        ]
        if self._left_out:
            lines.append(f"# Left out: {', '.join(repr(column) for column in self._left_out)}")
        body = yaml.safe_dump(
            {key: item for key, item in document.items() if item},
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )
        return "\n".join([*lines, body])


def _in_english(column: str) -> str:
    """A header whose word is Chinese by our name for it, with its unit; others as they are."""
    plain = column.replace("（", "(").replace("）", ")")
    found = _UNIT_BEHIND.fullmatch(plain)
    word = _CHINESE.get(found[1].lower()) if found else None
    return plain if found is None or word is None else f"{word} {found[2] or ''}".rstrip()


def _are(cells: list[str], known: Iterable[str]) -> bool:
    """Whether every cell is one of the names known."""
    return bool(cells) and {cell.strip().lower() for cell in cells} <= set(known)


def _numbers(cells: Iterable[str]) -> list[float] | None:
    """Cells as numbers, but for words for how a run ended; None if one is none, or there are none."""
    try:
        return [parse_number(cell, "") for cell in cells if status_of(cell) in {"", "ok"}] or None
    except ContentError:
        return None


def _statuses(words: set[str]) -> dict[str, object]:
    found: dict[str, list[str]] = {}
    for word in sorted(words):
        if meaning := status_of(word):
            found.setdefault(meaning, []).append(word)
        else:
            found.setdefault("ok", []).append(f"? does {word!r} mean that it went well")
    return dict(found)
