"""Training steps simulated event by event: a world that is not the model of the diagnosis.

Hosts launch kernels one after another into a queue of their own device; a device runs them in order; a
collective begins when the last rank has come to it. Faults act on mechanisms (how long the host needs, how fast
a clock or a link is), and the profile is written down from what then happens.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.profiles.profile_files import RankFiles

COLUMNS = [
    *("Step Id", "Device_id", "Stream ID", "Name", "Type", "OP State", "Accelerator Core", "Start Time(us)"),
    *("Duration(us)", "Wait Time(us)", "Block Dim", "Input Shapes", "Input Data Types", "aicore_time(us)"),
    *(
        "aic_total_cycles",
        "aic_mac_ratio",
        "aic_scalar_ratio",
        "aic_mte1_ratio",
        "aic_mte2_ratio",
        "aic_fixpipe_ratio",
    ),
    *(
        "aiv_time(us)",
        "aiv_total_cycles",
        "aiv_vec_ratio",
        "aiv_scalar_ratio",
        "aiv_mte2_ratio",
        "aiv_mte3_ratio",
    ),
]


@dataclass(frozen=True)
class Chip:
    """A part.

    Attributes:
        name: Its name.
        cores: Cube cores; twice as many vector cores where they are apart.
        clock_mhz: Of the cores.
    """

    name: str
    cores: int
    clock_mhz: float


HOME = Chip("Ascend 910B1", 24, 1800.0)
"""On which the analysers were debugged."""
LEFT_OUT = Chip("Ascend 910B4", 20, 1500.0)
"""On which nothing was: figures of data/hardware."""


LINK_GB_S, PACKET_MB, PACKET_FIXED_US = 20.0, 16.777216, 15.0
"""Rate, largest packet and fixed cost of a packet of every link."""


@dataclass
class World:
    """One run.

    Attributes:
        layers: Blocks of the model.
        launch_us: What the host needs for a launch.
        pauses_us: Where the host pauses: by number of the launch.
        work: Work of each rank as part of the mean.
        extra: Kinds of kernels added to each block, with their time.
        overlap: Reductions run beside the backward pass.
        gradients_mb: What each reduction moves, by unit of the run's size.
        chip: On what it runs.
    """

    layers: int = 8
    launch_us: float = 6.0
    pauses_us: dict[int, float] = field(default_factory=dict)
    work: list[float] = field(default_factory=lambda: [1.0] * 4)
    extra: list[tuple[str, float, int]] = field(default_factory=list)
    overlap: bool = False
    gradients_mb: float = 10.0
    chip: Chip = HOME


def block(world: World, random: np.random.Generator, size: float) -> list[tuple[str, str, float]]:
    """Kind, core and time of the kernels of a block."""
    kinds = [
        ("MatMulV3", "AI_CORE", 400 * size), ("FlashAttentionScore", "MIX_AIC", 300 * size),
        ("MatMulV3", "AI_CORE", 300 * size), ("RmsNorm", "AI_VECTOR_CORE", 40 * size),
        ("SwiGlu", "AI_VECTOR_CORE", 60 * size), ("MatMulV2", "AI_CORE", 500 * size),
        ("RmsNorm", "AI_VECTOR_CORE", 40 * size),
    ]  # fmt: skip
    for kind, spent, count in world.extra:
        kinds += [(kind, "AI_VECTOR_CORE", spent / count)] * count
    return [(kind, core, spent * float(random.lognormal(0, 0.03))) for kind, core, spent in kinds]


def simulate(world: World, random: np.random.Generator) -> list[RankFiles]:
    """All ranks of one step."""
    size = float(random.uniform(0.6, 1.6))
    work = [block(world, random, size) for _ in range(2 * world.layers)]
    host, device, link = [0.0] * 4, [0.0] * 4, [0.0] * 4
    runs: list[list[tuple[dict[str, str], float, float]]] = [[] for _ in range(4)]
    comm: list[dict[str, Any]] = [{} for _ in range(4)]
    launched = [0] * 4
    for number, kernels in enumerate(work):
        for rank in range(4):
            for kind, core, base in kernels:
                host[rank] += world.launch_us + (
                    world.pauses_us.get(launched[rank], 0.0) if rank == 0 else 0.0
                )
                launched[rank] += 1
                spent = base * world.work[rank]
                start = max(host[rank], device[rank])
                device[rank] = start + spent
                runs[rank].append((kernel(kind, core, spent, rank, random, world.chip), start, spent))
        if number < world.layers or number % 2:
            continue
        begun = [max(host[rank] + world.launch_us, device[rank], link[rank]) for rank in range(4)]
        last = max(begun)
        megabytes = world.gradients_mb * size
        packets = max(1.0, megabytes / PACKET_MB)
        moving = megabytes / LINK_GB_S * 1e3 + packets * PACKET_FIXED_US
        end = last + moving
        for rank in range(4):
            name = f"hcom_allReduce__100_{number}_1"
            cells = {
                "Name": name,
                "Type": "hcom_allReduce_",
                "Accelerator Core": "COMMUNICATION",
                "OP State": "N/A",
            }
            runs[rank].append(({c: cells.get(c, "N/A") for c in COLUMNS}, begun[rank], end - begun[rank]))
            wait, own = (end - begun[rank] - moving) / 1e3, moving / 1e3
            comm[rank][f"{name}@1"] = collective_record(end - begun[rank], wait, own, megabytes)
            link[rank] = end
            if not world.overlap:
                device[rank] = end
            host[rank] += world.launch_us
    return [files(rank, world, runs[rank], comm[rank], size) for rank in range(4)]


def kernel(
    kind: str, core: str, spent: float, rank: int, random: np.random.Generator, chip: Chip
) -> dict[str, str]:
    """Cells of one kernel; counters as its kind has them."""
    cells = dict.fromkeys(COLUMNS, "0.0")
    cube = core in {"AI_CORE", "MIX_AIC"}
    cells.update({"Step Id": "7", "Device_id": str(rank), "Stream ID": "2", "Name": f"aclnn{kind}_{kind}", "Type": kind,
                  "OP State": "static", "Accelerator Core": core, "Block Dim": str(chip.cores if cube else 2 * chip.cores),
                  "Input Shapes": '"4096,4096;4096,4096"', "Input Data Types": "DT_BF16;DT_BF16"})  # fmt: skip
    own = 0.97 * spent
    cycles = own * chip.clock_mhz
    if cube:
        cells.update({"aicore_time(us)": f"{own:.3f}", "aic_total_cycles": f"{cycles * chip.cores:.0f}"})
        cells.update({"aic_mac_ratio": f"{random.uniform(0.82, 0.92):.3f}", "aic_mte2_ratio": f"{random.uniform(0.5, 0.75):.3f}",
                      "aic_fixpipe_ratio": "0.05", "aic_scalar_ratio": "0.1", "aic_mte1_ratio": "0.4"})  # fmt: skip
    else:
        cells.update({"aiv_time(us)": f"{own:.3f}", "aiv_total_cycles": f"{cycles * 2 * chip.cores:.0f}"})
        cells.update({"aiv_vec_ratio": f"{random.uniform(0.5, 0.7):.3f}", "aiv_mte2_ratio": f"{random.uniform(0.5, 0.7):.3f}",
                      "aiv_mte3_ratio": "0.4", "aiv_scalar_ratio": "0.1"})  # fmt: skip
    return cells


def collective_record(elapse_us: float, wait_ms: float, moving_ms: float, megabytes: float) -> dict[str, Any]:
    """One operator as communication.json has it."""
    packet = min(PACKET_MB, megabytes)
    count = max(1, round(megabytes / packet))
    link = {"Transit Size(MB)": megabytes, "Transit Time(ms)": moving_ms, "Bandwidth(GB/s)": megabytes / moving_ms,
            "Large Packet Ratio": 0, "Size Distribution": {f"{round(packet * 1e6) // 512 * 512 / 1e6}": [count, moving_ms]}}  # fmt: skip
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": elapse_us / 1e3, "Transit Time(ms)": moving_ms,
            "Wait Time(ms)": wait_ms, "Synchronization Time(ms)": wait_ms, "Idle Time(ms)": 0.0},
        "Communication Bandwidth Info": {"HCCS": link},
    }  # fmt: skip


def files(number: int, world: World, runs: list[Any], comm: dict[str, Any], size: float) -> RankFiles:
    rows = [cells for cells, _, _ in runs]
    moved = world.gradients_mb * size * len(comm)
    links = {
        f"{number}-{peer}": {
            "Transport Type": "HCCS", "Transit Size(MB)": moved, "Transit Time(ms)": moved / LINK_GB_S,
            "Bandwidth(GB/s)": LINK_GB_S}
        for peer in range(4) if peer != number
    }  # fmt: skip
    apis = [
        {"Level": level, "API Name": name, "Time(us)": f"{spent:.1f}", "Count": str(count), "Avg(us)": f"{spent / count:.2f}",
         "Min(us)": "1", "Max(us)": f"{2 * spent / count:.1f}", "Variance": "0"}
        for level, name, spent, count in [("acl", "aclrtLaunchKernel", world.launch_us * len(rows), len(rows))]
    ]  # fmt: skip
    return RankFiles(
        Path(), "kernel_details.csv", COLUMNS, rows, np.array([s for _, s, _ in runs]), np.array([d for _, _, d in runs]),
        communication={"step7": {"collective": comm, "p2p": {}}},
        matrix={"step7": {"collective": {"allreduce-total@1": links}, "p2p": {}}}, apis=apis, step="7", rank=number,
    )  # fmt: skip


def write_trace(path: Path, size: int) -> None:
    """A trace of about ``size`` bytes: kernels and the operators of the host that launched them."""
    with path.open("w") as file:
        file.write('[{"name":"process_name","pid":1,"ph":"M","args":{"name":"Ascend Hardware"}}')
        written = number = 0
        while written < size:
            parts = []
            for _ in range(1000):
                number += 1
                at = 1_736_408_883_000_000 + 40 * number
                device = {
                    "name": "aclnnMatmul_MatMulCommon_MatMulV2",
                    "pid": 2,
                    "tid": 2,
                    "ts": f"{at}.250",
                    "dur": 35.84,
                    "args": {
                        "Model Id": 4294967295,
                        "Task Type": "AI_CORE",
                        "Physic Stream Id": 2,
                        "Task Id": number,
                        "Batch Id": 0,
                        "Subtask Id": 4294967295,
                        "connection_id": number,
                    },
                    "ph": "X",
                }
                host = {
                    "ph": "X",
                    "name": "aten::matmul",
                    "pid": 3,
                    "tid": 3,
                    "ts": f"{at - 50}.930",
                    "dur": 15.57,
                    "cat": "cpu_op",
                    "args": {"Sequence number": number, "Fwd thread id": 0},
                }
                parts.append(f",{json.dumps(device)},{json.dumps(host)}")
            text = "".join(parts)
            written += len(text)
            file.write(text)
        file.write("]")
