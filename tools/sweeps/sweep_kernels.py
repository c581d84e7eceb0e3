"""Measure a shipped C kernel on this machine: every configuration of its space, on several shapes, as cases.

    python -m tools.sweeps.sweep_kernels attention --hardware epyc-virtual-25-17 \
        --out data/cases/tiled_attention.jsonl.gz [--cpu-s 600] [--share 0.05]

Kernels and their spaces are in ``benchmarks.worlds.sweep_spaces``. Each configuration is built once and run
on all shapes, in random order (seed 0), so that a drift of the machine favours none. A time is the mean
over the repeats of the longest CPU time of a thread, after one warm-up run. A build that fails is a failed
case, with what the compiler said. The last line is JSON.
"""

import argparse
import gzip
import json
import random
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from benchmarks.harness import last_line
from benchmarks.protocols.processes import ROOT
from benchmarks.worlds.sweep_spaces import BUILDS, SPACES, THREADS, SweptSpace


def build(space: SweptSpace, config: dict[str, str | int], binary: Path) -> str:
    """Compile one configuration; returns what went wrong, or nothing."""
    defines = [f"-D{name.upper()}={config[name]}" for name in space.defines]
    command = [str(config["compiler"]), "-std=c11", *shlex.split(str(config["flags"])), *defines]
    done = subprocess.run(
        [*command, str(ROOT / "data" / "kernels" / space.source), "-o", str(binary), "-pthread", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if "error" in line] or ["the build failed"]
    return said[0].partition("error")[2].lstrip(": ")[:120]


def outcome(binary: Path, shape: Sequence[int], threads: int, repeats: int) -> dict[str, object]:
    """The time of one configuration that was built."""
    command = [str(binary), *map(str, shape), str(threads), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    value, spread = float(f"{found['time_s']:.5g}"), float(f"{found['stdev_s']:.3g}")
    return {"value": value, "status": "ok", "std": spread, "n": repeats}


def processor() -> str:
    """Name, family and model that the processor reports."""
    found: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return f"{found.get('model name', 'unknown')} family {found.get('cpu family')} model {found.get('model')}"


def versions() -> dict[str, str]:
    """Version of each compiler that is there."""
    return {
        str(name): subprocess.run(
            [str(name), "-dumpfullversion" if name == "gcc" else "-dumpversion"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in BUILDS["compiler"]
        if shutil.which(str(name))
    }


def cpu_s() -> float:
    """CPU seconds of this process and of those it waited for."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def open_text(path: Path) -> TextIO:
    """A text file to write, packed where its name ends in ``.gz``."""
    return (
        gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8")
    )


def record(
    space: SweptSpace, shape: Sequence[int], config: dict[str, str | int], told: dict[str, object]
) -> dict[str, object]:
    """The line of a case, but for hardware and software."""
    return {
        "kind": "measured",
        "task": {
            "kind": "kernel",
            "op": space.operator,
            "shape": dict(zip(space.sizes, shape, strict=True)),
            "dtype": "float32",
        },
        "config": config,
        "outcome": {"metric": "kernel_time", "unit": "s", "better": "lower", **told},
        "source": {
            "title": f"tunegraph: the C kernel data/kernels/{space.source}, measured",
            "path": f"data/kernels/{space.source}",
            "licence": "Apache-2.0",
            "note": (
                "two virtual cores shared with other work; time: longest CPU time of a thread, mean of the"
                " repeats after a warm-up"
            ),
        },
    }


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel", choices=sorted(SPACES))
    parser.add_argument("--hardware", required=True, help="node of the hardware tree that this machine is")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu-s", type=float, default=600.0, help="stop after this many CPU seconds")
    parser.add_argument("--share", type=float, default=1.0, help="of the builds, drawn at random")
    options = parser.parse_args()
    space, software = SPACES[options.kernel], versions()
    chosen = [config for config in space.builds() if config["compiler"] in software]
    for name in set(BUILDS["compiler"]) - set(software):
        print(f"{name} is not installed: its builds are left out", file=sys.stderr)
    random.Random(0).shuffle(chosen)
    chosen = chosen[: max(1, round(len(chosen) * options.share))]
    hardware = {"name": options.hardware, "reported_name": processor(), "count": 1}
    written, built = 0, 0
    with open_text(options.out) as stream, tempfile.TemporaryDirectory() as place:
        binary = Path(place) / "kernel"
        for config in chosen:
            if cpu_s() > options.cpu_s:
                break
            fault, built = build(space, config, binary), built + 1
            for threads in THREADS:
                for shape in space.shapes:
                    told: dict[str, object] = (
                        {"value": None, "status": "failed", "reason": fault}
                        if fault
                        else outcome(binary, shape, threads, space.repeats)
                    )
                    line = record(space, shape, {**config, "threads": threads}, told)
                    used = {str(config["compiler"]): software[str(config["compiler"])]}
                    stream.write(
                        json.dumps({**line, "hardware": hardware, "software": used}, separators=(",", ":"))
                    )
                    stream.write("\n")
                    written += 1
    last_line(
        {"rows": written, "builds": built, "of": len(chosen), "cpu_s": round(cpu_s()), "software": software}
    )


if __name__ == "__main__":
    main()
