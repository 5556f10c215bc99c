"""Which followers go with a leader."""

from __future__ import annotations

import msgspec
import pytest
from mqframe_replication.rules.admission import Home, taken_id
from mqframe_replication.rules.hello import Hello

HOME = Home("C", "broker-a", 0, 1 << 30)
HELLO = Hello("C", "broker-a", 1, 1 << 30, 4711, "boot")


def test_a_follower_of_the_same_group_is_taken() -> None:
    assert HOME.refusal(HELLO) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"protocol": 2}, "speaks version 2 of the replication protocol, this master version 1"),
        ({"cluster": "D"}, "'broker-a' of 'D': both need the same broker.cluster and broker.name"),
        ({"broker": "b"}, "this master is 'broker-a' of the cluster 'C', the slave is 'b' of 'C'"),
        ({"id": 0}, "replication.id (brokerId) = 0 is that of this master"),
        ({"file_bytes": 1 << 20}, "files have 1048576 bytes, this master's 1073741824"),
    ],
)
def test_a_follower_that_does_not_fit_is_told_why(change: dict[str, object], said: str) -> None:
    assert said in HOME.refusal(msgspec.structs.replace(HELLO, **change))


def test_a_number_that_is_taken_is_named_with_who_has_it() -> None:
    said = taken_id(HELLO, "10.0.0.7:4711")
    assert "replication.id (brokerId) = 1" in said
    assert "10.0.0.7:4711" in said
