"""Names what cost time in a profile of an Ascend step: here one whose kernels are casts by a third."""

import tempfile
from pathlib import Path

import tunegraph

HEADER = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"


def write_profile(folder: Path) -> None:
    """The two tables of a rank that the Ascend PyTorch Profiler writes, three hundred kernels long."""
    folder.mkdir(parents=True)
    kinds = [("Cast", "AI_VECTOR_CORE") if at % 3 == 2 else ("MatMulV3", "AI_CORE") for at in range(300)]
    lines = [
        f"7,{kind}_{at},{kind},{core},1700000000{100.5 * at:06.1f},100,0.5,24"
        for at, (kind, core) in enumerate(kinds)
    ]
    (folder / "kernel_details.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    names = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage"
    (folder / "step_trace_time.csv").write_text(f"{names}\n7,30000,0,0,0,149.5,30149.5\n")


def main() -> None:
    """Print each cause with its probability and what its removal may bring."""
    with tunegraph.open() as workspace, tempfile.TemporaryDirectory() as place:
        write_profile(Path(place) / "host_ascend_pt" / "ASCEND_PROFILER_OUTPUT")
        answer = workspace.diagnose(Path(place), hardware="ascend-910b3")
        for finding in answer.diagnosis.findings:
            cause = finding.cause
            print(f"{cause.node}, probability {cause.chance:.0%}: at most {cause.ceiling:.2f}x without it")


if __name__ == "__main__":
    main()
