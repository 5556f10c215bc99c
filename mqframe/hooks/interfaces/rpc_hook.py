"""RPC hooks: called before and after every remote call, in clients and in servers."""

from __future__ import annotations

from mqframe.core.wire.frame import Frame


class RpcHook:
    """Sees each request before it leaves or is served, and each answer after. Synchronous; may not block.

    It may add fields to `request.ext` in `before`, for example a signature, and exchange the body of a
    request there, that of an answer in `after`: which is then sent or served, and seen by the hooks after it.
    On a server, raising `mqframe.core.errors.Refusal` in `before` answers the request with that code.
    Anything else is logged.
    """

    name: str = ""

    def before(self, address: str, request: Frame) -> None:
        """Called before a request leaves for `address` (client) or is served for it (server)."""

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        """Called when the answer is there; `None` after a one-way request."""
