"""Statements of C and C++ sources that write errors and logs, read by regular expressions and brackets."""

import re
from collections.abc import Iterator

from tools.oracle.python_statements import RAISED, Statement, literal, percent_template, slot

_CALLS = {
    "LLAMA_LOG_ERROR": "error", "LLAMA_LOG_WARN": "warning", "LLAMA_LOG_INFO": "info",
    "GGML_LOG_ERROR": "error", "GGML_LOG_WARN": "warning", "GGML_LOG_INFO": "info", "GGML_ABORT": RAISED,
    "LOG_ERR": "error", "LOG_WRN": "warning", "LOG_INF": "info", "SRV_ERR": "error", "SRV_WRN": "warning",
    "SLT_ERR": "error", "SLT_WRN": "warning", "SLT_INF": "info", "SRV_INF": "info",
    "runtime_error": RAISED, "invalid_argument": RAISED, "logic_error": RAISED, "out_of_range": RAISED,
    "WARN": "error", "TORCH_CHECK": RAISED, "TORCH_CHECK_WITH": RAISED, "TORCH_WARN": "warning",
    "TORCH_NPU_WARN": "warning", "TORCH_NPU_WARN_ONCE": "warning", "TORCH_CHECK_VALUE": RAISED,
    "ASCEND_LOGE": "error", "ASCEND_LOGW": "warning", "NPU_CHECK_ERROR": RAISED,
    "MINDIE_LLM_LOG_ERROR": "error", "MINDIE_LLM_LOG_WARN": "warning", "ULOG_ERROR": "error",
    "ULOG_WARN": "warning", "ULOG_INFO": "info", "TLLM_CHECK_WITH_INFO": RAISED, "TLLM_LOG_ERROR": "error",
    "TLLM_LOG_WARNING": "warning", "TM_LOG_ERROR": "error", "TM_LOG_WARNING": "warning",
    "TLLM_THROW": RAISED, "emitError": RAISED, "emitOpError": RAISED, "report_fatal_error": RAISED,
    "InsertFatal": RAISED,
}  # fmt: skip
"""Macros and exceptions of llama.cpp, NCCL (which warns of errors), torch_npu, MindIE, TurboMind and MLIR."""
_CHECKS = frozenset({"TORCH_CHECK", "TORCH_CHECK_VALUE", "TORCH_CHECK_WITH", "TLLM_CHECK_WITH_INFO"})
_CALL = re.compile(rf"\b({'|'.join(_CALLS)})\s*\(")
_PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"|([^"]+)')
_ESCAPES = {"n": "\n", "t": " ", '"': '"', "\\": "\\", "r": "\n", "0": ""}
MOST = 3000
"""Characters of a call that are read."""


def c_statements(source: str, module: str) -> Iterator[Statement]:
    """The statements of a source file that write errors and logs."""
    for found in _CALL.finditer(source):
        arguments = _arguments(source, found.end())
        call = found[1]
        if call in _CHECKS:
            arguments = arguments[1:]
        if call.startswith("emit"):  # MLIR streams its text behind the call
            text = source[found.end() : source.find(";", found.end(), found.end() + MOST)]
            arguments = [text[text.find('"') :]]
        if template := _template(arguments):
            where = call if _CALLS[call] == RAISED and not call.startswith("emit") else module
            yield Statement(level=_CALLS[call], where=where, template=template)


def _arguments(source: str, start: int) -> list[str]:
    """The arguments of a call whose bracket opens before ``start``."""
    depth, begin, place = 1, start, start
    found: list[str] = []
    end = min(len(source), start + MOST)
    while place < end:
        character = source[place]
        if character == '"':
            place += 1
            while place < end and source[place] != '"':
                place += 2 if source[place] == "\\" else 1
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if not depth:
                return [*found, source[begin:place]]
        elif character == "," and depth == 1:
            found.append(source[begin:place])
            begin = place + 1
        place += 1
    return []


def _template(arguments: list[str]) -> str:
    """The template of a call's arguments: printf's form, or text and values in a row."""
    first = next((place for place, item in enumerate(arguments) if '"' in item), None)
    if first is None:
        return ""
    head, rest = arguments[first].strip(), arguments[first + 1 :]
    if (inner := re.match(r"(?:\w+::)*(?:format|fmtstr|string_format)\s*\(", head)) is not None:
        return _template(_arguments(head, inner.end()))
    if "<<" not in head and re.search(r"%[-+ #0]*\d*(?:\.\d+)?[hlzjt]*[diuxXeEfgGscp]", head):
        return percent_template(_text(head), [_name(item) for item in rest])
    streamed = [piece for item in (head, *rest) for piece in _split_stream(item)]
    return "".join(
        literal(_text(item)) if item.lstrip().startswith('"') else slot(_name(item)) for item in streamed
    )


def _split_stream(item: str) -> list[str]:
    """The parts of an argument: text and values that ``<<`` or ``+`` joins."""
    parts: list[str] = []
    for text, other in _PIECE.findall(item):
        if text or not other:
            parts.append(f'"{text}"')
        else:
            parts += [
                part for part in re.split(r"<<|\+", other) if part.strip() and part.strip()[0] not in "/)"
            ]
    return [part for part in parts if '"' in part or re.search(r"[A-Za-z_]", part)]


def _text(item: str) -> str:
    """The text of string literals that stand side by side."""
    item = re.sub(r'%(\w*)"\s*PRI\w+\s*(?:"|$)', r"%\1d", item)
    whole = "".join(text or _of_macro(other.strip()) for text, other in _PIECE.findall(item))
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), whole)


def _of_macro(name: str) -> str:
    """The text of a macro between string literals: a form of printf, else words that are left out."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return ""
    return "%s" if "FMT" in name or name.startswith("PRI") else "…"


def _name(item: str) -> str:
    """The last name in an expression that is no cast, unit or method without sense."""
    plain = re.sub(r"(?:\.|->)(?:size|c_str|data|get|length|str|value|empty)\(\)", "", item)
    names = [n for n in re.findall(r"[A-Za-z_]\w*", plain) if n not in _NO_NAMES]
    if item.strip() == "__func__":
        return "function"
    return names[-1].removesuffix("_") if names else "value"


_NO_NAMES = frozenset({
    "std", "to_string", "static_cast", "int", "long", "unsigned", "double", "float", "uint64_t", "int64_t",
    "size_t", "uint32_t", "int32_t", "endl", "string", "GetErrMsg",
})  # fmt: skip
