"""Runs of kernels one after another, as a profile."""

from dataclasses import replace

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Profile, Rank

PRODUCT = ("MatMulV3", "AI_CORE", 100.0, "4096,4096;4096,4096", "4096,4096")


def run(work: list[tuple[str, str, float, str, str]]) -> Profile:
    builder = KernelBuilder("kernel_details.csv")
    at = 0.0
    for row, (kind, core, spent, reads, writes) in enumerate(work, 2):
        builder.add(
            row, round(at * 1e3), duration_us=spent, name=kind, kind=kind, core=core, stream="2",
            input_shapes=reads, output_shapes=writes,
        )  # fmt: skip
        at += spent + 0.5
    kernels = builder.done()
    step = replace(split_steps(kernels)[0], is_counted=False)
    return Profile(
        path="run", ranks=(Rank(rank=0, folder="r", layout="test", steps=(step,), kernels=kernels),)
    )
