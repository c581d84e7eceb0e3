"""Runs the notebooks in ``examples/`` and keeps what they show: ``python -m tools.recording.notebooks``.

A cell runs as in Jupyter: what it prints is a stream, and its last expression is shown by its
``_repr_mimebundle_``, or by ``repr``.
"""

import argparse
import ast
import io
import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the code cells of a notebook in order, in the working folder.

    Returns:
        The outputs of each code cell, in the form of notebooks (nbformat 4).
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return [_run("".join(cell["source"]), names, number) for number, cell in enumerate(codes, 1)]


def kinds(outputs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What the outputs of a cell are, without what stands in them."""
    return [(item["output_type"], *sorted(item.get("data", ()))) for item in outputs]


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    end = tree.body[-1] if tree.body else None
    last = end if isinstance(end, ast.Expr) else None
    if last is not None:
        tree.body.pop()
    printed, value = io.StringIO(), None
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102  our own notebooks
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None and not source.rstrip().endswith(";"):
        bundle = (
            value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {"text/plain": repr(value)}
        )
        data = {kind: _lines(text) for kind, text in bundle.items()}
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        outputs.append(shown)
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run all notebooks with a workspace of their own, and write them with their outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="notebooks; all if none is named")
    wanted = parser.parse_args().names or sorted(path.name for path in FOLDER.glob("*.ipynb"))
    with TemporaryDirectory() as place:
        os.environ["TUNEGRAPH_WORKSPACE"] = str(Path(place) / "workspace")
        for name in wanted:
            path = FOLDER / name
            notebook = json.loads(path.read_text(encoding="utf-8"))
            with TemporaryDirectory() as desk, chdir(desk):
                results = run_cells(notebook)
            codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for number, (cell, outputs) in enumerate(zip(codes, results, strict=True), 1):
                cell |= {"outputs": outputs, "execution_count": number}
            path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            print(f"{name}: {len(codes)} cells")


if __name__ == "__main__":
    main()
