"""The shorter way, with and without quotas."""

from __future__ import annotations

from typing import Any

from mqframe_quotas.path import QuotaPath


class ShorterWay:
    """Takes everything."""

    def may_take(self, data: bytes, start: int) -> bool:
        return data.startswith(b"d", start)

    def take(self, *asked: Any) -> str:
        return f"took {asked}"

    def take_one(self, *asked: Any) -> str:
        return f"took one {asked}"

    def enforce(self, who: Any, what: Any) -> bool:
        return who == what


def test_while_there_are_quotas_nothing_goes_the_shorter_way() -> None:
    standing = False
    path = QuotaPath(ShorterWay(), lambda: standing)
    assert path.take(b"d", 0, "peer", 1.0) == "took (b'd', 0, 'peer', 1.0)"
    assert path.take_one("r", b"b", "peer", 1.0) == "took one ('r', b'b', 'peer', 1.0)"
    assert path.enforce(1, 1)
    assert not path.enforce(1, 2)
    assert path.may_take(b"ed", 1)
    assert not path.may_take(b"ed", 0)
    standing = True
    assert not path.may_take(b"ed", 1)
    assert path.take(b"d", 0, "peer", 1.0) is None
    assert path.take_one("r", b"b", "peer", 1.0) is None
