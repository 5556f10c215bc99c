"""A read of which some is served, and what access control says of its next request."""

from __future__ import annotations

from typing import Any

from mqframe_speedups._native import Signers
from mqframe_speedups.served_read import ServedRead


class Caller:
    """Stands for a `KnownCaller`: remembers of what it was asked to tell."""

    def __init__(self) -> None:
        self.signers = Signers()
        self.asked: list[object] = []

    def tells(self, *asked: object) -> bool:
        self.asked.append(asked)
        return True


def test_access_control_is_asked_of_the_request_that_comes_next() -> None:
    peer: Any = object()
    made = ServedRead(b"data", peer)
    assert made.signers is None
    assert not made.tells()
    made.caller = caller = Caller()  # type: ignore[assignment]
    made.start = 3
    assert made.signers is caller.signers
    assert made.tells()
    assert caller.asked == [(peer, b"data", 3)]
