"""What the system holds of a connection that broke: bytes that came before, and that nobody has read.

A write to a side that has left breaks a connection, and asyncio reads nothing more from it then. What that
side sent before it left is still there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

_READ_BYTES = 256 * 1024


def unread(transport: asyncio.Transport | None) -> bytes:
    """The rest of what came by `transport`, whose connection is lost; empty where it has no socket."""
    connection = None if transport is None else transport.get_extra_info("socket")
    if connection is None:
        return b""
    parts: list[bytes] = []
    # It ends, as nothing more comes: with the error that broke the connection, or as one that was closed.
    with contextlib.suppress(OSError):
        while part := os.read(connection.fileno(), _READ_BYTES):
            parts.append(part)
    return b"".join(parts)
