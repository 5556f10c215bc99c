"""The service `admin`: it is there where it is installed, and what it serves is refused without it."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_admin.broker.service import AdminService
from mqframe_admin.requests import GetBrokerConfig, UpdateBrokerConfig
from mqframe_testing.cluster_scene import ClusterScene
from without import without

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.serving import handlers_of

NAME = "mqframe-plugin-admin"
LINE = f'pip install "mqframe[standard]"; it alone: pip install {NAME}'
UNKNOWN = f"request code {GetBrokerConfig.CODE} is not supported"


async def test_it_serves_what_operators_ask() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        service = AdminService(world.cluster.broker.service_port)
        served = handlers_of(*service.serving())
        assert {18, 25, 26, 200, 202, 203, 204, 207, 215, 222, 225, 303, 307, 309, 317, 355} <= set(served)
        # What clients and slaves ask is the kernel's.
        assert not {17, 21, 28, 43, 201, 208, 351, 352} & set(served)
        assert service.at_slaves


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"plugins": without(NAME)}, f"{UNKNOWN}: {NAME} is not installed there; install it with: {LINE}"),
        ({"broker": {"services_blocked": ("admin",)}}, UNKNOWN),
    ],
    ids=["not installed", "left out"],
)
async def test_without_it_operators_are_refused_and_clients_served(
    options: dict[str, Any], remark: str
) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        answer = await world.client.invoke(GetBrokerConfig())
        assert (answer.code, answer.remark) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        assert (await world.client.invoke(UpdateBrokerConfig(), b"fileReservedTime=5")).code == 3
        await world.client.ok_send("t")
        await world.settle()
        assert (await world.client.pull("t")).code == 0
