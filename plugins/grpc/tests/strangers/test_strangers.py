"""Whatever strangers send to a door, others are served: short here, long with `-m long`."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.campaign import STALL_SECONDS, STALL_SECONDS_BESIDE_OTHERS, told
from strangers.campaign import DoorCampaign
from trust.series import wanted

SEQUENCES, SEQUENCES_OF_A_LONG_CASE = 12, 60
CASES_OF_A_LONG_RUN = 20
MORE_BLOCKS_MAX = 200.0
"""Blocks of memory that a sequence may add, once tables and caches are filled: what the guest remembers, and
queues of further groups."""


@pytest.mark.parametrize("seed", [0, 1])
def test_clients_are_served_beside_strangers_at_the_door(seed: int, place: Path) -> None:
    with DoorCampaign(place / "world", STALL_SECONDS_BESIDE_OTHERS) as campaign:
        campaign.run(seed, SEQUENCES)
        assert not campaign.findings, told(campaign, seed, place)
        assert campaign.count > SEQUENCES * 40


@pytest.mark.long
@pytest.mark.timeout(0)
def test_clients_are_served_beside_many_strangers_at_the_door(
    place: Path, pytestconfig: pytest.Config
) -> None:
    first, count = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    for seed in range(first, first + count):
        with DoorCampaign(place / "world", STALL_SECONDS) as campaign:
            campaign.run(seed, SEQUENCES_OF_A_LONG_CASE)
            assert not campaign.findings, told(campaign, seed, place)
        more = campaign.more_blocks()
        assert more < MORE_BLOCKS_MAX, (
            f"--seed {seed}: each sequence adds {more:.0f} blocks of memory: {campaign.weights}"
        )
