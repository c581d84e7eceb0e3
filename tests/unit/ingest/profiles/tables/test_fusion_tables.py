"""Fused operators."""

from pathlib import Path

from ingest.profiles.folders import read_profile


def test_fused_operators_and_their_parts(home: Path) -> None:
    (home / "fusion_op_1.csv").write_text(
        "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),"
        'Memory Workspace(KB),Memory Total(KB)\nhost,net,1,conv1relu,"conv1,relu",1,1,2,0,4\n'
    )
    [rank] = read_profile(home.parent).ranks
    [fused] = rank.details.fused
    assert (fused.name, fused.parts) == ("conv1relu", ("conv1", "relu"))
