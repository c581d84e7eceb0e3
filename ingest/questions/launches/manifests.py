"""Commands in manifests: compose files, what in Kubernetes has containers, units of systemd, and Dockerfiles.

An image stands as the first word where nothing replaces its entry point.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ingest.files.content import ContentError
from ingest.questions.launches.shell import UNKNOWN, ShellCommand, read_script

_LOOKS = re.compile(r"^\s*-?\s*(services|containers|apiVersion|kind|leaderWorkerTemplate)\s*:", re.MULTILINE)
_DOCUMENT = re.compile(r"^---.*$", re.MULTILINE)
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")
_DEEPEST = 30
_UNIT = re.compile(r"^(ExecStart|Environment)=[-@:+!]*(.*)$", re.MULTILINE)
_DOCKERFILE = re.compile(r"^(FROM|ENV|CMD|ENTRYPOINT)\s+(.*)$", re.MULTILINE)


def is_manifest(text: str) -> bool:
    """Whether a text may be a manifest."""
    return _LOOKS.search(text) is not None


def manifest_commands(text: str) -> list[ShellCommand]:
    """The command of each container, in their order; none where the text is no manifest."""
    from ingest.files.safe_yaml import load_yaml

    found: list[ShellCommand] = []
    line = 1
    for part in _DOCUMENT.split(text):
        try:
            content = load_yaml(part.encode())
        except ContentError:
            content = None
        found += _commands(content, line, 0)
        line += part.count("\n")
    return found


def unit_commands(text: str) -> list[ShellCommand]:
    """The commands that a unit of systemd starts; none where the text is no unit."""
    lines = _UNIT.findall(text.replace("\\\n", " "))
    if not any(name == "ExecStart" for name, _ in lines):
        return []
    script = "\n".join(f"export {rest}" if name == "Environment" else rest for name, rest in lines)
    return list(read_script(script).commands)


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
    try:
        return _words(json.loads(text), environment)
    except ValueError:
        return _words(text, environment)


def _commands(content: object, line: int, depth: int) -> Iterator[ShellCommand]:
    if depth > _DEEPEST:
        return
    if isinstance(content, list):
        for item in content:
            yield from _commands(item, line, depth + 1)
    elif isinstance(content, dict):
        services = content.get("services")
        for service in (
            services.values() if isinstance(services, dict) and "apiVersion" not in content else ()
        ):
            if isinstance(service, dict):
                yield _command(
                    service, service.get("entrypoint"), service.get("command"), "environment", line
                )
        for key, value in content.items():
            if key in {"containers", "initContainers"} and isinstance(value, list):
                for container in value:
                    if isinstance(container, dict):
                        args = container.get("args")
                        yield _command(container, container.get("command"), args, "env", line)
            elif key != "services":
                yield from _commands(value, line, depth + 1)


def _command(
    container: Mapping[str, object], entry: object, command: object, variables: str, line: int
) -> ShellCommand:
    environment = _variables(container.get(variables))
    image = str(container.get("image") or "")
    words = [*(_words(entry, environment) or [image]), *_words(command, environment)]

    own = {name for word in words for name in _REFERENCE.findall(word)}

    def filled(match: re.Match[str]) -> str:
        return environment.get(match[1], f"{UNKNOWN}{match[0]}{UNKNOWN}")

    shell = "-c" in words
    return ShellCommand(
        words=tuple(word if shell else _REFERENCE.sub(filled, word) for word in words),
        line=line,
        environment={name: value for name, value in environment.items() if name not in own},
        image=image,
    )


def _words(command: object, environment: Mapping[str, str]) -> list[str]:
    if isinstance(command, list):
        return [str(item) for item in command if isinstance(item, str | int | float)]
    if isinstance(command, str):  # compose splits it as a shell would
        return [word for one in read_script(command, environment).commands for word in one.words]
    return []


def _variables(content: object) -> dict[str, str]:
    """Variables of a container: a mapping, ``NAME=value`` words, or ``{name, value}`` entries."""
    if isinstance(content, dict):
        return {str(name): _text(value) for name, value in content.items()}
    found: dict[str, str] = {}
    for item in content if isinstance(content, list) else ():
        if isinstance(item, str) and "=" in item:
            name, _, value = item.partition("=")
            found[name] = value
        elif isinstance(item, dict) and "name" in item and "value" in item:
            found[str(item["name"])] = _text(item["value"])
    return found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
