"""Addresses of sockets as text, and what is said when the other side closed."""

from __future__ import annotations

from typing import Final

CLOSED: Final = "closed by the other side"


def address_text(address: tuple[str, int] | str | None) -> str:
    """An address of a socket as "host:port"."""
    if not isinstance(address, tuple):
        return str(address or "")
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
