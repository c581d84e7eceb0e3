"""A refusal that clients can read although they still send: the rest of their body is read and dropped.

A server that closes a connection with unread bytes resets it, and the client loses the answer. So the answer
goes out at once, and its end waits until the client has sent all, or takes too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


LINGER_SECONDS = 30.0
"""The longest wait, and 5 s of silence: the defaults of nginx (lingering_time, lingering_timeout)."""
SILENCE_SECONDS = 5.0
_LEAST_ERROR = 400


class LingeringClose:
    """An ASGI application around another: refusals end when the client has sent its body.

    Args:
        app: The application.
    """

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_ended = is_refusal = False

        async def received() -> Message:
            nonlocal has_ended
            message = await receive()
            has_ended = _is_end(message)
            return message

        async def sent(message: Message) -> None:
            nonlocal is_refusal
            if message["type"] == "http.response.start":
                is_refusal = message["status"] >= _LEAST_ERROR
            is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not is_last or not is_refusal or has_ended:
                await send(message)
                return
            await send({**message, "more_body": True})
            await _drop_rest(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, received, sent)


async def _drop_rest(receive: Receive) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + LINGER_SECONDS
    try:
        while (left := ends - loop.time()) > 0:
            if _is_end(await asyncio.wait_for(receive(), min(left, SILENCE_SECONDS))):
                return
    except TimeoutError:
        return


def _is_end(message: Message) -> bool:
    return message["type"] == "http.disconnect" or not message.get("more_body", False)
