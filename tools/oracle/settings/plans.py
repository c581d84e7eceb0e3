"""The places where each program keeps its settings."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The places of one program's settings, in all its releases: a path that a release lacks is passed over.

    Attributes:
        software: Its name in the registry.
        source: Address of a file, with ``{ref}`` and ``{path}``.
        arguments: Files and folders that build its parser.
        annotated: Files whose annotated fields become flags.
        environment: Files and folders that read environment variables.
        native: Patterns of C++ files that read some.
        foreign: Beginnings of variables that belong to other programs.
        readers: Files and folders that read JSON objects key by key.
        roots: Names that hold such an object, with its path.
        wanted: Paths whose fields are wanted.
        config: Classes whose fields tell which flag is which configuration class.
        closed: Open objects whose keys another plan or reader knows.
        beneath: Programs that it runs on, whose settings it passes on.
        package: Folder of its repository that its archives hold.
        tag: How the tag of a release is named.
        pinned: Files (``|`` between them) and pattern that name the release of a program beneath it.
        dotted: Its parser reads ``_`` in a flag as ``-``, and ``--flag.field value`` as JSON.
        positional: How many words without a flag its parser takes.
        file: How its settings are written where they are no flags: ``"json"``, ``"yaml"``, ``"overrides"``.
        dashed: Its parser takes ``-`` and ``_`` in a flag for the same.
        entry: Function that builds its parser, with the helpers it calls, where the files build others too.
        classes: Classes that a Hugging Face parser makes its flags of.
        sections: Paths of its configuration with the classes of each, by release; the empty one is the whole.
        places: Where they are written, with what carries them there: a file or nothing.
        valued: A truth of its sections is a flag that takes a value or none.
        hydra: YAML files whose keys it takes as overrides.
        several: Its sources are of several programs: a default is what their parsers agree on, no recipe's.
        table: C++ file with its table of arguments, or Rust file whose ``struct Args`` clap reads.
        abbreviates: Its parser takes the beginning of a flag for the flag.
        library: Folders that only help to find classes and constants.
        checks: Files and folders that refuse combinations.
        resolution: Functions that settle what nobody told, in their order.
        facts: What pages say of settings whose sources do not say it, by key and ``since`` a release.
        named: Pages that each describe the variable they are named after.
        writers: Settings whose default for a plain decoder is that of every model that writes text, with the
            release from which.
        aside: Settings that it hides while the programs beneath check, with the release from which.
        submodule: Folder of another repository, the address of a file in it, and the file with its commit.
    """

    software: str
    source: str
    arguments: tuple[str, ...] = ()
    annotated: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    roots: dict[str, str] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    beneath: tuple[str, ...] = ()
    package: str = ""
    tag: str = "v{}"
    pinned: dict[str, tuple[str, str]] = field(default_factory=dict)
    dotted: bool = False
    positional: int = 0
    file: str = ""
    dashed: bool = False
    entry: str = ""
    classes: tuple[str, ...] = ()
    sections: dict[str, tuple[str, ...]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    valued: bool = False
    hydra: tuple[str, ...] = ()
    several: bool = False
    table: str = ""
    abbreviates: bool = False
    library: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    resolution: tuple[str, ...] = ()
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    named: str = ""
    writers: dict[str, str] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    submodule: tuple[str, ...] = ()


def _plan(software: str, given: dict[str, Any]) -> Plan:
    words = dict(given)
    github = "https://github.com/{}/blob/{{ref}}/{{path}}"
    source = words.pop("source", "") or github.format(words.pop("repository"))
    closed = frozenset(words.pop("closed", ()))
    pinned = {name: (path, pattern) for name, (path, pattern) in words.pop("pinned", {}).items()}
    sections = {
        path: (name,) if isinstance(name, str) else tuple(name)
        for path, name in words.pop("sections", {}).items()
    }
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in words.items()
    }
    return Plan(software=software, source=source, closed=closed, pinned=pinned, sections=sections, **plain)


_READ = yaml.safe_load(Path(__file__).with_name("plans.yaml").read_text(encoding="utf-8"))
SYSTEM = frozenset(_READ.pop("system"))
"""Variables of the system, the shell and launchers, which are no settings of the program that reads them."""

PLANS = {software: _plan(software, given) for software, given in _READ.items()}
