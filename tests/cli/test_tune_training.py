"""``tunegraph tune`` of a training run: torch on two processes that average their gradients, on the processor."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch: pip install torch"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc"),
]
TRAIN = """
import os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)))
best = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.randn(256, 64)
for step in range(1, 1000):
    loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
    best.zero_grad(); loss.backward(); best.step()
    time.sleep(float(os.environ.get("LOADER_S", "0")))  # a loader that is not ready
    if dist.get_rank() == 0:
        print(f"step {step} loss: {loss.item():.4f}")
"""


def test_two_processes_of_torch(tmp_path: Path, empty_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "train.sh").write_text(
        f"export LOADER_S=${{LOADER_S:-0.2}}\n{sys.executable} -m torch.distributed.run --standalone "
        "--nproc-per-node 2 train.py\n"
    )
    words = ["tune", "train.sh", "--train", "--steps", "6", "--change", "LOADER_S=0", "--json"]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tunegraph")), "--workspace", str(empty_path), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["metric"], found["verdict"]) == ("step_time", "better")
    assert found["confirmation"]["treatments"][0]["ratio_low"] > 1
