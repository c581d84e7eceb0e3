"""A store on another machine that fails: torn answers, refusals and silence are told, and never believed."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

from kg.errors import FetchError, InputError
from kg.triples.remote.store import RemoteStore

SELECT = "SELECT ?s WHERE { ?s ?p ?o }"
ROWS = b'{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://e/a"}}'
A = NamedNode("http://e/a")


@contextmanager
def answering(status: int, body: bytes, length: int | None = None) -> Iterator[tuple[str, list[str]]]:
    """A server that gives one answer, and the Authorization headers that it got."""
    got: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as there
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("body", "length"),
    [
        (ROWS + b"The SPARQL operation has been cancelled", None),
        (ROWS, None),
        (ROWS, 500),
        (b"<html>a portal wants a login</html>", None),
        (b"", None),
    ],
)
def test_an_answer_that_is_not_whole_is_not_believed(body: bytes, length: int | None) -> None:
    with answering(200, body, length) as (address, _), pytest.raises(FetchError, match=r"whole|answer"):
        RemoteStore(address).select(SELECT)


def test_a_graph_that_is_not_whole_is_not_written() -> None:
    with answering(200, b"<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> <http") as (address, _):
        stream = io.BytesIO()
        with pytest.raises(FetchError, match="not whole"):
            RemoteStore(address).dump(stream, RdfFormat.N_TRIPLES)


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "--token-file"), (403, "--token-file"), (404, "data set"), (500, "safe")]
)
def test_a_refusal_is_told_in_the_words_of_the_server(status: int, hint: str) -> None:
    with answering(status, b"no such thing\nsecond line") as (address, _):
        with pytest.raises(FetchError, match=f"HTTP {status} .*: no such thing$") as refused:
            RemoteStore(address).extend([Triple(A, A, A)])
        assert hint in refused.value.hint


def test_the_token_goes_along_and_stays_out_of_messages() -> None:
    with answering(403, b"") as (address, got):
        with pytest.raises(FetchError) as refused:
            RemoteStore(address, "a-secret-of-sixteen").update("CLEAR ALL")
        assert got == ["Bearer a-secret-of-sixteen"]
        assert "secret" not in f"{refused.value}{refused.value.hint}"


def test_nobody_there_and_nothing_safe() -> None:
    with pytest.raises(FetchError, match="does not answer"):
        len(RemoteStore("http://127.0.0.1:1"))
    with pytest.raises(InputError, match="https"):
        RemoteStore("http://store.example/team")


def test_nodes_without_a_name_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="blank node"):
        RemoteStore("http://127.0.0.1:1").extend([Triple(BlankNode(), A, A)])
