"""Requests whose plugin is not installed, or is blocked."""

from __future__ import annotations

import pytest
from mqframe_schedules.requests import ListSchedules
from mqframe_testing.cluster_scene import ClusterScene
from without import without

from mqframe.broker.missing_plugins import refusals_of_missing
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.hooks.manager import PluginManager

SCHEDULES = "mqframe-plugin-schedules"
UNKNOWN = f"request code {ListSchedules.CODE} is not supported"


def test_what_would_be_served_says_which_distribution_is_wanted() -> None:
    handlers = refusals_of_missing(without(SCHEDULES))
    assert ListSchedules.CODE in handlers
    with pytest.raises(Refusal) as refused:
        handlers[ListSchedules.CODE](None)  # type: ignore[arg-type]
    assert refused.value.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert str(refused.value) == (
        f"3: {UNKNOWN}: {SCHEDULES} is not installed there; install it with: pip install {SCHEDULES}"
    )


def test_where_all_is_installed_there_is_nothing_to_say() -> None:
    assert refusals_of_missing(PluginManager()) == {}


async def test_a_broker_says_so_to_who_asks() -> None:
    async with ClusterScene(topics={"t": 2}, plugins=without(SCHEDULES)) as world:
        answer = await world.client.invoke(ListSchedules())
        assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert answer.remark.endswith(f"install it with: pip install {SCHEDULES}")


@pytest.mark.parametrize("name", [SCHEDULES, "broker_service.schedules"])
async def test_what_is_blocked_is_as_if_unknown(name: str) -> None:
    plugins = PluginManager()
    plugins.block(name)
    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        answer = await world.client.invoke(ListSchedules())
        assert (answer.code, answer.remark) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, UNKNOWN)
