from __future__ import annotations

from typing import Any

from mqframe.core.messages.codec import Codec


class Bare(Codec):
    name = "bare"
    content_type = "text/plain"

    def encode(self, value: Any) -> bytes:
        return bytes(value)

    def decode(self, body: bytes, type: Any) -> Any:
        return type(body)


def test_a_codec_need_not_check_types_nor_name_schemas() -> None:
    codec = Bare()
    codec.check(object)
    assert codec.schema(b"x") == ""
