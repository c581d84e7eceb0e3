"""Commands of containers in compose files and manifests."""

import pytest

from ingest.questions.launches.configurations import is_launch
from ingest.questions.launches.launch import LaunchForm, read_launch, read_launches
from ingest.questions.launches.manifests import (
    chart_commands,
    image_commands,
    is_manifest,
    manifest_commands,
    unit_commands,
)

COMPOSE = """
x-env: &env {NCCL_DEBUG: WARN, X: true}
services:
  engine:
    image: vllm/vllm-openai:v0.10.1
    environment: {<<: *env, HCCL_BUFFSIZE: 200}
    command: --model a/B --tensor-parallel-size 4
  other:
    image: img
    entrypoint: [python3, -m, sglang.launch_server]
    environment: ["A=1"]
    command: [--model-path, a/C]
"""
PODS = """
apiVersion: v1
kind: ConfigMap
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - image: vllm/vllm-openai:v0.9.2
          command: ["vllm", "serve"]
          args: ["$(MODEL)", "--max-num-seqs", 64, "--seed=$(SEED)"]
          env: [{name: MODEL, value: a/B}, {name: SEED, valueFrom: {fieldRef: {fieldPath: x}}}]
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - image: quay.io/ascend/vllm-ascend:v0.13.0rc1
            command: [sh, -c, "bash start.sh leader; vllm serve a/D -tp 8 -pp 2"]
    workerTemplate:
      spec:
        containers: [{image: "quay.io/ascend/vllm-ascend:v0.13.0rc1", command: [sh, -c, "bash start.sh worker"]}]
"""


def test_compose_services_with_entry_points_anchors_and_variables() -> None:
    engine, other = manifest_commands(COMPOSE)
    assert engine.words[:3] == ("vllm/vllm-openai:v0.10.1", "--model", "a/B")
    assert engine.environment == {"NCCL_DEBUG": "WARN", "X": "true", "HCCL_BUFFSIZE": "200"}
    assert other.words == ("python3", "-m", "sglang.launch_server", "--model-path", "a/C")
    assert other.environment == {"A": "1"}
    first, second = read_launches(COMPOSE, "c")
    assert first.facts.question["software"] == {"vllm": "0.10.1"}
    assert first.facts.question["count"] == 4
    assert second.started.signs.id == "sglang"


def test_pods_of_several_documents() -> None:
    pod, leader = read_launches(PODS, "c")
    assert pod.facts.question["model"] == "a/B"
    assert pod.facts.question["current"] == {"max_num_seqs": 64}
    assert leader.facts.question["count"] == 16
    assert leader.facts.question["software"] == {"vllm-ascend": "0.13.0rc1"}
    assert leader.path == (1, 1)


INFERENCE_SERVICE = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      args: [--model_name=b, --model_id=a/B, --tensor-parallel-size=2, --backend, vllm, --max-num-seqs, "64"]
      resources: {limits: {nvidia.com/gpu: "2"}}
"""
GRAPH = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec:
  services:
    Worker:
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.0
          command: [python3, -m, dynamo.vllm]
          args: [--model, a/B, --tensor-parallel-size, "2", --max-num-seqs, "64", --is-prefill-worker, --dyn-tool-call-parser, hermes]
"""


@pytest.mark.parametrize(
    ("text", "traits"),
    [
        (INFERENCE_SERVICE, None),
        (GRAPH, {"role": "prefill", "disaggregated": True}),
        (
            GRAPH.replace("--is-prefill-worker", "--disaggregation-mode, decode"),
            {"role": "decode", "disaggregated": True},
        ),
        (GRAPH.replace("--is-prefill-worker", "--disaggregation-mode, agg"), None),
    ],
)
def test_what_wraps_an_engine_passes_its_options_on(text: str, traits: dict[str, object] | None) -> None:
    read = read_launch(text, "x.yaml").question
    assert (read["model"], read["current"]) == ("a/B", {"tensor_parallel_size": 2, "max_num_seqs": 64})
    assert (read["software"], read.get("traits")) == ({"vllm": ""}, traits)


def test_a_wrapper_that_is_told_another_engine_starts_none_of_these() -> None:
    text = INFERENCE_SERVICE.replace("--backend, vllm", "--backend=huggingface")
    assert read_launches(text, "x.yaml") == ()


def test_a_script_in_a_block_is_read_as_a_shell_would() -> None:
    text = "data:\n  run.sh: |\n    export HCCL_BUFFSIZE=200\n    vllm serve a/B \\\n      -tp 2\n"
    (launch,) = read_launches(text, "c")
    assert launch.facts.question["current"] == {"HCCL_BUFFSIZE": 200, "tensor_parallel_size": 2}


def test_a_pod_of_a_group_knows_how_many_there_are() -> None:
    args = "vllm serve a/B --data-parallel-size $((LWS_GROUP_SIZE * EACH))"
    pod = f'{{containers: [{{image: i, command: [sh, -c, "{args}"], env: [{{name: EACH, value: "8"}}]}}]}}'
    group = "kind: LeaderWorkerSet\nspec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: %s}}}"
    (launch,) = read_launches(group % pod, "group.yaml")
    current = launch.facts.question["current"]
    assert isinstance(current, dict)
    assert current["data_parallel_size"] == 16
    assert "LWS_GROUP_SIZE" not in current
    assert any(
        "could not be read" in note for note in read_launch(f"kind: Pod\nspec: {pod}", "pod.yaml").notes
    )


def test_what_is_no_manifest_gives_nothing() -> None:
    assert not is_manifest("vllm serve a/B")
    assert manifest_commands("services: [") == []
    assert manifest_commands("kind: Deployment\nspec: {}") == []


UNIT = """
[Service]
Environment="NCCL_P2P_DISABLE=1" HF_HOME=/data
Environment=HCCL_BUFFSIZE=200
ExecStart=-/usr/bin/vllm serve a/B \\
    --tensor-parallel-size 4
Restart=always
"""
DOCKERFILE = """
FROM vllm/vllm-openai:v0.10.1
ENV NCCL_DEBUG=WARN OTHER=1
CMD ["--model", "a/B", "--max-num-seqs", "64"]
"""


def test_a_unit_of_systemd() -> None:
    (launch,) = read_launches(UNIT, "c")
    assert launch.facts.question["count"] == 4
    assert launch.facts.question["current"] == {
        "NCCL_P2P_DISABLE": 1, "HCCL_BUFFSIZE": 200, "tensor_parallel_size": 4,
    }  # fmt: skip
    assert launch.form is LaunchForm.UNIT
    assert unit_commands("[Service]\nRestart=always") == []


def test_a_dockerfile() -> None:
    (launch,) = read_launches(DOCKERFILE, "c")
    assert launch.facts.question["software"] == {"vllm": "0.10.1"}
    assert launch.facts.question["current"] == {"NCCL_DEBUG": "WARN", "OTHER": 1, "max_num_seqs": 64}
    (other,) = image_commands('FROM x\nENTRYPOINT vllm serve\nCMD ["a/B"]')
    assert other.words == ("vllm", "serve", "a/B")
    assert image_commands("FROM x") == []


def test_a_program_of_supervisord_and_a_recipe_of_make() -> None:
    text = '[program:vllm]\nenvironment=A="1",NCCL_DEBUG="WARN"\ncommand=vllm serve a/B -tp 2\n'
    (launch,) = read_launches(text, "c")
    assert launch.facts.question["current"] == {"A": 1, "NCCL_DEBUG": "WARN", "tensor_parallel_size": 2}
    text = "MODEL ?= a/B\nserve: x\n\t@vllm serve $(MODEL) \\\n\t\t--max-num-seqs 8\nx:\n\techo\n"
    (launch,) = read_launches(text, "c")
    assert (launch.form, launch.facts.question["model"]) == (LaunchForm.RECIPES, "a/B")


def test_what_a_template_fills_in_is_not_known_and_a_folder_of_a_variable_hides_no_name() -> None:
    (launch,) = read_launches("vllm serve {{ dir }}/Qwen3-8B --max-num-seqs {{ n | default(4) }}\n", "c")
    assert launch.facts.question["model"] == "{{ dir }}/Qwen3-8B"
    assert launch.facts.question["current"] == {}
    (launch,) = read_launches("python -m sglang.launch_server --model-path ${DIR}/Qwen3-8B\n", "c")
    assert launch.facts.question["model"] == "$DIR/Qwen3-8B"


@pytest.mark.parametrize(("tag", "release"), [("${TAG:-v0.11.0}", "0.11.0"), ("${TAG}", "")])
def test_the_tag_of_an_image_may_be_a_variable_of_compose(tag: str, release: str) -> None:
    text = f"services:\n  a:\n    image: vllm/vllm-openai:{tag}\n    command: --model ${{M:-a/B}} -tp 2\n"
    told = read_launch(text, "c.yaml").question
    assert (told["model"], told["count"], told["software"]) == ("a/B", 2, {"vllm": release})


def test_compose_fills_in_variables_from_the_file_beside_it() -> None:
    text = """
services:
  a:
    image: "vllm/vllm-openai:${TAG}"
    command: --model ${MODEL:-a/B} --tensor-parallel-size ${TP} --seed $SEED
  b:
    image: vllm/vllm-openai
    command: ["--model", "${MODEL:-a/B}", "--max-num-seqs", "$${N}"]
"""
    one, other = manifest_commands(text, "# sizes\nTAG=v0.11.0\nexport TP='2'\nMODEL = no\nN=4  # of them\n")
    assert one.words[:5] == ("vllm/vllm-openai:v0.11.0", "--model", "a/B", "--tensor-parallel-size", "2")
    assert "$SEED" in one.words[-1]
    assert other.words[-1] == "${N}"
    told = read_launch(text, "c", beside={".env": "TP=4"}.get)
    assert told.question["count"] == 4


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (
            (
                "apiVersion: apps/v1\nspec:\n  containers:\n  - name: a\n    image: vllm/vllm-openai:v0.10.2\n"
                "    resources: {limits: {nvidia.com/gpu: '2', memory: 8Gi}}\n"
            ),
            {"nvidia.com/gpu": "2"},
        ),
        (
            (
                "services:\n  a:\n    image: vllm/vllm-openai:v0.10.2\n    deploy: {resources: {reservations: {devices:"
                " [{driver: nvidia, device_ids: ['0', '3']}]}}}\n"
            ),
            {"reservations/gpu": "2"},
        ),
    ],
)
def test_a_container_shows_the_devices_that_it_is_given(text: str, given: dict[str, str]) -> None:
    [command] = manifest_commands(text)
    assert command.environment == given


@pytest.mark.parametrize("label", ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "disk"])
def test_the_node_of_a_container_names_its_devices(label: str) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nspec:\n"
        f"  nodeSelector: {{{label}: NVIDIA-L40S}}\n"
        "  containers:\n  - name: a\n    image: vllm/vllm-openai:v0.10.2\n    args: [--model, Qwen/Qwen3-14B]\n"
    )
    assert read_launch(text, "pod.yaml").question.get("hardware") == (
        None if label == "disk" else "NVIDIA-L40S"
    )


CHART = """
servingEngineSpec:
  modelSpec:
  - name: small
    repository: "vllm/vllm-openai"
    tag: "v0.11.0"
    modelURL: "Qwen/Qwen3-8B"
    requestGPU: 1
    env: [{name: VLLM_USE_V1, value: "1"}]
    vllmConfig: {tensorParallelSize: 2, maxModelLen: 4096, enableChunkedPrefill: false, extraArgs: ["--max-num-seqs", "8"]}
"""


def test_the_values_of_a_chart_are_the_command_that_it_makes_of_them() -> None:
    [launch] = read_launches(CHART, "values.yaml")
    assert launch.form is LaunchForm.CHART
    assert launch.facts.question["model"] == "Qwen/Qwen3-8B"
    assert launch.facts.question["software"] == {"vllm": "0.11.0"}
    assert launch.command.environment == {"VLLM_USE_V1": "1", "nvidia.com/gpu": "1"}
    flags = launch.command.words[3:]
    assert flags[:2] == ("--no-enable-prefix-caching", "--no-enable-chunked-prefill")
    assert flags[2:] == ("--max-model-len", "4096", "--tensor-parallel-size", "2", "--max-num-seqs", "8")
    assert is_launch(CHART, "values.yaml")


@pytest.mark.parametrize(
    "text", ["modelSpec: [", "modelSpec: 3", "modelSpec:\n- {name: a}", "a:\n  modelSpec: {}"]
)
def test_other_texts_hold_no_values_of_it(text: str) -> None:
    assert chart_commands(text) == []


def test_a_slice_of_a_device_is_no_device() -> None:
    pod = """kind: Pod
spec:
  containers:
    - image: vllm/vllm-openai:v0.9.2
      args: [--model, a/B-8B]
      resources: {limits: {RESOURCE: 1}}
"""
    notes = {
        name: " ".join(read_launch(pod.replace("RESOURCE", name), "pod.yaml").notes)
        for name in ("nvidia.com/mig-3g.40gb", "nvidia.com/gpu")
    }
    assert "a slice of a device is given (nvidia.com/mig-3g.40gb)" in notes["nvidia.com/mig-3g.40gb"]
    assert "slice" not in notes["nvidia.com/gpu"]
