"""Files that deploy a decision."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.questions.launches.launch import read_launches
from kg.errors import InputError
from recommender.answers.deploying.files import DeploymentFiles, deployment_files
from recommender.answers.deploying.role_answers import engine_of
from recommender.ranking.deployments.engines import Engine
from recommender.workspace.workspace import Workspace
from tests.samples.asked_once import asked_once

H100 = ("h100-sxm", "nvidia")
ASKED: dict[str, Any] = {
    "model": "qwen3-32b", "phase": "serving", "hardware": "h100-sxm", "count": 8, "objective": "throughput",
    "shape": {"input_len": 4096, "output_len": 256}, "limits": ["tpot<=20ms"],
}  # fmt: skip
APART = {"traits": {"disaggregated": True}}


@asked_once
def made(shipped: Workspace, **more: object) -> DeploymentFiles:
    problem, notes = shipped.problem({**ASKED, **more})
    return shipped.ask.deployment(shipped.recommend(problem, notes=notes))


def documents(files: DeploymentFiles, name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(files.texts[name]))


def runs(text: str) -> list[list[str]]:
    return [list(item.command.words) for item in read_launches(text, "", lambda _: None)]


def test_one_kind_of_engine_has_a_script_a_service_and_a_set(shipped: Workspace) -> None:
    files = made(shipped, software={"vllm": ""})
    assert set(files.texts) == {"serve.sh", "compose.yaml", "kubernetes.yaml"}
    service = documents(files, "compose.yaml")[0]["services"]["serve"]
    reserved = service["deploy"]["resources"]["reservations"]["devices"][0]
    assert reserved["device_ids"] == [str(number) for number in range(8)]
    workload, met = documents(files, "kubernetes.yaml")
    container = workload["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert container["command"] == service["command"]
    assert container["image"].startswith("vllm/vllm-openai:v")
    assert met["kind"] == "Service"
    assert "clusterIP" not in met["spec"]


@pytest.mark.parametrize("name", ["$$(HOME)x", "$(touch x)", "a$$$b $5"])
def test_no_file_fills_a_variable_into_a_value(shipped: Workspace, name: str) -> None:
    files = made(shipped, software={"vllm": ""}, current={"served_model_name": name})
    commands = {
        "compose.yaml": documents(files, "compose.yaml")[0]["services"]["serve"]["command"],
        "kubernetes.yaml": documents(files, "kubernetes.yaml")[0]["spec"]["template"]["spec"]["containers"][
            0
        ]["command"],
    }
    for file, words in commands.items():
        word = words[words.index("--served-model-name") + 1]
        filled = r"\$\$|\$\(\w+\)" if file == "kubernetes.yaml" else r"\$\$|\$"
        assert re.sub(filled, lambda match: "$" if match[0] == "$$" else "!", word) == name
        assert name in runs(files.texts[file])[0]


@pytest.mark.parametrize("program", ["vllm", "sglang"])
def test_either_role_has_its_own_and_a_router_names_every_engine(shipped: Workspace, program: str) -> None:
    files = made(shipped, software={program: ""}, **APART)
    assert set(files.texts) == {"prefill.sh", "decode.sh", "router.sh", "compose.yaml", "kubernetes.yaml"}
    services = documents(files, "compose.yaml")[0]["services"]
    engines = [name for name in services if name != "router"]
    assert len(engines) > 2
    devices = [
        number
        for name in engines
        for number in services[name]["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
    ]
    assert sorted(devices, key=int) == [str(number) for number in range(8)]
    ports = [services[name]["command"][-1] for name in engines]
    assert len(set(ports)) == len(ports)
    routed = services["router"]["command"][-1]
    assert all(f"http://127.0.0.1:{port}" in routed for port in ports)
    roles = [item.role for item in read_launches(files.texts["compose.yaml"], "", lambda _: None)]
    assert roles == [name.partition("-")[0] for name in engines]
    workloads = [one for one in documents(files, "kubernetes.yaml") if one["kind"] == "StatefulSet"]
    for workload in workloads:
        name, count = workload["metadata"]["name"], workload["spec"]["replicas"]
        deployment = next(one for one in documents(files, "kubernetes.yaml") if one["kind"] == "Deployment")
        command = deployment["spec"]["template"]["spec"]["containers"][0]["command"][-1]
        assert all(f"http://{name}-{place}.{name}:8000" in command for place in range(count))


def test_engines_on_one_server_do_not_share_a_port(shipped: Workspace) -> None:
    sglang = documents(made(shipped, software={"sglang": ""}, **APART), "compose.yaml")[0]["services"]
    routed = sglang["router"]["command"][-1].split()
    met = [routed[at + 2] for at, word in enumerate(routed) if word == "--prefill"]
    assert len(set(met)) == len(met) > 1
    vllm = documents(made(shipped, software={"vllm": ""}, **APART), "compose.yaml")[0]["services"]
    side = [
        one["environment"]["VLLM_NIXL_SIDE_CHANNEL_PORT"] for name, one in vllm.items() if name != "router"
    ]
    assert len(set(side)) == len(side)


def test_an_engine_on_several_servers_is_a_group_whose_places_are_told(shipped: Workspace) -> None:
    lengths = {"input_len": 3500, "output_len": 1500}
    asked = {"model": "deepseek-r1", "hardware": "ascend-910c", "count": 64, "limits": ["tpot<=50ms"]}
    files = made(shipped, **asked, **APART, shape=lengths)
    assert {"decode-first.sh", "decode-next.sh", "leaderworkerset.yaml"} <= set(files.texts)
    assert "compose.yaml" not in files.texts
    assert any("compose.yaml" in note for note in files.notes)
    group = next(one for one in documents(files, "leaderworkerset.yaml") if one["kind"] == "LeaderWorkerSet")
    template = group["spec"]["leaderWorkerTemplate"]
    first, further = (
        template[name]["spec"]["containers"][0]["command"][-1]
        for name in ("leaderTemplate", "workerTemplate")
    )
    assert "--headless" not in first
    assert "--headless" in further
    assert "LWS_WORKER_INDEX" in further
    assert "$LWS_LEADER_ADDRESS" in first
    assert template["size"] == 2
    sizes = [text for name, text in files.texts.items() if name.endswith("-first.sh") or name == "prefill.sh"]
    assert len(sizes) == 2
    for role in ("prefill", "decode"):
        assert all(f'"{role}": {{"tp_size"' in text for text in sizes)  # alike on both sides


def test_scripts_are_of_bash(shipped: Workspace, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    files = made(shipped, software={"sglang": ""}, **APART)
    files.write(tmp_path / "files")
    assert {path.name for path in (tmp_path / "files").iterdir()} == set(files.texts)
    for script in (tmp_path / "files").glob("*.sh"):
        assert subprocess.run([bash, "-n", script], check=False).returncode == 0
        assert script.stat().st_mode & 0o111
    with pytest.raises(InputError, match="exists"):
        files.write(tmp_path / "files")


def test_a_file_that_does_not_start_what_was_decided_is_not_made(
    shipped: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, _ = shipped.problem({**ASKED, "software": {"vllm": ""}})
    engine = engine_of(shipped.recommend(problem))
    assert deployment_files([engine], H100, 8).texts
    import recommender.answers.deploying.files as module

    monkeypatch.setattr(module, "wrapped_command", lambda words: [" ".join(list(words)[:2])])
    with pytest.raises(InputError, match=r"serve\.sh does not read back"):
        deployment_files([engine], H100, 8)


@pytest.mark.parametrize(
    ("hardware", "tag", "resource"),
    [
        ("ascend-910c", "-a3", "huawei.com/Ascend910"),
        ("ascend-310p", "-310p", "huawei.com/Ascend310P"),
    ],
)
def test_images_and_devices_are_those_of_the_chip(
    shipped: Workspace, hardware: str, tag: str, resource: str
) -> None:
    files = made(
        shipped, hardware=hardware, model="qwen3-8b", count=4, limits=[], software={"vllm-ascend": ""}
    )
    container = documents(files, "kubernetes.yaml")[0]["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {resource: 4}
    release = container["image"].removeprefix("quay.io/ascend/vllm-ascend:v")
    assert release == release.partition("-")[0] + tag


def test_a_program_that_reads_a_file_has_it_written_before_it_starts(shipped: Workspace) -> None:
    files = made(shipped, software={"tensorrt-llm": ""}, limits=[])
    servers = documents(files, "compose.yaml")[0]["services"]
    assert len(servers) > 1  # a program without a size for replicas has a server for each
    command = next(iter(servers.values()))["command"]
    assert command[:2] == ["bash", "-c"]
    written, _, run = command[2].partition("\nEOF\nexec ")
    assert yaml.safe_load(written.partition("\n")[2])
    assert "--extra_llm_api_options" in run
    assert written in files.texts["serve.sh"]


def test_programs_and_devices_without_such_files_are_refused(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="no files that deploy"):
        made(shipped, software={"llama.cpp": ""}, limits=[])
    with pytest.raises(InputError, match="NVIDIA and Ascend"):
        made(shipped, software={"vllm": ""}, hardware="instinct-mi300x")
    with pytest.raises(InputError, match="Ascend 910 and 310P"):
        made(shipped, software={"vllm-ascend": ""}, hardware="ascend-950dt-9599", limits=[])
    problem, _ = shipped.problem({**ASKED, "model": "deepseek-r1", "count": 1})
    with pytest.raises(InputError, match="no files follow"):
        engine_of(shipped.recommend(problem))


def test_engines_of_one_kind_may_be_several(shipped: Workspace) -> None:
    problem, _ = shipped.problem({**ASKED, "software": {"vllm": ""}, "count": 2, "limits": []})
    one = engine_of(shipped.recommend(problem))
    two = Engine(start=one.start, devices=one.devices, instances=2)
    services = yaml.safe_load(deployment_files([two], H100, 8).texts["compose.yaml"])["services"]
    assert list(services) == ["serve-0", "serve-1"]
    assert len(runs(yaml.safe_dump({"services": services}))) == 2


def test_mindie_starts_with_the_settings_over_those_of_its_installation(
    shipped: Workspace, tmp_path: Path
) -> None:
    files = made(shipped, hardware="910B3", count=4, software={"mindie": ""}, limits=[])
    assert set(files.texts) == {"config.json", "serve.sh"}
    files.write(tmp_path / "files")
    installed = tmp_path / "mindie"
    (installed / "conf").mkdir(parents=True)
    own = {
        "ServerConfig": {"port": 1025},
        "BackendConfig": {"ModelDeployConfig": {"ModelConfig": [{"a": 1}]}},
    }
    (installed / "conf/config.json").write_text(json.dumps(own))
    daemon = installed / "bin/mindieservice_daemon"
    daemon.parent.mkdir()
    daemon.write_text('#!/bin/sh\ncat "$MIES_CONFIG_JSON_PATH"\n')
    daemon.chmod(0o755)
    told = {"MINDIE": str(installed), "MODEL": "/weights", "PATH": os.environ["PATH"]}
    ran = subprocess.run([str(tmp_path / "files/serve.sh")], env=told, capture_output=True, check=True)
    started = json.loads(ran.stdout)
    assert started["ServerConfig"] == {"port": 1025}
    [model] = started["BackendConfig"]["ModelDeployConfig"]["ModelConfig"]
    assert model == {"a": 1, "worldSize": 4, "modelWeightPath": "/weights"}
    assert started["BackendConfig"]["npuDeviceIds"] == [[0, 1, 2, 3]]
    assert started["BackendConfig"]["ModelDeployConfig"]["maxInputTokenLen"] == 4096


def test_mindie_on_several_servers_has_the_table_of_their_devices(shipped: Workspace, tmp_path: Path) -> None:
    files = made(shipped, model="deepseek-r1", hardware="910B3", count=16, software={"mindie": ""}, limits=[])
    assert set(files.texts) == {"config.json", "rank_table.sh", "serve.sh"}
    told = json.loads(files.texts["config.json"])["BackendConfig"]
    assert told["multiNodesInferEnabled"] is True
    assert told["npuDeviceIds"] == [list(range(8))]
    files.write(tmp_path / "files")
    tool = tmp_path / "bin/hccn_tool"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "ipaddr:10.0.$SERVER.$2"\necho "netmask:255.255.255.0"\n')
    tool.chmod(0o755)
    parts = []
    for server in ("0", "1"):
        path = {"PATH": f"{tool.parent}:{os.environ['PATH']}", "SERVER": server}
        script = [str(tmp_path / "files/rank_table.sh"), f"192.168.0.{server}"]
        parts.append(tmp_path / f"part-{server}.json")
        parts[-1].write_bytes(subprocess.run(script, env=path, capture_output=True, check=True).stdout)
    joined = subprocess.run([script[0], *map(str, parts)], capture_output=True, check=True).stdout
    table = json.loads(joined)
    assert (table["server_count"], table["status"]) == ("2", "completed")
    devices = [device for server in table["server_list"] for device in server["device"]]
    assert [device["rank_id"] for device in devices] == [str(rank) for rank in range(16)]
    assert devices[9]["device_ip"] == "10.0.1.1"
    started = [str(tmp_path / "files/serve.sh")]
    without = subprocess.run(started, capture_output=True, check=False, env={"PATH": os.environ["PATH"]})
    assert b"address of this server" in without.stderr


def test_tensorrt_llm_on_several_servers_is_a_job_with_a_process_for_each_device(shipped: Workspace) -> None:
    files = made(
        shipped, model="deepseek-r1", hardware="h200", count=16, software={"tensorrt-llm": ""}, limits=[]
    )
    assert set(files.texts) == {"serve.sbatch"}
    job = files.texts["serve.sbatch"]
    assert {"#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=8"} <= set(job.splitlines())
    assert "srun --mpi=pmix trtllm-llmapi-launch trtllm-serve" in job
    [words] = runs(job)
    assert words[words.index("--extra_llm_api_options") + 1] in job
