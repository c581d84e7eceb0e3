"""T1, the input format of the auto-tuning community: a kernel's parameters and their constraints.

It yields no case. Its problem size and number format complete the result files read with it.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

from ingest.door.records import Records
from ingest.door.search_space import SearchSpaceFile
from ingest.files.content import Content, ContentError
from ingest.files.documents import load_json
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from kg.errors import Fault
from kg.nouns.values import Value, as_value
from kg.terms.precisions import canonical_precision

MAXIMUM_LIST = 1 << 20
"""Characters of a list of values; longer ones are no list that anybody wrote."""

_LARGEST, _HIGHEST = 2**62, 62
"""Numbers and powers beyond which no parameter lies."""
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}

MAXIMUM_STEPS = 1 << 21
"""Steps of the evaluation of one expression: a list of the longest kind, and its elements."""

_LISTS = ast.List | ast.Tuple
_TYPES = {"float", "double", "half", "float32", "float64", "float16"}


def sniff(head: Head) -> bool:
    """True if a configuration space with tuning parameters is declared."""
    return '"ConfigurationSpace"' in head.text and '"TuningParameters"' in head.text


def read(content: Content, records: Records) -> Iterator[SearchSpaceFile | Fault]:
    """The search space, and its faults."""
    try:
        document = load_json(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    space = _object(document, "ConfigurationSpace")
    kernel = _object(document, "KernelSpecification")
    parameters: dict[str, tuple[Value, ...]] = {}
    for number, item in enumerate(_list(space, "TuningParameters")):
        name = item.get("Name") if isinstance(item, dict) else None
        values = _values(item.get("Values")) if isinstance(item, dict) else None
        if not isinstance(name, str) or not values:
            raw = item.get("Values") if isinstance(item, dict) else None
            reason = "without a name or without a list of values"
            if isinstance(raw, str) and isinstance(name, str):
                reason = f"{name}: its values are an expression that is not read: {raw[:60]}"
            yield Fault(place=f"TuningParameters[{number}]", reason=reason)
        else:
            parameters[name] = values
    constraints = []
    for number, item in enumerate(_list(space, "Conditions")):
        expression = item.get("Expression") if isinstance(item, dict) else None
        if isinstance(expression, str):
            constraints.append(expression)
        else:
            yield Fault(place=f"Conditions[{number}]", reason="without an expression")
    names = (_object(document, "General").get("BenchmarkName"), kernel.get("KernelName"))
    benchmark = next((name for name in names if isinstance(name, str) and name), "")
    if not benchmark or not parameters:
        yield Fault(place="", reason="without a benchmark name or without tuning parameters")
        return
    found = SearchSpaceFile(
        name=benchmark,
        parameters=parameters,
        constraints=tuple(constraints),
        problem_size=_problem_size(kernel.get("ProblemSize")),
        precision=_precision(_list(kernel, "Arguments")),
    )
    records.spaces[found.name] = found
    yield found


def _values(raw: object) -> tuple[Value, ...] | None:
    if isinstance(raw, str) and len(raw) <= MAXIMUM_LIST:
        try:
            raw = _evaluated(ast.parse(raw.strip(), mode="eval").body, {}, iter(range(MAXIMUM_STEPS)))
        except (ValueError, SyntaxError, MemoryError, RecursionError, ArithmeticError, TypeError):
            return None
    if not isinstance(raw, list | tuple):
        return None
    try:
        return tuple(as_value(item) for item in raw)
    except ValueError:
        return None


def _evaluated(node: ast.expr, names: dict[str, object], steps: Iterator[int]) -> object:
    """The value of an expression of numbers, ranges and comprehensions, as T1 files write lists of values.

    Args:
        node: The expression.
        names: Values of the names in it.
        steps: As many as may be taken: who wrote the file is not known.

    Raises:
        ValueError: It has anything else in it, or is larger than any list of values.
        TypeError: A list stands where lists would multiply.
    """

    def scalar(part: ast.expr, known: dict[str, object] = names) -> object:
        found = _evaluated(part, known, steps)
        if isinstance(found, list):
            raise TypeError("lists that multiply")
        return found

    def number(part: ast.expr) -> float:
        found = scalar(part)
        if isinstance(found, bool) or not isinstance(found, int | float) or abs(found) > _LARGEST:
            raise ValueError("no number")
        return found

    if next(steps, None) is None:
        raise ValueError("more work than a list of values is worth")
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [
                _evaluated(part, names, steps) if isinstance(part, _LISTS) else scalar(part) for part in parts
            ]
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return -number(part)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            if isinstance(operation, ast.Pow) and abs(number(right)) > _HIGHEST:
                raise ValueError("a power beyond reason")
            return _OPERATIONS[type(operation)](number(left), number(right))
        case ast.Call(func=ast.Name(id="range"), args=parts, keywords=[]):
            listed = range(*(int(number(part)) for part in parts))
            if len(listed) > MAXIMUM_LIST:
                raise ValueError("a range beyond reason")
            return list(listed)
        case ast.Call(func=ast.Name(id="list"), args=[part], keywords=[]):
            return _evaluated(part, names, steps)
        case ast.ListComp(
            elt=item, generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])]
        ) if isinstance(values := _evaluated(over, names, steps), list):
            return [scalar(item, {**names, name: value}) for value in values]
    raise ValueError("no list of values")


def _problem_size(raw: object) -> Value:
    try:
        return as_value(raw)
    except ValueError:
        return None


def _precision(arguments: list[object]) -> str | None:
    types = {
        str(item.get("Type")).rstrip("234")
        for item in arguments
        if isinstance(item, dict) and item.get("MemoryType") == "Vector"
    }
    return canonical_precision(types.pop()) if len(types) == 1 and types <= _TYPES else None


def _object(raw: object, name: str) -> dict[str, object]:
    item = raw.get(name) if isinstance(raw, dict) else None
    return item if isinstance(item, dict) else {}


def _list(raw: dict[str, object], name: str) -> list[object]:
    item = raw.get(name)
    return item if isinstance(item, list) else []


FORMAT = Format(
    name="kernel-tuner-t1",
    title="T1 search space (ConfigurationSpace with TuningParameters)",
    sniff=sniff,
    read=read,
    first=True,
)
