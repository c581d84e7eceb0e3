"""Commands in manifests: compose, Kubernetes and what extends it, vLLM's Helm chart, systemd, Dockerfiles.

An image stands as the first word where nothing replaces its entry point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.questions.launches.launch_files import table_in
from ingest.questions.launches.script import UNKNOWN, ShellCommand
from ingest.questions.launches.shell import read_script
from ingest.questions.launches.variables import COMPOSED, DEVICE_LABELS
from kg.nouns.values import parse_json

if TYPE_CHECKING:
    from ingest.files.yaml_nodes import YamlNode

_LOOKS = re.compile(
    r"^[^\S\n]*+-?[^\S\n]*+(services|containers|apiVersion|kind|leaderWorkerTemplate)[^\S\n]*+:", re.MULTILINE
)
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_]\w*)\)")
"""As Kubernetes fills a word: k8s.io/kubernetes, third_party/forked/golang/expansion/expand.go."""
_INTERPOLATED = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)(?::?-([^}]{0,999}+))?[^}]{0,999}+\}|\$([A-Za-z_]\w*)")
_DEEPEST = 30
_UNIT = re.compile(r"^(ExecStart|Environment|command|environment)[ ]*=[ ]*[-@:+!]*(.*)$", re.MULTILINE)
_PROGRAM = re.compile(r"^\[program:", re.MULTILINE)
_MAKE = re.compile(r"^([A-Za-z_]\w*)[ \t]*[:?+]?=[ \t]*(.*)$", re.MULTILINE)
_RECIPE = re.compile(r"^[\w.-]+[ \t]*:(?!=)[^\n]*\n(?=\t)", re.MULTILINE)
_SEPARATOR = re.compile(r",(?=[A-Za-z_]\w*=)")
_ENV_LINE = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=(.*?)(?:(?<![ \t])[ \t]++#.*)?$", re.MULTILINE
)
_CHART = re.compile(r"^[ ]*modelSpec[ ]*:", re.MULTILINE)
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_SIZES = ("maxModelLen", "dtype", "tensorParallelSize", "maxNumSeqs", "gpuMemoryUtilization", "maxLoras")
_GIVEN = "nvidia.com/gpu"
"""Devices that the chart asks for where ``requestGPUType`` names no others."""
_GROUP = {"size", "workerTemplate"}
"""Keys of what a LeaderWorkerSet copies: it tells each of its pods how many there are."""
_MAIN = "mainContainer"
"""Of a DynamoGraphDeployment of NVIDIA Dynamo: the container of a service, among what else its pod has."""
_RUNTIME = "modelFormat"
"""Of an InferenceService of KServe: what serves the model, in place of an image."""
_DOCKERFILE = re.compile(r"^(FROM|ENV|CMD|ENTRYPOINT)\s+(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container of a manifest.

    Attributes:
        command: What it runs.
        words: The node behind each word of the command; None for the image.
        node: Of the container.
        keys: Names of its entry point, its command and its variables, as its kind of manifest has them.
    """

    command: ShellCommand
    words: tuple[YamlNode | None, ...]
    node: YamlNode
    keys: tuple[str, str, str]

    @property
    def variables(self) -> YamlNode | None:
        """The node of its variables; None where it has none."""
        return self.node.keys().get(self.keys[2])


def is_manifest(text: str) -> bool:
    """True if a text may be a manifest."""
    return _LOOKS.search(text) is not None


def containers(text: str, variables: Mapping[str, str] = MappingProxyType({})) -> list[Container]:
    """The containers of a manifest, in their order; none where the text is no manifest.

    Args:
        text: The manifest.
        variables: Variables that compose fills in.
    """
    from ingest.files.yaml_nodes import yaml_documents  # a question without files needs no parser

    return [found for node in yaml_documents(text) for found in _containers(node, variables, 0)]


def manifest_commands(text: str, env_file: str | None = None) -> list[ShellCommand]:
    """The command of each container, in their order; none where the text is no manifest.

    Args:
        text: The manifest.
        env_file: The ``.env`` beside it, by which compose fills in variables; None where there is none.
    """
    given = {name: value.strip().strip("\"'") for name, value in _ENV_LINE.findall(env_file or "")}
    return [one.command for one in containers(text, given)]


def unit_commands(text: str) -> list[ShellCommand]:
    """The commands that a unit of systemd or a file of supervisord starts; none where the text is neither."""
    lines = _UNIT.findall(text.replace("\\\n", " "))
    if not any(name == "ExecStart" for name, _ in lines) and _PROGRAM.search(text) is None:
        return []
    script = [
        f"export {rest}" if name == "Environment" else
        f"export {_SEPARATOR.sub(' ', rest)}" if name == "environment" else rest
        for name, rest in lines
    ]  # fmt: skip
    return list(read_script("\n".join(script)).commands)


def recipe_commands(text: str) -> list[ShellCommand]:
    """The commands of a Makefile's recipes, its variables filled in; none where the text is none."""
    if _RECIPE.search(text) is None:
        return []
    values: dict[str, str] = {name: value.strip() for name, value in _MAKE.findall(text)}

    def filled(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], f"${match[1] or match[2]}")

    recipes = [line[1:].lstrip("@-") if line.startswith("\t") else "" for line in text.split("\n")]
    script = re.sub(r"\$\((\w+)\)|\$\{(\w+)\}", filled, "\n".join(recipes))
    return list(read_script(script.replace("$$", "$")).commands)


def image_commands(text: str) -> list[ShellCommand]:
    """The command that a Dockerfile ends with; none where the text is none."""
    said: dict[str, str] = {}
    environment: dict[str, str] = {}
    for name, rest in _DOCKERFILE.findall(text.replace("\\\n", " ")):
        said[name] = rest.strip()
        if name == "ENV":
            words = [word for one in read_script(f"env {rest}").commands for word in one.words[1:]]
            pairs = (word.partition("=") for word in words if "=" in word)
            environment |= {variable: value for variable, _, value in pairs}
    if "FROM" not in said or not {"CMD", "ENTRYPOINT"} & set(said):
        return []
    image = said["FROM"].split()[0]
    entry, command = (_listed(said.get(name, ""), environment) for name in ("ENTRYPOINT", "CMD"))
    return [ShellCommand(words=(*(entry or [image]), *command), environment=environment, image=image)]


def _listed(text: str, environment: Mapping[str, str]) -> list[str]:
    content = parse_json(text)
    return [str(item) for item in content] if isinstance(content, list) else _split(text, environment)


def _containers(
    node: YamlNode, variables: Mapping[str, str], depth: int, group: str = ""
) -> Iterator[Container]:
    if depth > _DEEPEST:
        return
    for item in node.items or ():
        yield from _containers(item, variables, depth + 1, group)
    pairs = node.keys()
    group = pairs["size"].plain_text if pairs.keys() >= _GROUP else group
    if depth == 0 and "services" in pairs and "apiVersion" not in pairs:
        for service in pairs.pop("services").keys().values():
            if service.pairs is not None:
                yield _container(service, variables, "entrypoint", "command", "environment")
    for key, value in pairs.items():
        if key in {"containers", "initContainers"} and value.items is not None:
            for item in value.items:
                if item.pairs is not None:
                    yield _container(item, None, "command", "args", "env", pairs.get("nodeSelector"), group)
        elif value.pairs is not None and (key == _MAIN or {key, *value.keys()} >= {"model", _RUNTIME}):
            yield _container(value, None, "command", "args", "env", pairs.get("nodeSelector"))
        else:
            yield from _containers(value, variables, depth + 1, group)


def _container(
    node: YamlNode,
    given: Mapping[str, str] | None,
    entry: str,
    command: str,
    variables: str,
    selector: YamlNode | None = None,
    group: str = "",
) -> Container:
    pairs = node.keys()
    environment = {"LWS_GROUP_SIZE": group} if group else {}
    environment |= {name: text for name, text, _ in variables_of(pairs.get(variables))}
    image = pairs["image"].plain_text if "image" in pairs else ""
    if _RUNTIME in pairs and not image:
        named = pairs[_RUNTIME].keys().get("name")
        image = f"kserve/{named.plain_text}server" if named is not None else ""
    image = image if given is None else _interpolated(image, given)
    found = _words(pairs.get(entry), environment, given) or [(image, None)]
    found += _words(pairs.get(command), environment, given)
    words = [word for word, _ in found]
    own = {name for word in words for name in _REFERENCE.findall(word)}

    def filled(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return match[0] if is_shell else environment.get(match[1], f"{UNKNOWN}{match[0]}{UNKNOWN}")

    devices = dict(_devices(pairs))
    labels = selector.keys() if selector is not None else {}
    devices |= {name: value.plain_text for name, value in labels.items() if name in DEVICE_LABELS}
    is_shell = "-c" in words
    return Container(
        command=ShellCommand(
            words=tuple(words if given is not None else (_REFERENCE.sub(filled, word) for word in words)),
            line=node.line,
            environment={name: value for name, value in environment.items() if name not in own} | devices,
            image=image,
        ),
        words=tuple(part for _, part in found),
        node=node,
        keys=(entry, command, variables),
    )


def _devices(pairs: Mapping[str, YamlNode]) -> Iterator[tuple[str, str]]:
    """Devices that a container is given, as variables show them: ``nvidia.com/gpu``, or those of compose."""
    for node in _inside(pairs, "resources", "limits"):
        yield from ((name, value.plain_text) for name, value in node.keys().items() if "/" in name)
    for node in _inside(pairs, "deploy", "resources", "reservations", "devices"):
        for item in node.items or ():
            held = item.keys()
            if "count" in held:
                yield COMPOSED, held["count"].plain_text
            elif "device_ids" in held:
                yield COMPOSED, str(len(held["device_ids"].items or ()))


def _inside(pairs: Mapping[str, YamlNode], first: str, *rest: str) -> Iterator[YamlNode]:
    """The node at a path of keys, if there is one."""
    if (node := pairs.get(first)) is not None:
        yield from _inside(node.keys(), *rest) if rest else (node,)


def _words(
    node: YamlNode | None, environment: Mapping[str, str], variables: Mapping[str, str] | None
) -> list[tuple[str, YamlNode | None]]:
    """The words of a command, each with its node: items of a list, or a text that compose splits."""
    if node is None:
        return []
    if node.is_scalar:
        return [(word, node) for word in _split(node.plain_text, {**environment, **(variables or {})})]
    items = [item for item in node.items or () if item.is_scalar]
    return [(item.text if variables is None else _interpolated(item.text, variables), item) for item in items]


def _split(text: str, environment: Mapping[str, str]) -> list[str]:
    return [word for one in read_script(text, environment).commands for word in one.words]


def _interpolated(text: str, variables: Mapping[str, str]) -> str:
    """A word of compose with the variables that it names, or their defaults."""

    def filled(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if (value := variables.get(match[1] or match[3])) is not None:
            return value
        return match[2] if match[2] is not None else f"{UNKNOWN}{match[0]}{UNKNOWN}"

    return _INTERPOLATED.sub(filled, text)


def variables_of(node: YamlNode | None) -> Iterator[tuple[str, str, YamlNode]]:
    """Variables of a container with their values and nodes: a mapping, words, or ``{name, value}``."""
    if node is None:
        return
    for name, value in node.keys().items():
        if value.is_scalar:
            yield name, value.plain_text, value
    for item in node.items or ():
        entry = item.keys()
        if item.is_scalar and "=" in item.text:
            name, _, text = item.text.partition("=")
            yield name, text, item
        elif {"name", "value"} <= set(entry) and entry["value"].is_scalar:
            yield entry["name"].text, entry["value"].plain_text, entry["value"]


def chart_commands(text: str) -> list[ShellCommand]:
    """The command that vLLM's chart makes of each model in its values; none where a text is something else.

    Source:
        vllm-project/production-stack, helm/templates/deployment-vllm-multi.yaml.
    """
    if _CHART.search(text) is None:
        return []
    content = table_in(text)
    engines = content.get("servingEngineSpec", content)
    models = engines.get("modelSpec") if isinstance(engines, dict) else None
    held = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    return [_of_chart(one) for one in held if one.get("modelURL")]


def _of_chart(model: Mapping[str, object]) -> ShellCommand:
    config = model.get("vllmConfig")
    named = config if isinstance(config, dict) else {}
    extra = named.get("extraArgs")
    listed = [str(word) for word in extra] if isinstance(extra, list) else []
    pairs = model.get("env")
    rows = [one for one in pairs if isinstance(one, dict)] if isinstance(pairs, list) else []
    environment = {str(one["name"]): str(one["value"]) for one in rows if {"name", "value"} <= one.keys()}
    if (count := model.get("requestGPU")) is not None:
        environment[str(model.get("requestGPUType") or _GIVEN)] = str(count)
    return ShellCommand(
        words=("vllm", "serve", str(model["modelURL"]), *_flags(model, named), *listed),
        environment=environment,
        image=f"{model.get('repository', '')}:{model.get('tag', '')}",
    )


def _flags(model: Mapping[str, object], config: Mapping[str, object]) -> Iterator[str]:
    if model.get("enableLoRA"):
        yield "--enable-lora"
    if config:  # without the word, the chart switches the cache of prefixes off
        yield f"--{'' if config.get('enablePrefixCaching') else 'no-'}enable-prefix-caching"
    if "enableChunkedPrefill" in config:
        yield f"--{'' if config['enableChunkedPrefill'] else 'no-'}enable-chunked-prefill"
    for name in _SIZES:
        if name in config:
            yield f"--{_CAPITAL.sub(lambda found: f'-{found[0].lower()}', name)}"
            yield str(config[name])
