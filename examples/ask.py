"""Asks which configurations to try first for Qwen3-32B on four Ascend 910B3, and why the first of them."""

import tunegraph

QUESTION = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 4}


def main() -> None:
    """Print the three best answers with their gains, then the reasons for the first."""
    with tunegraph.open() as workspace:
        problem, notes = workspace.problem(QUESTION)
        answer = workspace.recommend(problem, k=3, notes=notes)
        for item in answer:
            gain = "no gain of its own" if item.gain is None else f"{item.gain.factor:.2f}x"
            print(f"{item.title}: {item.configuration} ({gain}; {item.basis})")
        workspace.remember(answer, QUESTION, 3)
        first = next(iter(answer))
        print(workspace.explain(first.id).headline)


if __name__ == "__main__":
    main()
