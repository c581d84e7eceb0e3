"""vllm-ascend's CI configurations as recipes: one server, servers on several nodes, prefill and decode apart.

Three shapes, told by their keys: ``test_cases`` (one node), ``deployment`` (a command for each node),
``templates`` beside ``config`` (a command for each role, sizes by node). Nodes of one role and layout are one
recipe; its settings are those of the first node.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.safe_yaml import MAXIMUM_BYTES, load_yaml
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.recipes.recipe_commands import CommandParts, command_parts
from ingest.formats.recipes.recipe_records import recipe
from kg.errors import Fault
from kg.nouns.recipe import Authority, Recipe, Role, devices_of

_KEYS = ("test_cases:", "deployment:", "templates:")
_GENERATION = re.compile(r"(?:^|[-_. ])(a2|a3|310p)(?=$|[-_. ])", re.IGNORECASE)
_LENGTH = re.compile(r"[-_]in(\d+)(k?)[-_]", re.IGNORECASE)
_PREFIX_HIT = re.compile(r"prefix(\d+)")
_VARIABLE = re.compile(r"\$\{?([A-Z_]+)\}?")
_PRECISION = re.compile(r"[-_](w\d+a\d+(?:c8|sc)?|bf16|fp8)\b", re.IGNORECASE)
_UNSET_BASELINE = 1
"""A baseline of 1 stands where none is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """One command on one node, or on all nodes alike."""

    place: str
    title: str
    model: str
    parts: CommandParts
    nodes: int
    per_node: int | None


def sniff(head: Head) -> bool:
    """True if it is YAML with the keys of a CI configuration that starts servers."""
    lines = head.text.splitlines()
    return (
        head.name.endswith((".yaml", ".yml"))
        and any(line.startswith(_KEYS) for line in lines)
        and any(line.lstrip(" -").startswith(("server_cmd", "_server_cmd")) for line in lines)
    )


def read(content: Content, records: Records) -> Iterator[Recipe | Fault]:
    """A recipe for each role of each case."""
    try:
        raw = content.read_all(MAXIMUM_BYTES)
        document = load_yaml(raw)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    if not isinstance(document, Mapping):
        yield Fault(place="", reason="a CI configuration is an object")
        return
    lines = raw.decode(errors="replace").splitlines()
    found = False
    for server, benchmarks in _servers(document, lines, records):
        found = True
        try:
            yield recipe(_record(server, benchmarks, content, records), records)
        except RecordError as fault:
            yield Fault(place=server.place, reason=str(fault))
    if not found:
        yield Fault(place="", reason="starts no server")


def _servers(
    document: Mapping[str, object], lines: Sequence[str], records: Records
) -> Iterator[tuple[_Server, object]]:
    title = str(document.get("test_name") or "")
    model = str(document.get("model") or "")
    per_node = document.get("npu_per_node")
    size = per_node if isinstance(per_node, int) else None
    for case in _objects(document.get("test_cases")):
        name = str(case.get("name") or "")
        words = [*_words(case.get("server_cmd")), *_words(case.get("server_cmd_extra"))]
        if words:
            parts = _parts(words, case.get("envs"), {}, records, name)
            server = _Server(
                place=_place(lines, name),
                title=name,
                model=str(case.get("model") or model),
                parts=parts,
                nodes=1,
                per_node=None,
            )
            yield server, case.get("benchmarks")
    nodes: list[tuple[int, CommandParts]] = []
    started = [at for at, line in enumerate(lines, 1) if "server_cmd" in line and not line.startswith("_")]
    for at, node in enumerate(_objects(document.get("deployment"))):
        words = _words(node.get("server_cmd"))
        nodes.append((_at(started, at), _parts(words, node.get("envs"), {}, records, title)))
    sizes = list(_objects(document.get("config")))
    templates = list(_objects(document.get("templates")))
    named = [_indexes(template.get("node_index")) for template in templates]
    for at, template in enumerate(templates):
        words = _words(template.get("server_cmd_template"))
        others = {place for other, places in enumerate(named) if other != at for place in places}
        for place in _group(document, named[at], len(sizes)):
            if place in others:
                continue  # it has a command of its own
            own = next((item for item in sizes if item.get("node_index") == place), {})
            variables = {
                "DP_SIZE": own.get("dp_size"),
                "TP_SIZE": own.get("tp_size"),
                "PP_SIZE": own.get("pp_size"),
            }
            nodes.append((_at(started, at), _parts(words, template.get("envs"), variables, records, title)))
    for server in _joined(nodes, title, model, size):
        yield server, document.get("benchmarks")


def _joined(
    nodes: Sequence[tuple[int, CommandParts]], title: str, model: str, per_node: int | None
) -> Iterator[_Server]:
    """Nodes of one role and layout as one server."""
    groups: dict[tuple[Role, tuple[tuple[str, object], ...]], list[tuple[int, CommandParts]]] = {}
    for line, parts in nodes:
        key = parts.role, tuple(sorted(parts.layout.items()))
        groups.setdefault(key, []).append((line, parts))
    for group in groups.values():
        yield _Server(
            place=f"line {group[0][0]}",
            title=title,
            model=model,
            parts=group[0][1],
            nodes=len(group),
            per_node=per_node,
        )


def _indexes(raw: object) -> list[int]:
    return [item for item in (raw if isinstance(raw, list) else [raw]) if isinstance(item, int)]


def _group(document: Mapping[str, object], named: Sequence[int], count: int) -> list[int]:
    """Indexes of the nodes that a template may be for: those of the group its own nodes are in."""
    routing = document.get("routing")
    groups = routing.get("groups") if isinstance(routing, Mapping) else None
    for nodes in groups.values() if isinstance(groups, Mapping) else ():
        if set(named) & set(_indexes(nodes)):
            return sorted({*named, *_indexes(nodes)})
    return list(named) or list(range(count))


def _parts(
    words: Sequence[str],
    environment: object,
    variables: Mapping[str, object],
    records: Records,
    title: str,
) -> CommandParts:
    def filled(text: str) -> str:
        return _VARIABLE.sub(lambda found: str(variables.get(found[1]) or found[0]), text)

    given = environment if isinstance(environment, Mapping) else {}
    exported = {str(name): _text(value) for name, value in given.items() if value != "DEFAULT_PORT"}
    parts = command_parts("vllm-ascend", [filled(word) for word in words], exported)
    for key in parts.unknown:
        records.guess(f"{title}: the value of {key} is not in the file; left out")
    return parts


def _record(server: _Server, benchmarks: object, content: Content, records: Records) -> dict[str, object]:
    size = devices_of(server.parts.layout)
    devices, instances = size, 1
    if server.parts.faults:
        raise RecordError(list(server.parts.faults))
    local = next((s.value for s in server.parts.settings if s.key == "--data-parallel-size-local"), "")
    if (
        server.per_node is not None
        and server.nodes * server.per_node > size
        and server.nodes > 1
        and not local
    ):
        devices = server.nodes * server.per_node
        if devices % size:
            raise RecordError(
                [f"{server.nodes} nodes of {server.per_node} are no multiple of {size} devices"]
            )
        instances = devices // size
    generation = _GENERATION.search(content.path.stem)
    precision = _PRECISION.search(server.model)
    url = records.context.source
    if url.startswith("https://github.com/") and "#" not in url and server.place.startswith("line "):
        url = f"{url}#L{server.place.removeprefix('line ')}"
    return {
        "role": server.parts.role.value,
        "model": server.model,
        "framework": "vllm-ascend",
        "hardware": records.context.hardware or (generation[1].upper() if generation else ""),
        "devices": devices,
        "nodes": server.nodes,
        "instances": instances,
        "context": _context(benchmarks),
        "precision": precision[1].lower() if precision else "",
        "layout": dict(server.parts.layout),
        "settings": [{"where": s.where.value, "key": s.key, "value": s.value} for s in server.parts.settings],
        "title": server.title,
        "source": url or None,
        "authority": Authority.VENDOR_CI.value,
    }


def _context(benchmarks: object) -> dict[str, object]:
    """Lengths and load of the first performance test that has a baseline."""
    for item in benchmarks.values() if isinstance(benchmarks, Mapping) else ():
        baseline = item.get("baseline") if isinstance(item, Mapping) else None
        if not isinstance(baseline, int | float) or baseline == _UNSET_BASELINE:
            continue
        if item.get("case_type") != "performance":
            continue
        dataset = str(item.get("dataset_path") or "")
        context: dict[str, object] = {
            "output_len": item.get("max_out_len"),
            "concurrency": item.get("batch_size"),
            "requests": item.get("num_prompts"),
            "request_rate": item.get("request_rate") or None,
            "dataset": dataset or None,
        }
        if length := _LENGTH.search(dataset + "-"):
            context["input_len"] = int(length[1]) * (1024 if length[2] else 1)
        if hit := _PREFIX_HIT.search(dataset):
            context["prefix_hit_pct"] = int(hit[1])
        return {name: value for name, value in context.items() if value is not None}
    return {}


def _words(command: object) -> list[str]:
    """A command without what comes before its options."""
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:
            return []
        return words[3:] if words[:2] == ["vllm", "serve"] else words
    return [_text(word) for word in command] if isinstance(command, list) else []


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _objects(raw: object) -> Iterator[Mapping[str, object]]:
    return (item for item in raw if isinstance(item, Mapping)) if isinstance(raw, list) else iter(())


def _place(lines: Sequence[str], name: str) -> str:
    at = next((at for at, line in enumerate(lines, 1) if "name:" in line and name in line), 1)
    return f"line {at}"


def _at(started: Sequence[int], position: int) -> int:
    return started[position] if position < len(started) else 1


FORMAT = Format(
    name="ascend-ci",
    title="CI configuration of vllm-ascend (YAML that starts servers)",
    sniff=sniff,
    read=read,
)
