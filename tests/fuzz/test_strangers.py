"""Whatever strangers send and a store holds, a normal client is served: short here, long with `-m long`."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.campaign import STALL_SECONDS, STALL_SECONDS_BESIDE_OTHERS, Campaign, told
from fuzz.steps import load
from trust.series import wanted

CORPUS = sorted((Path(__file__).parents[1] / "data" / "fuzz").glob("*.json"))
BATCHES, BATCHES_OF_A_LONG_CASE = 25, 150
CASES_OF_A_LONG_RUN = 5
MORE_BLOCKS_MAX = 60.0
"""Blocks of memory that a batch may add, once tables and caches are filled: what the sentinel remembers."""


@pytest.mark.parametrize("seed", [0, 1])
def test_a_normal_client_is_served_beside_strangers(seed: int, place: Path) -> None:
    with Campaign(place / "world", STALL_SECONDS_BESIDE_OTHERS) as campaign:
        campaign.run(seed, BATCHES)
        assert not campaign.findings, told(campaign, seed, place)
        assert campaign.count > BATCHES * 40


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_once_did_harm_does_none_any_more(path: Path, place: Path) -> None:
    with Campaign(place / "world", STALL_SECONDS_BESIDE_OTHERS) as campaign:
        campaign.replay(load(path))
    assert [found.what for found in campaign.findings.values()] == []


@pytest.mark.long
@pytest.mark.timeout(0)
def test_a_normal_client_is_served_beside_many_strangers(place: Path, pytestconfig: pytest.Config) -> None:
    first, count = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    for seed in range(first, first + count):
        with Campaign(place / "world", STALL_SECONDS) as campaign:
            campaign.run(seed, BATCHES_OF_A_LONG_CASE)
            assert not campaign.findings, told(campaign, seed, place)
        more = campaign.more_blocks()
        assert more < MORE_BLOCKS_MAX, (
            f"--seed {seed}: each batch adds {more:.0f} blocks of memory: {campaign.weights}"
        )
