"""What a role adds to a broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from replicas import Pair, play


@pytest.mark.parametrize(
    ("role", "counters"),
    [
        ("NONE", set()),
        ("ASYNC_MASTER", {"replicationPort", "replicationSlaves", "replicationBehindBytes"}),
        ("SLAVE", {"replicationFollows", "replicationTrouble"}),
    ],
)
def test_a_role_shows_in_the_counters_of_the_broker(tmp_path: Path, role: str, counters: set[str]) -> None:
    async def scenario(pair: Pair) -> None:
        broker = await pair.start("one", role)
        found = await pair.counters(broker)
        assert {name for name in found if name.startswith("replication")} == counters

    play(tmp_path, scenario)


def test_only_a_sync_master_lets_sends_wait(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        for role, code in (("NONE", 0), ("ASYNC_MASTER", 0), ("SYNC_MASTER", 11)):
            broker = await pair.start(role, role)
            assert (await pair.send(broker, b"x")).code == code
            await pair.stop(broker)

    play(tmp_path, scenario)
