"""The own records of a workspace sent to a server, which merges them into the base."""

from __future__ import annotations

import json
import ssl
import tempfile
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request

from kg.errors import FetchError, InputError
from kg.web import is_safe, send
from kg.whole_files import sha256_of
from recommender.store.bases.push import push
from recommender.store.merging import MergeResult

if TYPE_CHECKING:
    from recommender.files import WorkspaceFiles

MERGE = "/v1/merge"
"""Where ``tunegraph serve --write`` takes what is pushed."""
TIMEOUT_S = 600.0
"""Silence after which it is given up: the server merges before it answers."""
_AGAIN = "what came twice counts once: the same command again is safe"
_BAD_INPUT = 2
_NO_TOKEN = 401
_MOST_REPLY_BYTES = 16 << 20


def push_to(
    layout: WorkspaceFiles, cache: Path, address: str, *, token: str = "", label: str = ""
) -> MergeResult:
    """Send what a workspace has above its base to a server that may write to the base.

    Args:
        layout: The workspace; it is only read.
        cache: The user's cache directory.
        address: Of the server.
        token: What it asks for.
        label: What the base calls it in the provenance.

    Returns:
        What the server did with it; ``ours`` in its conflicts is the base.

    Raises:
        InputError: The workspace has nothing to give, or the server refuses what was sent.
        FetchError: It does not answer.
    """
    if not is_safe(address):
        raise InputError(f"{address}: nothing was sent, since it is not https")
    with tempfile.TemporaryDirectory(prefix="tunegraph-push-") as folder:
        file = Path(folder) / "own.backup"
        push(layout, cache, file)
        return _sent(file, address, token, label or "push")


def _sent(file: Path, address: str, token: str, label: str) -> MergeResult:
    place = f"{address.rstrip('/')}{MERGE}" if urlsplit(address).path in {"", "/"} else address
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Length": str(file.stat().st_size),
        "Idempotency-Key": sha256_of(file),
    }
    try:
        with file.open("rb") as stream:
            request = Request(f"{place}?label={quote(label)}", stream, headers)  # noqa: S310  checked
            with send(request, token=token, timeout_s=TIMEOUT_S) as reply:
                content = reply.read(_MOST_REPLY_BYTES)
        return MergeResult.of_json(json.loads(content))
    except HTTPError as error:
        raise _refused(place, error) from None
    except (URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise FetchError(f"{place}: does not answer ({reason})", hint=_AGAIN) from None
    except ValueError as error:
        raise FetchError(f"{place}: not an answer of tunegraph serve ({error})", hint=_AGAIN) from None


def _refused(place: str, error: HTTPError) -> FetchError | InputError:
    """The refusal in the server's words, where it has some."""
    try:
        said: Any = json.loads(error.read(_MOST_REPLY_BYTES))
        detail, hint, code = str(said["detail"]), str(said.get("hint", "")), said["code"]
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return FetchError(f"{place}: refused (HTTP {error.code} {error.reason})", hint=_AGAIN)
    if error.code == _NO_TOKEN:
        hint = "give the token of the server with --token-file or TUNEGRAPH_TOKEN"
    kind = InputError if code == _BAD_INPUT else FetchError
    return kind(f"{place}: {detail} (HTTP {error.code})", hint=hint or _AGAIN)
