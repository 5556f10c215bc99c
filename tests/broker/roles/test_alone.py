"""What a broker that is alone answers operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import StoreError
from mqframe.core.requests import Request
from mqframe.core.requests.admin import ExchangeBrokerHaInfo, GetBrokerEpochCache, GetBrokerHaStatus
from mqframe.core.requests.election import ForceElection
from mqframe.core.requests.roles import DemoteBroker, PromoteBroker
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode
from mqframe.net.client import Client


async def asked(*requests: Request) -> list[Frame]:
    """What a broker with nothing but defaults answers."""
    async with AsyncCluster(clock=ManualClock()) as cluster:
        client = Client(cluster.clock)
        found = [await client.invoke(cluster.broker.address, each, timeout=3600) for each in requests]
        await client.close()
    return found


async def test_it_says_that_nobody_follows_it_and_of_no_group_it_is() -> None:
    status, *refused = await asked(
        GetBrokerHaStatus(), ExchangeBrokerHaInfo(), GetBrokerEpochCache(), ForceElection()
    )
    assert decode(bytes(status.body), HaRuntimeInfo) == HaRuntimeInfo()
    for answer, words in zip(refused, ("nobody can copy", "no epochs", "nothing is forced"), strict=True):
        assert (answer.code, words in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)


async def test_its_role_is_not_changed_and_it_says_what_to_install() -> None:
    for answer in await asked(PromoteBroker(), DemoteBroker(id=1)):
        assert answer.code == ResponseCode.INVALID_PARAMETER
        assert (answer.remark or "").startswith("the role is not changed: this broker is alone")
        assert "pip install mqframe-plugin-replication" in (answer.remark or "")


async def test_it_does_not_write_to_the_store_of_an_elected_group(tmp_path: Path) -> None:
    (tmp_path / "broker-a").mkdir()
    (tmp_path / "broker-a/replica.json").write_text("{}")

    with pytest.raises(StoreError, match=r"move epochFileCheckpoint and replica\.json away"):
        async with AsyncCluster(clock=ManualClock(), directory=tmp_path):
            pass
