"""A client instance over a scripted broker, on a manual clock."""

import asyncio
from contextlib import asynccontextmanager

from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance, ConsumerRegistration
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.client_bodies import ConsumerData


def consumer(seen=None):
    noted = [] if seen is None else seen
    return ConsumerRegistration(
        lambda: ConsumerData("cg"), lambda: noted.append("members"), lambda: noted.append("routes")
    )


@asynccontextmanager
async def running_instance(topics=None, **settings):
    """An instance, its broker and its clock."""
    clock = ManualClock()
    broker = ScriptedBroker(clock, topics or {"t": 4})
    nameserver = settings.pop("nameserver", broker.nameserver)
    instance = ClientInstance(ClientSettings(nameserver=nameserver, **settings), clock, broker)
    await instance.start()
    try:
        yield instance, broker, clock
    finally:
        await instance.stop()


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)
