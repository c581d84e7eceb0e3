"""Training loops of the user's own: network, loader, formats and what is compiled, read and never run."""

import pytest

from ingest.questions.launches.launch import read_launch, read_launches
from ingest.questions.launches.running import running_settings
from ingest.questions.patches.script_edits import ScriptEdits, edited
from kg.errors import InputError

LOOP = """
import torch, timm
from torch.utils.data import DataLoader
from torchvision import models
from torch.nn.parallel import DistributedDataParallel as DDP
{setup}
train = DataLoader(ds, batch_size=64, {loader})
check = DataLoader(other, batch_size=512, num_workers=9)
for x, y in train:
    loss = net(x.cuda()).sum()
    loss.backward()
"""


def told(setup: str, loader: str = "") -> dict[str, object]:
    return dict(read_launch(LOOP.format(setup=setup, loader=loader), "train.py").question)


def test_a_loop_says_network_loader_and_format() -> None:
    question = told("net = models.resnet50()")
    assert (question["model"], question["precision"]) == ("resnet50", "float32")
    assert (question["phase"], question["software"]) == ("training", {"torch": ""})
    assert question["current"] == {"batch_size": 64, "num_workers": 0}


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("net = torch.compile(DDP(net))", {"torch.compile": True, "ddp": True}),
        ("torch.backends.cudnn.benchmark = True", {"cudnn.benchmark": True}),
        ("torch.set_float32_matmul_precision('high')", {"float32_matmul_precision": "high"}),
        ("torch.backends.cuda.matmul.allow_tf32 = False", {"float32_matmul_precision": "highest"}),
        ("opt = torch.optim.AdamW(net.parameters(), fused=True)", {"fused": True}),
        ("net.to(memory_format=torch.channels_last)", {"memory_format": "channels_last"}),
        ("net = torch.nn.DataParallel(net)", {"DataParallel": True}),
    ],
)
def test_each_call_is_a_setting(line: str, settings: dict[str, object]) -> None:
    question = told(f"net = timm.create_model('vit_base_patch16_224.x')\n{line}", "num_workers=4")
    assert question["current"] == {"batch_size": 64, "num_workers": 4, **settings}
    assert (question["model"], question["precision"]) == ("vit_base_patch16_224", "float32")


@pytest.mark.parametrize(
    ("line", "name"), [("dtype=torch.bfloat16", "bfloat16"), ("", "float16"), ("torch.bfloat16", "bfloat16")]
)
def test_autocast_is_no_32_bit(line: str, name: str) -> None:
    question = told(f"net = models.resnet18()\nwith torch.autocast('cuda', {line}): pass")
    assert isinstance(question["current"], dict)
    assert (question["current"]["torch.autocast"], "precision" in question) == (name, False)


LIGHTNING = """
import lightning as L, torchvision
from torch.utils.data import DataLoader
class Net(L.LightningModule):
    def __init__(self):
        self.net = torchvision.models.resnet50()
    def train_dataloader(self):
        return DataLoader(ds, batch_size=64)
L.Trainer(devices=4, num_nodes=2, {more}).fit(Net())
"""


@pytest.mark.parametrize(
    ("more", "precision", "settings"),
    [
        ("strategy='ddp', precision='32-true'", "float32", {"ddp": True}),
        (
            "precision='bf16-mixed', benchmark=True",
            None,
            {"torch.autocast": "bfloat16", "cudnn.benchmark": True},
        ),
        ("precision='bf16-true', accumulate_grad_batches=8", "bfloat16", {"turns": 8}),
        (
            "strategy='ddp_find_unused_parameters_true'",
            "float32",
            {"ddp": True, "find_unused_parameters": True},
        ),
        ("strategy='deepspeed_stage_2'", "float32", {"zero_stage": 2}),
    ],
)
def test_the_parts_of_a_loop_that_lightning_runs(
    more: str, precision: str | None, settings: dict[str, object]
) -> None:
    question = read_launch(LIGHTNING.format(more=more), "train.py").question
    assert (question["model"], question["count"], question.get("precision")) == ("resnet50", 8, precision)
    assert question["current"] == {"batch_size": 64, "num_workers": 0, **settings}


def test_a_launcher_starts_the_loop_beside_it_unless_its_name_says_more() -> None:
    beside = {"train.py": LOOP.format(setup="net = models.resnet50()", loader="")}.get
    question = read_launch("torchrun --nproc_per_node=8 train.py --x 1", "a.sh", beside=beside).question
    assert (question["software"], question["count"]) == ({"torch": ""}, 8)
    [other] = read_launches("deepspeed --num_gpus 8 train.py --deepspeed z.json", "a.sh", beside)
    assert other.started.signs.id == "deepspeed"


ACCELERATED = """
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
runner = Accelerator(mixed_precision="no", gradient_accumulation_steps=4)
net = AutoModelForCausalLM.from_pretrained("a/B")
for batch in DataLoader(ds, batch_size=2):
    runner.backward(net(**batch).loss)
"""


@pytest.mark.parametrize(
    "command", ["accelerate launch --num_processes 4 t.py", "torchrun --nproc_per_node 4 t.py"]
)
def test_a_loop_over_a_known_network_that_accelerate_runs(command: str) -> None:
    question = read_launch(command, "a.sh", beside={"t.py": ACCELERATED}.get).question
    assert (question["model"], question["count"]) == ("a/B", 4)
    said = {
        "per_device_train_batch_size": 2, "dataloader_num_workers": 0, "mixed_precision": "no",
        "gradient_accumulation_steps": 4,
    }  # fmt: skip
    assert isinstance(question["current"], dict)
    assert said.items() <= question["current"].items()
    with pytest.raises(InputError, match="is read and not written"):
        edited(ACCELERATED, ScriptEdits(flags={"--bf16": ()}))


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.data import DataLoader\nfor x in DataLoader(ds): net(x)\n",  # trains nothing
        "import torch\nloss.backward()\n",  # has no loader
        LOOP.format(setup="net = AutoModel.from_pretrained('a/B')", loader=""),  # a library's words say more
    ],
)
def test_other_programs_are_no_loops(text: str) -> None:
    with pytest.raises(InputError, match="no launch is found"):
        read_launch(text, "train.py")


def test_its_settings_have_lines() -> None:
    text = LOOP.format(setup="net = torch.nn.DataParallel(models.resnet50())", loader="num_workers=0")
    found = {item.key: (item.value, item.line) for item in running_settings(text)}
    assert found["DataParallel"] == ("True", 6)
    assert found["num_workers"][0] == "0"
