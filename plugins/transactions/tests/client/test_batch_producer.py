"""Producers of batches that wait for their transaction: their brokers ask `check` how it ended."""

from __future__ import annotations

from typing import Any

import pytest
from transaction_scenes import CHECK, BatchScene, Checks, batch

from mqframe import (
    EndStatus,
    MessageError,
    TransactionOutcome,
)
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.names import HALF_TOPIC

COMMIT, ROLLBACK, UNKNOWN = TransactionOutcome.COMMIT, TransactionOutcome.ROLLBACK, TransactionOutcome.UNKNOWN
DONE = EndStatus.DONE


class TestChecks:
    @pytest.mark.parametrize("face", ["say", "plainly"])
    async def test_check_decides_also_for_what_this_producer_prepared(self, face: str) -> None:
        async with BatchScene() as scene:
            checks = scene.checks
            producer = await scene.producer(check=getattr(checks, face))
            for job in ("kept", "dropped", "open"):
                await producer.prepare("orders", batch(job.encode()), 1, properties={"job": job})
            checks.outcomes = {"kept": COMMIT, "dropped": ROLLBACK}
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: len(checks.asked) == 3 and scene.bodies())
            assert scene.bodies() == [b"kept"]
            assert sorted(half.properties["job"] for half in checks.asked) == ["dropped", "kept", "open"]
            assert [half.topic for half in checks.asked] == ["orders"] * 3
            assert [bytes(body) for _, body, _ in decode_batch(checks.asked[0].body)] == [b"kept"]
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: len(checks.asked) == 4)
            assert checks.asked[3].properties["job"] == "open"

    @pytest.mark.parametrize("wrong", [ValueError("no record"), "commit", None])
    async def test_a_check_that_fails_is_asked_again(self, wrong: Any) -> None:
        async with BatchScene() as scene:
            checks = scene.checks
            producer = await scene.producer(check=checks.plainly)
            await producer.prepare("orders", batch(b"1"), 1, properties={"job": "j"})
            checks.outcomes = {"j": wrong}
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: len(checks.asked) == 1)
            assert scene.bodies() == []
            checks.outcomes = {"j": COMMIT}
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert len(checks.asked) == 2

    async def test_a_long_transaction_is_left_alone(self) -> None:
        async with BatchScene() as scene:
            producer = await scene.producer()
            [late] = await producer.prepare("orders", batch(b"late"), 1, check_after=75)
            await producer.prepare("orders", batch(b"open"), 1, check_after=75, properties={"job": "open"})
            await scene.clock.aadvance(2 * CHECK)
            await scene.clock.aadvance(16)
            assert scene.checks.asked == []
            assert len(scene.bodies(HALF_TOPIC)) == 2, "nothing was put back meanwhile"
            assert await producer.end([late], COMMIT) == [DONE], "also when its time is over"
            assert scene.bodies() == [b"late"]
            await scene.clock.aadvance(CHECK)
            await scene.happens(lambda: scene.checks.asked)
            assert [half.properties["job"] for half in scene.checks.asked] == ["open"]
            with pytest.raises(MessageError, match="check_after is -1"):
                await producer.prepare("orders", batch(b"1"), 1, check_after=-1)

    async def test_single_halves_end_at_any_time_too(self) -> None:
        async with BatchScene() as scene:
            scene.forget_half_batches()
            producer = await scene.producer()
            halves = await producer.prepare("orders", batch(b"1"), 1, check_after=1)
            await scene.clock.aadvance(8)
            assert await producer.end(halves, COMMIT) == [DONE]

    async def test_a_process_that_only_answers(self) -> None:
        async with BatchScene() as scene:
            dead = await scene.producer()
            await dead.prepare("orders", batch(b"1", b"2"), 2, properties={"job": "j"})
            await dead.stop()
            checks = Checks()
            checks.outcomes = {"j": COMMIT}
            living = await scene.producer(check=checks.say)
            await living.queues("orders")
            await scene.happens(lambda: scene.cluster.broker._state.clients.producers.get("load"))
            await scene.clock.aadvance(CHECK)
            await scene.happens(scene.bodies)
            assert scene.bodies() == [b"1", b"2"]
            assert scene.checks.asked == []
