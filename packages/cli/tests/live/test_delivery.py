"""Messages sent at a rate, on a cluster in this process."""

from __future__ import annotations

import pytest
from mqframe_cli.live import delivery
from mqframe_cli.live.delivery import STAMP_BYTES, DeliveryRun
from mqframe_testing import Cluster

from mqframe import AsyncProducer, Message
from mqframe.core.errors import CallTimeout


async def test_every_message_that_was_sent_has_a_time_and_those_of_others_have_none() -> None:
    with Cluster() as cluster:
        cluster.create_topic("timed", 2)
        run = DeliveryRun("timed", "bench", 200.0, 0.3, 100)
        async with AsyncProducer("others", nameserver=cluster.nameserver) as others:
            foreign = [b"x" * 100, b"short", bytes(STAMP_BYTES)]

            async def disturb() -> None:
                for body in foreign:
                    await others.send(Message("timed", body))

            await disturb()
            seen: list[int] = []
            await run.run(cluster.nameserver, seen.append)
        assert run.sent == len(run.times) == seen[-1] > 0
        assert run.lost == 0
        assert all(seconds > 0 for seconds in run.times)


async def test_a_topic_that_nobody_hears_of_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "READY_SECONDS_MAX", 0.5)
    monkeypatch.setattr(delivery, "PROBE_SECONDS", 0.05)
    with Cluster() as cluster:
        cluster.create_topic("unread", 1, perm=2)
        run = DeliveryRun("unread", "bench", 10.0, 1.0, 100)
        with pytest.raises(CallTimeout, match=r"nothing of what unread got came within 0.5 s"):
            await run.run(cluster.nameserver, lambda done: None)
