"""What browsers may do with pages, and by which names they may ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Browsers say by the same rule where a form was posted from, which `changes.posted` has to know.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Protection:
    """ASGI middleware: security headers on all answers, and no answers under foreign names.

    A web site could point a name of its own to this address, and read pages by its visitors' browsers;
    `trusted_hosts` are the names that are served, "*" for any.
    """

    def __init__(self, app: ASGIApp, trusted_hosts: Sequence[str]) -> None:
        self._app = app
        self._trusted = frozenset(host.lower().strip("[]") for host in trusted_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if not scope["path"].startswith("/static/"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        host = host_name(Headers(scope=scope).get("host", ""))
        if "*" in self._trusted or host in self._trusted:
            await self._app(scope, receive, protected)
            return
        refusal = PlainTextResponse("This name is not served; start with --trusted-host.\n", 421)
        await refusal(scope, receive, protected)


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in small letters."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
