"""Device tools: which devices, how many, and what must not be guessed."""

import pytest

from ingest.questions.smi import read_smi
from kg.errors import InputError


def npu(name: str, *, chips: int = 1, devices: int = 2, used: int = 3162, total: int = 65536) -> str:
    head = (
        "+-----------------------------------------------------------------------------------------+\n"
        "| npu-smi 24.1.rc2                 Version: 24.1.rc2                                      |\n"
        "+---------------------------+---------------+---------------------------------------------+\n"
        "| NPU   Name                | Health        | Power(W)    Temp(C)     Hugepages-Usage(page)|\n"
        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB) |\n"
        "+===========================+===============+=============================================+\n"
    )
    lines = []
    for device in range(devices):
        for chip in range(chips):
            lines.append(
                f"| {device}     {name:<20}| OK            | 90.1        35                0    / 0      |"
            )
            place = f"{chip}     {device * chips + chip}" if chips > 1 else "0"
            lines.append(
                f"| {place:<26}| 0000:C{device}:00.{chip}  | 0           0    / 0          {used} / {total}  |"
            )
    return head + "\n".join(lines) + "\n| No running processes found in NPU 0    |\n"


NVIDIA = """
| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
|=========================================+======================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      4MiB / 81920MiB |      0%      Default |
|   1  NVIDIA A100-SXM4-80GB          On  | 00000000:0B:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |  70000MiB / 81920MiB |      0%      Default |
"""
FULL = """
==============NVSMI LOG==============
Driver Version                            : 550.54.15
CUDA Version                              : 12.4
Attached GPUs                             : 2
GPU 00000000:19:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 1 MiB
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 1 MiB
"""


def test_npu_smi() -> None:
    told = read_smi(npu("910B3", devices=8), "npu.txt").question
    assert told == {"count": 8, "hardware": "Ascend 910B3", "software": {"npu-driver": "24.1.rc2"}}


def test_an_inference_card_has_no_high_bandwidth_memory_to_show() -> None:
    table = (
        "| npu-smi 23.0.0                                   Version: 23.0.0                       |\n"
        "| 24      310P3                 | OK              | NA           29                0     / 0             |\n"
        "| 0       0                     | NA              | 0            1832 / 21527                            |\n"
    )
    told = read_smi(table, "npu.txt").question
    assert (told["hardware"], told["count"]) == ("Ascend 310P3", 1)


def test_dies_are_counted_and_a_910_with_too_much_memory_is_no_910a() -> None:
    told = read_smi(npu("Ascend910", devices=8, chips=2), "npu.txt")
    assert told.question["count"] == 16
    assert "hardware" not in told.question
    assert "ascend-910c" in told.notes[0]


def test_a_910_with_its_own_memory_is_taken_as_it_is_named() -> None:
    assert read_smi(npu("910A", total=32768), "npu.txt").question["hardware"] == "Ascend 910A"


@pytest.mark.parametrize(
    ("text", "hardware", "count", "software"),
    [
        (NVIDIA, "NVIDIA A100-SXM4-80GB", 2, {"nvidia-driver": "535.104.05", "cuda": "12.2"}),
        (FULL, "NVIDIA H100 80GB HBM3", 2, {"nvidia-driver": "550.54.15", "cuda": "12.4"}),
        ("GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: NVIDIA L4 (UUID: GPU-2)\n", "NVIDIA L4", 2, None),
        ("index, name, memory.total [MiB]\n0, Tesla T4, 15360 MiB\n", "Tesla T4", 1, None),
        ("NVIDIA H20, 97871 MiB\nNVIDIA H20, 97871 MiB\n", "NVIDIA H20", 2, None),
    ],
)
def test_nvidia_smi_in_its_forms(text: str, hardware: str, count: int, software: object) -> None:
    told = read_smi(text, "smi.txt").question
    assert (told["hardware"], told["count"], told.get("software")) == (hardware, count, software)


def test_a_busy_device_is_told() -> None:
    assert read_smi(NVIDIA, "smi").notes == (
        "smi: 1 of 2 devices have memory in use: measurements are disturbed",
    )


def test_a_cut_name_is_not_guessed() -> None:
    told = read_smi(
        "| Driver Version: 1 |\n|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |\n", "smi"
    )
    assert "hardware" not in told.question
    assert "is cut" in told.notes[0]


@pytest.mark.parametrize(
    "text", ["hello", "NVIDIA-SMI has failed because it couldn't communicate", "a,b\n1,2"]
)
def test_something_else_is_a_fault(text: str) -> None:
    with pytest.raises(InputError, match="shows no device"):
        read_smi(text, "smi")


def test_different_devices_are_a_choice() -> None:
    with pytest.raises(InputError, match="different devices: 1 x NVIDIA L4, 1 x Tesla T4"):
        read_smi("name\nNVIDIA L4\nTesla T4\n", "smi")
