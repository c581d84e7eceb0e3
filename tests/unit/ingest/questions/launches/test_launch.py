"""Launch commands as questions: what runs, on how many devices, and what is set now."""

import json

import pytest

from ingest.questions.launches.launch import LaunchForm, read_launch, read_launches
from kg.errors import InputError, UnknownEntityError

MEGATRON = """
#!/bin/bash
export HCCL_BUFFSIZE=200
export LD_LIBRARY_PATH=/usr/lib:$LD_LIBRARY_PATH
export WANDB_API_KEY=secret
NPUS_PER_NODE=8
NNODES=2
DISTRIBUTED_ARGS="--nproc_per_node $NPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK"
GPT_ARGS="
    --tensor-model-parallel-size 2 \\
    --sequence-parallel \\
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
    --group-query-attention --num-query-groups 8 \\
    --seq-length 8192 --micro-batch-size 1 --global-batch-size 64 \\
    --recompute-granularity full --lr 1e-5 --use-flash-attn --bf16
"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS $DATA_ARGS --load ${CKPT} --swap-x ${SWAP} | tee log
"""


def test_a_megatron_script_tells_sizes_devices_and_settings() -> None:
    told = read_launch(MEGATRON, "train.sh")
    assert told.question["phase"] == "training"
    assert told.question["count"] == 16
    assert told.question["precision"] == "bf16"
    assert told.question["shape"] == {"seq_len": 8192}
    assert told.question["sizes"] == {
        "layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "attention_heads": 32, "kv_heads": 8,
        "architecture": "decoder",
    }  # fmt: skip
    assert told.question["current"] == {
        "HCCL_BUFFSIZE": 200, "tensor_model_parallel_size": 2, "sequence_parallel": True, "micro_batch_size": 1,
        "global_batch_size": 64, "recompute_granularity": "full", "use_flash_attn": True, "bf16": True,
    }  # fmt: skip


def test_what_of_it_could_not_be_read_is_listed_and_no_key_is_kept() -> None:
    told = read_launch(MEGATRON, "train.sh")
    assert told.notes == (
        "train.sh: could not be read: --swap-x is $SWAP",
        "train.sh: could not be read: $DATA_ARGS is not set in the script",
    )
    assert "secret" not in str(told)


@pytest.mark.parametrize(
    ("command", "count", "model", "current"),
    [
        (
            "vllm serve Qwen/Qwen3-32B -tp 4 -dp 2 --no-enable-prefix-caching --port 80",
            8,
            "Qwen/Qwen3-32B",
            {"tensor_parallel_size": 4, "data_parallel_size": 2, "enable_prefix_caching": False},
        ),
        (
            "python -m vllm.entrypoints.openai.api_server --model=/w/Qwen3-8B-W8A8/ --max-num-seqs=64",
            1,
            "/w/Qwen3-8B-W8A8/",
            {"max_num_seqs": 64},
        ),
        (
            """vllm serve x/Y --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}' \\
            --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}'""",
            1,
            "x/Y",
            {"cudagraph_mode": "FULL_DECODE_ONLY", "speculative_method": "mtp", "num_speculative_tokens": 1},
        ),
        (
            "nohup python3 -m sglang.launch_server --model-path a/B --tp 16 --dp-size 16 --enable-dp-attention &",
            16,
            "a/B",
            {"tp_size": 16, "dp_size": 16, "enable_dp_attention": True},
        ),
        ("docker run --gpus all vllm/vllm-openai:v1 a/B -tp 2", 2, "a/B", {"tensor_parallel_size": 2}),
        ('docker run img bash -c "vllm serve a/B -tp 2"', 2, "a/B", {"tensor_parallel_size": 2}),
    ],
)
def test_servers(command: str, count: int, model: str, current: dict[str, object]) -> None:
    told = read_launch(command, "command").question
    assert (told["count"], told["model"], told["phase"]) == (count, model, "serving")
    assert told["current"] == current


def test_a_type_is_the_format_of_weights_that_are_not_quantised() -> None:
    assert "precision" not in read_launch("vllm serve org/X-7B-W8A8 --dtype half", "c").question
    assert "precision" not in read_launch("vllm serve org/X-7B -q awq --dtype half", "c").question
    assert read_launch("vllm serve org/X-7B --dtype bfloat16", "c").question["precision"] == "bfloat16"


def test_what_decides_and_is_not_known_is_said() -> None:
    told = read_launch("vllm serve $MODEL", "c")
    assert "model" not in told.question
    assert told.notes == ("c: could not be read: the model is $MODEL",)
    told = read_launch("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2", "pretrain_llama.sh")
    assert not {"model", "sizes"} & set(told.question)
    assert told.notes == (
        "pretrain_llama.sh: could not be read: which model it is, hidden_size, attention_heads not told",
    )


def test_layers_that_only_fill_a_stage_are_no_layers_of_the_model() -> None:
    told = read_launch(
        "python -m torch.distributed.launch --nproc_per_node 16 --nnodes 32 pretrain_gpt.py --num-layers 64 "
        "--noop-layers 61,62,63 --hidden-size 7168 --num-attention-heads 128 --num-experts 256 --kv-lora-rank 512 "
        "--moe-router-topk 8 --n-shared-experts 1 --moe-ffn-hidden-size 2048 --rope-scaling-factor 40 --swap-optimizer",
        "pretrain_deepseek3_671b_4k_A3_ptd.sh",
    ).question
    assert told["count"] == 512
    assert told["sizes"] == {
        "layers": 61, "hidden_size": 7168, "attention_heads": 128, "experts": 256, "kv_lora_rank": 512,
        "experts_per_token": 8, "shared_experts": 1, "moe_intermediate_size": 2048, "architecture": "moe-decoder",
        "attention_kind": "latent",
    }  # fmt: skip
    assert told["current"] == {"noop_layers": "61,62,63", "swap_optimizer": True}


def test_blocks_that_differ_are_stated_by_a_pattern_or_a_number() -> None:
    command = "torchrun t.py --num-layers 9 --hidden-size 64 --num-attention-heads 2 --num-experts 4"
    for option in ("--moe-layer-freq '([0]*3+[1]*6)'", "--first-k-dense-replace 3"):
        sizes = read_launch(f"{command} {option} --mtp-num-layers 1 --q-lora-rank 8", "c").question["sizes"]
        assert isinstance(sizes, dict)
        assert (sizes["dense_layers"], sizes["mtp_layers"], sizes["q_lora_rank"]) == (3, 1, 8)


def test_a_trainer_that_is_told_its_model_by_name_and_its_settings_by_a_file() -> None:
    told = read_launch(
        "torchrun --nproc_per_node 8 train_fsdp2.py a/b.yaml --model.model_name_or_path /w/Qwen3-8B/ "
        "--parallel.fsdp_size 8 --training.output_dir ./o",
        "c",
    )
    assert (told.question["model"], told.question["count"]) == ("/w/Qwen3-8B/", 8)
    assert told.question["current"] == {"parallel.fsdp_size": 8, "training.output_dir": "./o"}
    assert told.notes == ("c: not read: the settings in a/b.yaml",)


def test_deepspeed_counts_its_devices() -> None:
    assert (
        read_launch("deepspeed --num_gpus 8 --num_nodes 2 train.py --deepspeed d.json", "c").question["count"]
        == 16
    )


def test_an_unknown_split_gives_no_count() -> None:
    told = read_launch("vllm serve a/B --tensor-parallel-size $TP", "c")
    assert "count" not in told.question
    assert told.notes == ("c: could not be read: --tensor-parallel-size is $TP",)


def test_mindspore_says_which_file_was_not_read() -> None:
    command = 'bash scripts/msrun_launcher.sh "run_mindformer.py --config a.yaml --run_mode predict" 4'
    told = read_launch(command, "c")
    assert (told.question["count"], told.question["phase"]) == (4, "serving")
    assert told.notes == ("c: not read: the settings in a.yaml",)
    assert told.files == ("a.yaml",)
    told = read_launch("msrun --worker_num=8 --local_worker_num=8 run_mindformer.py --config b.yaml", "c")
    assert (told.question["count"], told.question["phase"]) == (8, "training")


def test_visible_devices_are_counted_where_the_command_does_not_say() -> None:
    told = read_launch("export ASCEND_RT_VISIBLE_DEVICES=0,1,2\npython pretrain_gpt.py --num-layers 2", "c")
    assert told.question["count"] == 3


@pytest.mark.parametrize(
    ("place", "options", "hint"),
    [
        ("pretrain_llama2_7b_4K_ptd.sh", "", "llama2-7b"),
        ("train.sh", "", None),
        ("train.sh", "--tokenizer-name-or-path /w/Qwen3-8B/", "/w/Qwen3-8B/"),
    ],
)
def test_a_name_that_may_be_the_models_chooses_among_sizes(
    place: str, options: str, hint: str | None
) -> None:
    sizes = "--num-layers 2 --hidden-size 64 --num-attention-heads 2"
    command = f"torchrun --nproc_per_node 8 pretrain_gpt.py {sizes} {options}"
    assert read_launch(command, place).question.get("model") == hint
    without = read_launch("python pretrain_gpt.py --micro-batch-size 2", "pretrain_llama2_7b.sh").question
    assert "model" not in without


def test_no_launch_is_a_fault_with_what_is_known() -> None:
    with pytest.raises(InputError, match="no launch") as fault:
        read_launch("ls -la\npython plot.py --x 1", "c.sh")
    assert "tunegraph support" in fault.value.hint


def test_several_launches_are_told_and_one_is_picked() -> None:
    text = "vllm serve a/B\nvllm serve a/C"
    told = read_launch(text, "c")
    assert told.question["model"] == "a/B"
    assert "1 vllm of a/B on 1 device; 2 vllm of a/C on 1 device; this is a plan for 1" in told.notes[0]
    assert read_launch(text, "c", server=2).question["model"] == "a/C"
    with pytest.raises(InputError, match="there is no launch 3"):
        read_launch(text, "c", server=3)
    alike = "CUDA_VISIBLE_DEVICES=0 vllm serve a/B &\nCUDA_VISIBLE_DEVICES=1 vllm serve a/B --port 81 &"
    assert read_launch(alike, "c").notes == ("c: 2 servers alike: the plan is for each of them",)


PAIR = """
CUDA_VISIBLE_DEVICES=0 vllm serve a/B --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
python -m sglang.launch_server --model-path a/B --tp 2 --disaggregation-mode decode &
"""


def test_prefill_and_decode_servers_have_their_roles() -> None:
    first, second = read_launches(PAIR, "c")
    assert (first.role, second.role) == ("prefill", "decode")
    assert first.facts.question["traits"] == {"role": "prefill", "disaggregated": True}
    assert "decode server of a/B on 2 devices" in read_launch(PAIR, "c").notes[0]


def test_a_batch_job_states_the_devices_that_the_command_leaves_open() -> None:
    head = "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gres=gpu:h100:8\n"
    megatron = "pretrain_gpt.py --num-layers 2 --micro-batch-size 1"
    told = read_launch(f"{head}srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES {megatron}", "c")
    assert told.question["count"] == 32
    assert read_launch(f"{head}srun python {megatron}", "c").question["count"] == 32
    assert read_launch(f"{head}srun vllm serve a/B -tp 2", "c").question["count"] == 2


def test_what_a_launcher_starts_is_never_guessed() -> None:
    with pytest.raises(UnknownEntityError, match=r"torchrun starts train\.py") as fault:
        read_launch("torchrun --nproc_per_node 8 train.py --data x", "c")
    assert "known:" in fault.value.hint
    with pytest.raises(UnknownEntityError) as fault:
        read_launch("accelerate_x; torchrun -m torchtitn.train", "c")


def test_a_file_beside_the_script_states_settings_and_the_command_wins() -> None:
    files = {"s.yaml": "model: a/B\ntensor-parallel-size: 4\nmax-num-seqs: 8\ncompilation-config: {level: 3}"}
    told = read_launch("vllm serve --config s.yaml --max-num-seqs 16", "c", beside=files.get)
    assert (told.question["model"], told.question["count"], told.notes) == ("a/B", 4, ())
    assert told.question["current"] == {"tensor_parallel_size": 4, "max_num_seqs": 16, "level": 3}
    assert read_launch("vllm serve a/B --config t.yaml", "c", beside=files.get).notes == (
        "c: not read: the settings in t.yaml",
    )
    with pytest.raises(InputError, match=r"t\.yaml"):
        read_launch("vllm serve a/B --config t.yaml", "c", beside={"t.yaml": "a: [1"}.get)


def test_mindie_is_told_by_the_configuration_beside_it() -> None:
    model = {"worldSize": 8, "tp": 8, "modelWeightPath": "/w/Qwen3-32B"}
    config = {"BackendConfig": {"ModelDeployConfig": {"maxSeqLen": 8192, "ModelConfig": [model]}}}
    told = read_launch("./bin/mindieservice_daemon", "c", beside={"conf/config.json": json.dumps(config)}.get)
    assert (told.question["model"], told.question["count"]) == ("/w/Qwen3-32B", 8)


def test_the_configuration_of_mindie_is_a_launch_of_it() -> None:
    deployed = {
        "maxSeqLen": 2560,
        "ModelConfig": [{"modelWeightPath": "/data/Qwen2.5-72B", "worldSize": 4, "tp": 4}],
    }
    text = json.dumps({"ServerConfig": {"port": 1025}, "BackendConfig": {"ModelDeployConfig": deployed}})
    [launch] = read_launches(text, "config.json", {"config.json": text}.get)
    assert launch.form is LaunchForm.CONFIGURATION
    question = launch.facts.question
    assert (question["model"], question["count"]) == ("/data/Qwen2.5-72B", 4)
    assert not read_launches('{"hidden_size": 4096}', "config.json")


def test_objects_of_flags_keep_their_place() -> None:
    text = """vllm serve a/B --limit-mm-per-prompt '{"image": 2}' --hf-overrides '{"a": {"b.c": null}, "d": "[1]"}' \\
    --compilation-config '{"cudagraph_mode": "FULL"}' --kv-transfer-config '{"x": {"tp_size": 4}, "y": {"tp_size": 8}}'"""
    told = read_launch(text, "c").question
    assert told["current"] == {
        "limit_mm_per_prompt.image": 2, "hf_overrides": '{"a": {"b.c": null}, "d": "[1]"}', "cudagraph_mode": "FULL",
        "kv_transfer_config.x.tp_size": 4, "kv_transfer_config.y.tp_size": 8,
    }  # fmt: skip
    assert told["count"] == 1
    assert told["places"]["cudagraph_mode"] == "compilation_config.cudagraph_mode"  # type: ignore[index]


def test_a_list_stays_a_list_and_a_switch_takes_no_word() -> None:
    told = read_launch("vllm serve --enable-lora a/B --lora-modules x=/x y=/y --foo_bar z", "c").question
    assert told["model"] == "a/B"
    assert told["current"] == {"enable_lora": True, "lora_modules": ("x=/x", "y=/y"), "foo_bar": "z"}
    assert told["places"] == {"foo_bar": "--foo_bar"}


@pytest.mark.parametrize(
    "command",
    [
        'eval "vllm serve a/B -tp 2"',
        'ssh host "cd /x && vllm serve a/B -tp 2"',
        "tmux new -d 'vllm serve a/B -tp 2'",
        "bash -lc 'vllm serve a/B -tp 2'",
        "docker run --entrypoint vllm vllm/vllm-openai:latest serve a/B -tp 2",
        "python -m vllm.entrypoints.cli.main serve a/B -tp 2",
    ],
)
def test_texts_that_others_run_and_verbs(command: str) -> None:
    told = read_launch(command, "c").question
    assert (told["model"], told["count"]) == ("a/B", 2)


def test_a_toml_file_beside_the_launch() -> None:
    text = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file t.toml"
    files = {"t.toml": '[model]\nname = "llama3"\n[training]\nseq_len = 8192\n'}
    assert read_launch(text, "c", beside=files.get).question["shape"] == {"seq_len": 8192}
    sized = {"t.toml": '[model]\nname = "llama3"\nflavor = "70B"\n'}
    assert read_launch(text, "c", beside=sized.get).question["model"] == "llama3-70B"
    with pytest.raises(InputError, match=r"t\.toml"):
        read_launch(text, "c", beside={"t.toml": "= 1"}.get)


def test_devices_that_contradict_each_other_are_said() -> None:
    text = """#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun torchrun --nproc_per_node 8 --nnodes {nodes} pretrain_gpt.py --tensor-model-parallel-size 8 \\
  --pipeline-model-parallel-size {stages} --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""
    told = read_launch(text.format(nodes=4, stages=16), "j")
    assert told.question["count"] == 32
    assert told.notes == (
        "j: it divides over 128 devices, and is started on 32",
        "j: #SBATCH asks for 16 devices, and the launch divides over 32",
    )
    assert read_launch(text.format(nodes=2, stages=2), "j").notes == ()
    assert read_launch("#SBATCH -N 1\n#SBATCH --gpus-per-node=4\nvllm serve a/B -tp 8\n", "j").notes == (
        "j: #SBATCH asks for 4 devices, and the launch divides over 8",
    )


@pytest.mark.parametrize("command", ["vlllm serve a/B", "trtllm-server a/B", "python x.py; vllm server a/B"])
def test_a_misspelt_command_is_answered_with_its_program(command: str) -> None:
    with pytest.raises(InputError) as refused:
        read_launch(command, "c")
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("did you mean ")


BROKEN = 'services:\n  x:\n    image: vllm/vllm-openai:v0.9.2\n    command: ["--model", "a/B"\n  y: [\n'


def test_a_broken_manifest_says_where_and_a_template_or_a_tag_is_none() -> None:
    with pytest.raises(InputError, match=r"s\.yaml: line 5: no YAML"):
        read_launches(BROKEN, "s.yaml")
    whole = BROKEN.replace('"a/B"', '"a/B"]').replace("y: [", "y: !reset []")
    assert [one.facts.question["model"] for one in read_launches(whole, "s.yaml")] == ["a/B"]
    template = read_launches(BROKEN.replace("x:", "{{ x }}:"), "s.yaml")
    assert [one.started.signs.id for one in template] == ["vllm"]


def test_a_launch_in_a_here_document_alone_is_told_so() -> None:
    text = "cat > s.sh <<'EOF'\nvllm serve a/B\nEOF\nbash s.sh\n"
    with pytest.raises(InputError, match="outside of a here-document"):
        read_launch(text, "c")
    assert read_launch(text + "vllm serve c/D\n", "c").question["model"] == "c/D"
