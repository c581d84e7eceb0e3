"""Writes ``data/settings/compiled``: tables of settings that people keep in YAML, and configurations by name.

``python -m tools.shipping.setting_tables`` after a change of one of them, or of the recipes of torchtune: a
question reads the JSON, as a YAML parser and its reading would take 22 ms of its CPU time.
"""

import argparse
import json
import re
from typing import Any

import yaml

from kg.terms.meanings import meaning_of, settings_of
from tools.source_tree import ROOT

FOLDER = ROOT / "data" / "settings"
NAMES = ("launches", "left_out", "meanings", "parts", "purposes", "shown_by", "successors")
"""Tables that every question reads."""
COMPILED = FOLDER / "compiled" / "tables.json"


def tables() -> dict[str, Any]:
    """The content of each by its name."""
    return {name: yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")) for name in NAMES}


def as_text() -> str:
    """The tables as JSON, a table a line."""
    rows = [f"{json.dumps(name)}: {json.dumps(table)}" for name, table in tables().items()]
    return "{" + ",\n".join(rows) + "}\n"


CONFIGURATIONS = FOLDER / "compiled" / "torchtune.json"
_CONFIGURATION = re.compile(r"/recipes/configs/(.+)\.yaml")


def configurations() -> dict[str, dict[str, str]]:
    """What torchtune's own configurations say of time and memory, by the names that ``tune run`` takes."""
    found: dict[str, dict[str, str]] = {}
    known = set(settings_of("torchtune"))
    for path in sorted((ROOT / "data" / "recipes").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = _CONFIGURATION.search(row["source"]) if row["framework"] == "torchtune" else None
            if name is not None:
                pairs = ((one["key"], one["value"]) for one in row["settings"])
                read = ((key, value) for key, value in pairs if meaning_of(key, "torchtune") in known)
                found[name[1]] = {key: value for key, value in read if value != "null"}
    return dict(sorted(found.items()))


def main() -> None:
    """Write the tables."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0]).parse_args()
    COMPILED.write_text(as_text(), encoding="utf-8")
    rows = [f"{json.dumps(name)}: {json.dumps(held)}" for name, held in configurations().items()]
    CONFIGURATIONS.write_text("{" + ",\n".join(rows) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
