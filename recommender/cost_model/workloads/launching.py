"""Host time of a forward pass: kernel by kernel, by pieces, or a graph that was captured before.

Arrays run over configurations. Times are microseconds.
"""

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.plans import Columns
from recommender.cost_model.workloads.block import BlockWork


def captured_share(s: Columns, rows: Floats, phase: str) -> Floats:
    """The value of ``graph`` that holds for a pass: decode steps are captured up to some number of rows.

    SGLang counts the requests that they are of, whatever is drafted for each.
    """
    requests = s["captured_requests"]
    beyond = (s["captured_rows"] > 0) & (rows > s["captured_rows"]) | (requests > 0) & (s["batch"] > requests)
    return np.where(beyond | (phase != "decode"), 0.0, s["graph"])


def launched_us(device: Device, s: Columns, level: Floats, work: BlockWork, phase: str) -> Floats:
    """Host time of a block of which ``level`` is captured (:func:`captured_share`).

    A prefill on Ascend is launched kernel by kernel; on GPUs where nothing of it is captured or compiled.
    """
    eager = work.kernels * _kernel_us(device)
    if phase != "decode" and not device.ascend:
        return np.where((s["graph"] > 0) & (s["prefill_graph"] > 0), PHYSICS["graph_share"], 1.0) * eager
    return np.select(
        [level == 0, level < 1],
        [eager, np.minimum(PHYSICS["piece_us"], eager)],
        PHYSICS["graph_share"] * eager,
    )


def drafting_launched_us(device: Device, s: Columns, work: BlockWork) -> Floats:
    """Host time of a block of a draft: kernel by kernel unless captured."""
    share = np.where((s["draft_graph"] > 0) & (s["graph"] >= 1), PHYSICS["graph_share"], 1.0)
    return np.asarray(work.kernels * _kernel_us(device) * share)


def between_us(device: Device, s: Columns) -> Floats:
    """Time between two steps: the host's, unless it schedules the next one ahead, and what remains."""
    least = PHYSICS["between_us"] if device.ascend else 0.0
    own = np.where(s["step_host_us"] > 0, s["step_host_us"], PHYSICS["step_host_us"])
    return np.where(s["async_scheduling"] > 0, 0.0, own) + least


def room_of(s: Columns, device: Device) -> Floats:
    """Tokens that a step has room for."""
    open_ = PHYSICS["step_room"] if device.ascend else PHYSICS["gpu_step_room"]
    return np.where(s["chunk"] > 0, s["chunk"], open_)


def _kernel_us(device: Device) -> float:
    """Host time of a kernel that no graph holds."""
    return PHYSICS["host_us"] if device.ascend else PHYSICS["gpu_host_us"]
