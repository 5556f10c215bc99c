"""What is said of the other side of a connection."""

from __future__ import annotations

from typing import Final

from mqframe.core.frame import FrameDecoder

CLOSED: Final = "closed by the other side"


def closed_reason(decoder: FrameDecoder) -> str:
    """Why a plain connection is over that the other side closed."""
    if decoder.untouched:
        return f"{CLOSED} before it said anything, as servers do that take TLS only; if it is one, set tls"
    return CLOSED


def address_text(address: tuple[str, int] | str | None) -> str:
    """An address of a socket as "host:port"."""
    if not isinstance(address, tuple):
        return str(address or "")
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
