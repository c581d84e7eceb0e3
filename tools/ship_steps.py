"""Write the shipped anchors from published steps: ``data/cost_model/steps.csv`` to ``steps.json``.

    python -m tools.ship_steps WORKSPACE

The workspace has the shipped knowledge. A test fails where the two do not agree any more.
"""

from pathlib import Path

import data
from benchmarks.harness import option, parse
from benchmarks.protocols.anchoring import fit_anchors
from recommender.cost_model.anchors import STEPS_FILE
from recommender.cost_model.step_runs import measured_steps, read_runs
from recommender.workspace.workspace import Workspace


def main() -> None:
    """Fit and write them."""
    place = parse(
        __doc__, option("workspace", type=Path, help="workspace with the shipped knowledge")
    ).workspace
    folder = Path(data.__file__).parent / "cost_model"
    path = folder / "steps.csv"
    with Workspace.open(place, cache=place / "cache") as workspace:
        steps = measured_steps(read_runs(path), workspace.upkeep.question_of_run, name=path.name)
    anchors = fit_anchors(steps)
    anchors.write(folder / STEPS_FILE)
    print(f"{len(steps)} steps; deviations {anchors.deviations}, left out {anchors.errors}")


if __name__ == "__main__":
    main()
