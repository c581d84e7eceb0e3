"""Logs of meters: the energy in them, and how it is known."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.formats.meters.registry import read_meter
from ingest.formats.meters.table import Knowledge, counted, integrate
from kg.errors import CaseFormatError, InputError


def written(folder: Path, text: str) -> Path:
    path = folder / "log"
    path.write_text(text, encoding="utf-8")
    return path


def test_power_is_integrated_between_its_times() -> None:
    energy = integrate("x", [(0, 100), (10, 200), (30, 200)], Knowledge.MEASURED)
    assert energy is not None
    assert energy.energy_j == 1500 + 4000
    assert (energy.duration_s, energy.gap_s, energy.samples) == (30, 20, 3)
    assert integrate("x", [(0, 100)], Knowledge.MEASURED) is None


def test_a_counter_that_wraps_or_begins_anew_adds_nothing_false() -> None:
    wrapped = counted("x", [(0, 90), (1, 100), (2, 10)], Knowledge.MEASURED, range_j=100)
    assert wrapped is not None
    assert wrapped.energy_j == 20
    anew = counted("x", [(0, 90), (1, 100), (2, 10)], Knowledge.MEASURED)
    assert anew is not None
    assert anew.energy_j == 20


def test_the_watch_of_npu_smi(tmp_path: Path) -> None:
    text = "NpuID(Idx)  ChipId(Idx)  Power(W)\n0           0            100.0\n1           0            50.0\n0           0            300.0\n1           0            50.0\n"
    log = read_meter(written(tmp_path, text), interval_s=10)
    assert {item.part: item.energy_j for item in log.energies} == {"npu 0.0": 2000, "npu 1.0": 500}
    assert all(item.kind is Knowledge.MEASURED and item.start_s is None for item in log.energies)
    assert "10 s between its readings is assumed" in log.notes[0]


def test_answers_of_npu_smi(tmp_path: Path) -> None:
    one = "\tNPU ID                         : 3\n\tNPU Real-time Power(W)         : {}\n"
    log = read_meter(
        written(tmp_path, one.format("90.5") + one.format("91.5") + one.format("NA")), interval_s=2
    )
    assert [(item.part, item.energy_j) for item in log.energies] == [("npu 3", 182)]
    assert log.faults


def test_scrapes_of_exporters_have_times_or_an_interval(tmp_path: Path) -> None:
    timed = 'npu_chip_info_power{id="0",pod="a b"} 100 1700000000000\nnpu_chip_info_power{id="0",pod="a b"} 100 1700000060000\n'
    [energy] = read_meter(written(tmp_path, timed)).energies
    assert (energy.part, energy.energy_j, energy.start_s) == ("npu 0", 6000, 1.7e9)
    bare = 'DCGM_FI_DEV_POWER_USAGE{gpu="1"} 200\nother 3\nDCGM_FI_DEV_POWER_USAGE{gpu="1"} 200\n'
    log = read_meter(written(tmp_path, bare), interval_s=15)
    assert log.energies[0].energy_j == 3000
    assert any("15 s between them" in note for note in log.notes)


def test_a_counter_of_energy_wins_over_the_gauge_of_power(tmp_path: Path) -> None:
    text = "".join(
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="0"}} 100 {t}000\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0"}} {e} {t}000\n'
        for t, e in ((1700000000, 5_000_000), (1700000010, 7_000_000))
    )
    [energy] = read_meter(written(tmp_path, text)).energies
    assert energy.energy_j == 2000


def test_nvidia_smi(tmp_path: Path) -> None:
    text = "timestamp, index, power.draw [W]\n2026/11/23 00:00:00.000, 0, 100.00 W\n2026/11/23 00:00:02.000, 0, 300.00 W\n2026/11/23 00:00:03.000, 0, [N/A]\n"
    log = read_meter(written(tmp_path, text))
    assert [(item.part, item.energy_j) for item in log.energies] == [("gpu 0", 400)]
    assert log.faults[0].place == "line 4"


def test_rapl_wraps_at_its_range(tmp_path: Path) -> None:
    text = "time,energy_uj,max_energy_range_uj,zone\n0,900000,1000000,package-0\n1,200000,1000000,package-0\n2,,1000000,package-0\n"
    log = read_meter(written(tmp_path, text))
    assert log.energies[0].energy_j == pytest.approx(0.3)
    assert "rights of root" in log.faults[0].reason


def test_zeus(tmp_path: Path) -> None:
    text = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n1700000000.5,epoch,12.5,3000,3100\n"
    log = read_meter(written(tmp_path, text))
    assert [(item.part, item.energy_j, item.duration_s) for item in log.energies] == [
        ("gpu 0", 3000, 12.5),
        ("gpu 1", 3100, 12.5),
    ]


def test_codecarbon_is_measured_modelled_and_assumed_by_part(tmp_path: Path) -> None:
    text = (
        "timestamp,project_name,duration,emissions,cpu_energy,gpu_energy,ram_energy,energy_consumed\n"
        "2026-11-23T01:00:00,x,3600,0.1,0.05,0.5,0.01,0.56\n"
    )
    log = read_meter(written(tmp_path, text))
    assert {item.part: str(item.kind) for item in log.energies} == {
        "gpu": "measured",
        "cpu": "assumed",
        "ram": "modelled",
    }
    assert log.energies[0].energy_j == pytest.approx(1.8e6)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "Time,Carbon Intensity\n2026-01-01,3\n"])
def test_what_is_no_log_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_meter(written(tmp_path, text))


def test_a_log_without_energy_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CaseFormatError, match="no power"):
        read_meter(written(tmp_path, "timestamp, index, power.draw [W]\n2026/11/23 00:00:00, 0, [N/A]\n"))


def test_counters_of_two_hosts_are_two_parts(tmp_path: Path) -> None:
    text = "".join(
        f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",Hostname="{host}"}} {start + 1000 * t} {t}000\n'
        for t in (1700000000, 1700000010)
        for host, start in (("a", 5), ("b", 70_000_000))
    )
    log = read_meter(written(tmp_path, text))
    assert {item.part: item.energy_j for item in log.energies} == {"gpu 0 of a": 10, "gpu 0 of b": 10}


def test_counters_without_times_have_no_beginning(tmp_path: Path) -> None:
    text = 'node_rapl_package_joules_total{index="0"} 5\nnode_rapl_package_joules_total{index="0"} 105\n'
    [energy] = read_meter(written(tmp_path, text), interval_s=10).energies
    assert (energy.part, energy.energy_j, energy.start_s) == ("cpu package-0", 100, None)


@pytest.mark.parametrize("bad", ["NaN", "-5", "+Inf", "1e9"])
def test_what_no_meter_reads_is_left_out(tmp_path: Path, bad: str) -> None:
    line = 'npu_chip_info_power{{id="0"}} {} {}\n'
    text = line.format(100, 1700000000000) + line.format(bad, 1700000005000) + line.format(100, 1700000010000)
    log = read_meter(written(tmp_path, text))
    assert log.energies[0].energy_j == 1000
    assert "no reading" in log.faults[0].reason
    counter = 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0"}} {} {}\n'
    if bad == "1e9":
        return
    text = (
        counter.format(1000, 1700000000000)
        + counter.format(bad, 1700000005000)
        + counter.format(3000, 1700000010000)
    )
    assert read_meter(written(tmp_path, text)).energies[0].energy_j == 2


def test_two_gauges_of_one_device_count_once(tmp_path: Path) -> None:
    names = ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE_INSTANT")
    text = "".join(f'{name}{{gpu="0"}} 100\n' for _ in range(3) for name in names)
    [energy] = read_meter(written(tmp_path, text), interval_s=10).energies
    assert (energy.energy_j, energy.duration_s) == (2000, 20)


def test_a_card_has_its_chips_in_it(tmp_path: Path) -> None:
    one = "\tNPU ID : 3\n\tPower Dissipation(W) : 100\n\tChip ID : 0\n\tNPU Real-time Power(W) : 40\n"
    log = read_meter(written(tmp_path, one + one))
    assert [(item.part, item.energy_j) for item in log.energies] == [("npu 3 (card)", 100)]
    assert any("counted once" in note for note in log.notes)


def test_zones_of_rapl_within_others_count_once(tmp_path: Path) -> None:
    rows = "".join(f"{t},{1_000_000 * t},{zone}\n" for t in (0, 10) for zone in ("package-0", "core", "dram"))
    log = read_meter(written(tmp_path, "time,energy_uj,zone\n" + rows))
    assert [item.part for item in log.energies] == ["cpu package-0", "cpu dram"]


LOCAL = {
    "nvidia": (
        "timestamp, index, power.draw [W]\n2026/11/23 01:00:00, 0, 100 W\n2026/11/23 02:00:00, 0, 100 W\n"
    ),
    "codecarbon": (
        "timestamp,duration,emissions,gpu_energy,energy_consumed\n2026-11-23T02:00:00,3600,0.1,0.1,0.1\n"
    ),
    "rapl": "time,energy_uj\n2026-11-23T01:00:00,0\n2026-11-23T02:00:00,360000000000\n",
}


@pytest.mark.parametrize("kind", LOCAL)
def test_local_times_take_the_zone_that_is_given_and_else_say_what_they_assume(
    tmp_path: Path, kind: str
) -> None:
    utc = datetime(2026, 11, 23, 1, tzinfo=UTC).timestamp()
    log = read_meter(written(tmp_path, LOCAL[kind]))
    [energy] = log.energies
    assert (energy.start_s, energy.has_zone) == (utc, False)
    assert energy.energy_j == pytest.approx(3.6e5)
    assert any("--zone" in note for note in log.notes)
    placed = read_meter(written(tmp_path, LOCAL[kind]), zone="Europe/Berlin")
    assert [(item.start_s, item.has_zone) for item in placed.energies] == [(utc - 3600, True)]
    assert not any("--zone" in note for note in placed.notes)
    with pytest.raises(InputError, match="no time zone"):
        read_meter(written(tmp_path, LOCAL[kind]), zone="Mars")


def test_the_hour_that_autumn_doubles_is_two_hours(tmp_path: Path) -> None:
    walls = ("01:30", "02:30", "02:30", "03:30")
    rows = "".join(f"2026/10/25 {wall}:00, {gpu}, 100 W\n" for wall in walls for gpu in (0, 1))
    text = "timestamp, index, power.draw [W]\n" + rows
    for energy in read_meter(written(tmp_path, text), zone="Europe/Berlin").energies:
        assert (energy.duration_s, energy.energy_j) == (3 * 3600, 3 * 3600 * 100)
