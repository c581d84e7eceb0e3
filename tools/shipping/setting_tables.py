"""Writes ``data/settings/compiled/tables.json``, the tables of settings that people keep in YAML.

``python -m tools.shipping.setting_tables`` after a change of one of them: a question reads the
JSON, as a YAML parser and its reading would take 22 ms of its CPU time.
"""

import argparse
import json
from typing import Any

import yaml

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


def main() -> None:
    """Write the tables."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0]).parse_args()
    COMPILED.write_text(as_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
