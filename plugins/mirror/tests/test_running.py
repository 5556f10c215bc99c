"""A mirror in a process of its own copies until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from mirror_scenes import BERLIN, TOKYO
from mqframe_mirror import ClusterSettings, Mirror, MirrorSettings
from mqframe_mirror.running import run_mirror
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.ports import lasting_port

from mqframe import AsyncProducer, FixError, Message, RetryError


def settings(source: str, target: str, **said: Any) -> MirrorSettings:
    return MirrorSettings(
        source=ClusterSettings(nameserver=source, name=TOKYO),
        target=ClusterSettings(nameserver=target, name=BERLIN),
        topics=["orders"],
        **said,
    )


async def test_it_ends_in_good_order_at_a_signal() -> None:
    async with AsyncCluster() as tokyo, AsyncCluster() as berlin:
        await tokyo.create_topic("orders", 1)
        async with AsyncProducer("shop", nameserver=tokyo.nameserver) as producer:
            await producer.send(Message("orders", b"1"))
        mirrors: list[Mirror] = []

        def started(mirror: Mirror) -> None:
            mirrors.append(mirror)
            os.kill(os.getpid(), signal.SIGTERM)

        await run_mirror(settings(tokyo.nameserver, berlin.nameserver), {}, started=started)
        assert len(mirrors) == 1
        assert mirrors[0].topics == {}


async def test_all_that_is_there_is_copied_once() -> None:
    async with AsyncCluster() as tokyo, AsyncCluster() as berlin:
        await tokyo.create_topic("orders", 1)
        async with AsyncProducer("shop", nameserver=tokyo.nameserver) as producer:
            await producer.send_batch([Message("orders", b"%d" % each) for each in range(100)])
        await run_mirror(settings(tokyo.nameserver, berlin.nameserver), {}, once=True)
        assert berlin.broker.store.queues.max_offset("orders", 0) == 100


async def test_once_says_what_holds_it_up() -> None:
    async with AsyncCluster() as tokyo, AsyncCluster(store={"body_bytes_max": 4096}) as berlin:
        await tokyo.create_topic("orders", 1)
        async with AsyncProducer("shop", nameserver=tokyo.nameserver) as producer:
            await producer.send(Message("orders", os.urandom(8000)))
        with pytest.raises(FixError, match="does not take the message at offset 0"):
            await run_mirror(settings(tokyo.nameserver, berlin.nameserver), {}, once=True)


async def test_a_cluster_that_is_away_is_waited_for_but_not_with_once() -> None:
    away = f"127.0.0.1:{lasting_port()}"
    async with AsyncCluster() as tokyo:
        with pytest.raises(RetryError):
            await run_mirror(settings(tokyo.nameserver, away), {}, once=True)
        running = asyncio.ensure_future(run_mirror(settings(tokyo.nameserver, away), {}))
        await asyncio.sleep(0)  # it listens for signals
        os.kill(os.getpid(), signal.SIGTERM)
        await running
