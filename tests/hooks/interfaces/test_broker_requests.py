"""What a client of another protocol says by itself."""

from __future__ import annotations

import pytest

from mqframe.core.errors import Refusal
from mqframe.core.requests.consumers import NotifyConsumerIdsChanged
from mqframe.core.requests.insight import GetConsumerRunningInfo
from mqframe.hooks.interfaces import ProxiedClient


class Quiet(ProxiedClient):
    address = "10.0.0.7:5"


async def test_a_client_that_implements_nothing_refuses_what_is_wanted_of_it() -> None:
    client = Quiet()
    client.notified(NotifyConsumerIdsChanged(consumer_group="g"), b"")
    client.closed("it has gone")
    wanted = GetConsumerRunningInfo(consumer_group="g", client_id="c")
    with pytest.raises(Refusal, match="GetConsumerRunningInfo is not passed on to") as refused:
        await client.asked(wanted, b"")
    assert refused.value.code == 3
