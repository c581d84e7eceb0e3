"""An engine for tests: a real process that speaks health and OpenAI's completions, with faults to order.

Its speed follows from its settings: ``--max-num-seqs`` answers at a time, a token every ``TOKEN_MS`` (three times
as long under ``--enforce-eager``). ``FAULT`` orders a fault: ``dies``, ``silent``, ``stubborn`` (ignores being
asked to end), ``mute`` (dies under load), ``wrong`` (other answers under ``--enforce-eager``), ``close`` (refuses to
tell how likely its tokens were).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROGRAM = f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n'


def install(folder: Path, name: str = "vllm") -> Path:
    """Put it into a folder for programs, under the name of an engine."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return folder


@contextmanager
def running(folder: Path, port: int, *words: str, fault: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """It on a port, ready, until the block ends."""
    program = install(folder / "bin") / "vllm"
    process = subprocess.Popen(
        [str(program), "serve", "tiny", "--port", str(port), *words],
        env={**os.environ, "FAULT": fault},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def _serve() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--port", "--server-port", type=int, default=int(os.environ.get("PORT", "8000")))
    parser.add_argument(
        "--served-model-name", "--alias", "--model-name", "--served_model_name", nargs="*", default=["model"]
    )
    parser.add_argument("--max-num-seqs", type=int, default=8)
    parser.add_argument("--enforce-eager", action="store_true")
    parser.add_argument("--api-key", default=os.environ.get("OPENAI_API_KEY", ""))
    given, _ = parser.parse_known_args()
    fault, token_s = os.environ.get("FAULT", ""), float(os.environ.get("TOKEN_MS", "4")) / 1e3
    if given.enforce_eager:
        token_s *= 3
    if fault == "dies":
        print("loading weights", flush=True)
        sys.exit("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB")
    if fault == "silent":
        print("loading weights", flush=True)
        time.sleep(600)
    if fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    slots, asked = threading.Semaphore(given.max_num_seqs), [0]
    says = "noise" if fault == "wrong" and given.enforce_eager else "answer"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _json(self, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _is_refused(self) -> bool:
            if not given.api_key or self.headers["Authorization"] == f"Bearer {given.api_key}":
                return False
            self.send_error(401, "Invalid API Key")
            return True

        def do_GET(self) -> None:
            if self.path.startswith("/v1") and self._is_refused():
                return
            self._json({"data": [{"id": name} for name in given.served_model_name]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._is_refused():
                return
            asked[0] += 1
            if fault == "close" and "logprobs" in body:
                self.send_error(400, "logprobs are not supported")
                return
            if fault == "mute" and asked[0] > 20:
                print("CUDA error: an illegal memory access was encountered", flush=True)
                os._exit(1)
            tokens = body["max_tokens"]
            usage = {"prompt_tokens": len(body["prompt"].split()), "completion_tokens": tokens}
            with slots:
                if not body.get("stream"):
                    time.sleep(token_s)
                    text = f"{says} to {body['prompt'][:8]}"
                    words = text.split()
                    told: object = {
                        "tokens": words,
                        "token_logprobs": [-0.1] * len(words),
                        "top_logprobs": [{word: -0.1, "else": -2.4} for word in words],
                    }
                    told = told if "logprobs" in body else None
                    self._json({"choices": [{"text": text, "logprobs": told}], "usage": usage})
                    return
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for _ in range(tokens):
                    time.sleep(token_s)
                    self._chunk({"choices": [{"text": " a", "finish_reason": None}], "usage": None})
                self._chunk({"choices": [], "usage": usage})
                self.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

        def _chunk(self, content: object) -> None:
            line = f"data: {json.dumps(content)}\n\n".encode()
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
    server.daemon_threads = True
    print(f"listening on {given.port} key {os.environ.get('API_KEY', '')}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve()
