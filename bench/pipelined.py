"""Sends that leave in windows, as plain frames over one connection: hardly any of the client is measured."""

from __future__ import annotations

import socket
import struct
import time

from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.frame import Frame, encode_frame

LENGTH = struct.Struct(">i")


def window_of(count: int, topic: str = "BenchTopic") -> bytes:
    """`count` sends of 100 bytes with a unique key and a tag, as they go over the wire."""
    frames = []
    for number in range(count):
        properties = f"UNIQ_KEY\x017F00000172FA3FA5A80B47B7{number:08X}\x02WAIT\x01true\x02TAGS\x01TagA\x02"
        request = SendMessageV2(
            "bench", topic, "TBW102", 4, number % 4, 0, int(time.time() * 1000), 0, properties,
            0, False, None, False, "",
        )  # fmt: skip
        frame = Frame(SendMessageV2.CODE, number, 0, None, encode_fields(request), b"x" * 100)
        frames.append(encode_frame(frame))
    return b"".join(frames)


def send(connection: socket.socket, window: bytes, count: int) -> None:
    """Send `window` and read its `count` answers. Raises `RuntimeError` when the first is a refusal."""
    connection.sendall(window)
    answered, unread = 0, b""
    while answered < count:
        unread += connection.recv(1 << 20)
        at = 0
        while len(unread) - at >= 4 and len(unread) - at - 4 >= LENGTH.unpack_from(unread, at)[0]:
            length = LENGTH.unpack_from(unread, at)[0]
            if not answered and b'"code":0' not in unread[at : at + 4 + length]:
                raise RuntimeError(f"the broker answered {unread[at : at + 4 + length]!r}")
            answered, at = answered + 1, at + 4 + length
        unread = unread[at:]
