"""Records an A/B test that was measured elsewhere, says what it shows, and teaches the graph its outcome."""

import random
import tempfile
from pathlib import Path

import tunegraph

QUESTION = {"model": "bert-large", "phase": "training", "hardware": "ascend-910b3", "count": 8}


def main() -> None:
    """Print the verdict, and which strategies know more now."""
    rng = random.Random(0)
    with tunegraph.open() as workspace, tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "steps.csv"
        rows = [("arm", "step_time_ms")]
        for _ in range(40):  # pairs, in the order in which they ran
            rows += [("control", str(rng.gauss(41, 0.4))), ("treatment", str(rng.gauss(38, 0.4)))]
        table.write_text("\n".join(map(",".join, rows)) + "\n")
        tests = workspace.experiments
        subject = tests.of_problem(QUESTION, "flash-attention")
        logged = tests.record(tunegraph.recorded([table], metrics=["step_time_ms"], in_order=True), subject)
        [comparison] = tests.state(logged).comparisons
        print(f"{comparison.verdict}: {comparison.interval}")
        lesson = tests.tell(logged)
        print(f"learned: {', '.join(lesson.strategies) if lesson else 'nothing'}")


if __name__ == "__main__":
    main()
