"""The suite of codecs finds what it is for."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from mqframe_testing.conformance import CodecConformance

from mqframe.core.errors import DecodeError
from mqframe.core.messages.codec import Codec
from mqframe.core.messages.json_codec import JsonCodec


class Suite(CodecConformance):
    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def make(self) -> Codec:
        return self._codec

    def values(self) -> Iterable[tuple[Any, Any]]:
        return [(list[str], ["a", "b"]), (str, "x" * 2000)]

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        return [(list[int], f'["{self.secret}"]'.encode())]


class Loses(JsonCodec):
    def decode(self, body: bytes, type: Any) -> Any:
        return [] if type == list[str] else super().decode(body, type)


class Raises(JsonCodec):
    def decode(self, body: bytes, type: Any) -> Any:
        return pickle.loads(body)


class Quotes(JsonCodec):
    def decode(self, body: bytes, type: Any) -> Any:
        try:
            return super().decode(body, type)
        except DecodeError:
            raise DecodeError(f"bad body {body!r}") from None


class Trusts(JsonCodec):
    def check(self, type: Any) -> None:
        """All is well."""


def test_a_sound_one_passes() -> None:
    suite = Suite(JsonCodec())
    checks = [name for name in dir(suite) if name.startswith("test_")]
    assert len(checks) == 10
    for name in checks:
        getattr(suite, name)()


@pytest.mark.parametrize(
    ("codec", "check"),
    [
        (Loses(), "test_values_survive"),
        (Loses(), "test_threads_may_share_it"),
        (Raises(), "test_junk_does_no_harm"),
        (Quotes(), "test_wrong_bodies_are_told"),
        (Trusts(), "test_types_of_its_values_pass_the_check"),
    ],
)
def test_a_bad_one_does_not(codec: Codec, check: str) -> None:
    with pytest.raises((AssertionError, pickle.UnpicklingError, pytest.fail.Exception)):
        getattr(Suite(codec), check)()
