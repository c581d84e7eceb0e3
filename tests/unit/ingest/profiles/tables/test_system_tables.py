"""Sampled counters of device and host."""

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile

TABLES = {
    "hbm_1.csv": ("Device_id,Metric,Read(MB/s),Write(MB/s)\n0,0,100,50\n", {"HBM 0 read": (100.0, "MB/s")}),
    "ddr_1.csv": ("Device_id,Metric,Read(MB/s),Write(MB/s)\n0,Average,9,5\n", {"DDR Average write": (5.0, "MB/s")}),
    "hccs_1.csv": ("Device_id,Mode,Max,Min,Average\n0,txThroughput (MB/s),9,1,4\n",
                   {"HCCS txThroughput (MB/s)": (4.0, "MB/s")}),
    "pcie_1.csv": ("Device_id,Mode,Min,Max,Avg\n0,Tx_latency_avg(us),1,9,4\n",
                   {"PCIe Tx_latency_avg(us)": (4.0, "us")}),
    "llc_read_write_1.csv": ("Device_id,Mode,Task,Hit Rate(%),Throughput(MB/s)\n0,read,0,80,5\n0,read,0,60,7\n",
                             {"LLC read 0 hits": (70.0, "%"), "LLC read 0 throughput": (6.0, "MB/s")}),
    "roce_1.csv": ("Timestamp(us),Bandwidth(MB/s),rxPacket/s,txPacket/s,txDropped rate(%),funcId\n1,10,1,1,2,0\n",
                   {"RoCE 0 bandwidth": (10.0, "MB/s"), "RoCE 0 sending drops": (2.0, "%")}),
    "dvpp_1.csv": ("Device_id,Engine Type,Engine ID,All Time(us),All Utilization(%)\n0,VDEC,1,10,25%\n", {"DVPP VDEC 1 use": (25.0, "%")}),
    "cpu_usage_1.csv": ("Device_id,Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)\n0,AICPU,10,5,0,0,0,85\n",
                        {"processor AICPU idle": (85.0, "%")}),
    "ai_core_utilization_1.csv": ("Device_id,Core ID,mac_ratio,mte2_ratio\n0,Core0,0.25,0.5\n0,Core1,0.75,N/A\n",
                                  {"cube core Core0 mac_ratio": (0.25, "1"), "cube core Core0 mte2_ratio": (0.5, "1")}),
    "soc_pmu_1.csv": ("Device_id,Stream Id,Task Id,TLB Miss Rate,TLB Hit Rate,Op Name\n0,1,1,0.1,0.9,a\n",
                      {"TLB hits": (0.9, "1")}),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_counters_of_the_system(home: Path, name: str) -> None:
    text, expected = TABLES[name]
    (home / name).write_text(text)
    [rank] = read_profile(home.parent).ranks
    found = {counter.name: (counter.mean, counter.unit) for counter in rank.details.counters}
    assert {key: found[key] for key in expected} == expected
