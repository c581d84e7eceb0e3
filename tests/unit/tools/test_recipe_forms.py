"""Forms of published configurations, as text that launches them."""

from collections.abc import Mapping
from typing import Any

from ingest.questions.launches.launch import read_launches
from tools.recipe_documents import Document, Published
from tools.recipe_forms import FORMS

GROUP = """
kind: LeaderWorkerSet
metadata: {name: NAME, labels: {llm-d.ai/role: NAME, llm-d.ai/accelerator-vendor: nvidia}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        nodeSelector: {accelerator: nvidia-h200}
        initContainers: [{name: proxy, args: [vllm, serve, x]}]
        containers:
          - name: engine
            command: [/bin/bash, -c]
            args:
              - |-
                exec vllm serve $EXTRA --kv-cache-dtype fp8 \\
                  org/Model-7B \\
                  --data-parallel-size $((LWS_GROUP_SIZE * EACH)) --enable-expert-parallel
            env: [{name: EACH, value: "8"}]
"""
TABLE = """task,model,size,system,dtype,num_gpus,seq_len,tp_size,vp_size,mbs,gbs,etp_size,cuda_graphs,use_mcore_fsdp,recompute_layers,recompute_modules
pre_train,llama31,405b,h100,fp8,1024.0,8192.0,8.0,8.0,1.0,512.0,,0,0,2,
sft,llama3,8b,h100,bf16,8,4096,1,1,1,32,1.0,1,0,0,
lora,llama3,8b,h100,bf16,8,4096,1,1,1,32,,1,0,0,
pre_train,mixtral,8x22b,h100,bf16,8,4096,2,1,1,32,1,1,0,0,
pre_train,llama3,70b,gb200,fp8,64,8192,1,1,1,128,,0,1,0,
pre_train,flux,12b,h100,bf16,8,1,1,1,1,1,,0,0,0,
"""
RUNS = """
- {benchmark: serving, model: a/B c/D-MXFP4, tp: 8, inp: 1, out: 2, dtype: auto, env: {E: 1},
   extra_args: {--block-size: 1, --enable-expert-parallel: true}, arch_overrides: {gfx942: {dtype: float16}}}
"""


def published(
    form: str,
    text: str,
    path: str,
    place: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> list[Published]:
    def read(name: str) -> str | None:
        return {path: text, **(files or {})}.get(name)

    return list(FORMS[form](Document(path=path, text=text, place=place or {}, read=read)))


def test_a_kustomization_is_a_server_for_each_role_with_its_group_and_copies() -> None:
    files = {
        f"guides/pd/modelserver/gpu/{role}.yaml": GROUP.replace("NAME", role)
        for role in ("prefill", "decode")
    }
    top = "# On GB200.\nresources: [prefill.yaml, decode.yaml]\n"
    found = published("kustomization", top, "guides/pd/modelserver/gpu/kustomization.yaml", files=files)
    assert [one.title for one in found] == ["pd/gpu, prefill", "pd/gpu, decode"]
    assert found[1].said == {"role": "decode", "instances": 2, "vendor": "nvidia"}
    assert found[0].near == "nvidia-h200 # On GB200."
    (launch,) = read_launches(found[0].text, "pod.yaml")
    assert launch.facts.question["model"] == "org/Model-7B"
    current = launch.facts.question["current"]
    assert isinstance(current, dict)
    assert current["data_parallel_size"] == 16


def test_a_server_of_no_split_serves_and_one_of_cpus_is_left_out() -> None:
    path, name = "guides/a/modelserver/kustomization.yaml", "guides/a/modelserver/pod.yaml"
    pod = GROUP.replace("NAME", "decode")
    (alone,) = published("kustomization", "resources: [pod.yaml]", path, files={name: pod})
    assert alone.said["role"] == "serve"
    labels = "labels: [{pairs: {llm-d.ai/accelerator-variant: cpu}}]"
    assert not published("kustomization", f"resources: [pod.yaml]\n{labels}", path, files={name: pod})
    assert not published("kustomization", "resources: [pod.yaml]\nkind: Component", path, files={name: pod})


def test_a_continuation_that_blanks_break_on_a_page_goes_on() -> None:
    page = "## Serve\n```bash\nvllm serve a/b --max-num-seqs 8 \\ \n  --block-size 16\n```\n"
    (one,) = published("launches", page, "a/README.md")
    (launch,) = read_launches(one.text, "")
    current = launch.facts.question["current"]
    assert isinstance(current, dict)
    assert set(current) == {"max_num_seqs", "block_size"}


def test_rows_of_a_table_of_performance_that_its_fields_can_say_are_overrides() -> None:
    large, small = published("performance", TABLE, "a/h100.csv")
    assert large.said == {
        "model": "llama3.1-405b",
        "hardware": "h100",
        "precision": "fp8",
        "devices": 1024,
        "role": "train",
    }
    words = large.text.split()
    assert {"model.tensor_model_parallel_size=8", "model.activations_checkpoint_num_layers=2"} <= {*words}
    assert (small.line, small.said["role"]) == (3, "finetune")
    assert "virtual" not in small.text
    assert "model.enable_cuda_graph=true" in small.text


def test_runs_of_mad_are_those_of_the_chip_that_they_differ_on() -> None:
    four, plain = published("mad", RUNS, "default.yaml")
    assert (four.title, four.said["hardware"]) == ("serving, c/D-MXFP4", "amd-gfx950")
    assert "--dtype auto" in four.text
    assert plain.text == (
        "export E=1\nvllm serve a/B --tensor-parallel-size 8 --dtype float16 --block-size 1 --enable-expert-parallel"
    )
    assert plain.said == {"context": {"input_len": 1, "output_len": 2}, "hardware": "amd-gfx942"}


def test_overrides_are_those_that_are_kept_with_the_devices_of_the_name() -> None:
    place = {"command": "python3 x.py", "keep": r"model\."}
    (one,) = published(
        "overrides", "model: {a: true, b: null, c: $x}\nrun: {d: 1}", "l3-70b-256gpus-a4.yaml", place
    )
    assert (one.text, one.said) == ("python3 x.py model.a=true", {"devices": 256, "model": "l3-70b"})
    assert not published("overrides", "a: 1", "plain.yaml", place)


def test_arguments_of_a_bench_are_those_of_the_server_and_its_file() -> None:
    text = "{tp_size: 8, ep_size: 4, modality: image, llm_api_args: {moe_config: {backend: CUTLASS}}}"
    (one,) = published("bench", text, "a/qwen3-32b.yaml")
    assert one.text == "trtllm-serve qwen3-32b --tp_size 8 --ep_size 4 --config qwen3-32b.yaml"
    assert one.files == {"qwen3-32b.yaml": "moe_config:\n  backend: CUTLASS\n"}
