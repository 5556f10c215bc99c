"""Administration, both APIs, against an in-process cluster of two brokers."""

import pytest
from mqframe_testing.cluster import AsyncCluster

from mqframe import Admin, AsyncAdmin
from mqframe.core.errors import ClosedError


async def test_the_asyncio_api():
    async with AsyncCluster() as cluster, AsyncAdmin(nameserver=cluster.nameserver) as admin:
        await admin.topics.create("t", queues=2)
        assert "t" in await admin.topics.list()


async def test_an_admin_that_was_stopped_is_not_started_again(cluster):
    admin = AsyncAdmin(nameserver=cluster.nameserver)
    await admin.start()
    await admin.start()
    await admin.stop()
    with pytest.raises(ClosedError):
        await admin.start()


def test_use_before_start_and_after_stop(cluster):
    admin = Admin(nameserver=cluster.nameserver)
    with pytest.raises(ClosedError, match="not running"):
        admin.topics.list()
    admin.start()
    admin.topics.list()
    admin.stop()
    with pytest.raises(ClosedError, match="stopped"):
        admin.topics.list()
