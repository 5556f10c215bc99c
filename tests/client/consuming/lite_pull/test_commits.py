"""What polls and commits of a lite pull consumer store."""

from __future__ import annotations

import pytest
from lite_scenes import LiteScene, numbered, queue

from mqframe.core.errors import FixError


async def test_polls_commit_what_earlier_ones_handed_out() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 6))
        consumer = await scene.assigned(0)
        assert await scene.poll(consumer, max_messages=2) == [b"m0", b"m1"]
        await scene.clock.aadvance(6.0)
        assert await scene.stored(0) is None  # nobody polled since, so these may still be worked on
        assert await scene.poll(consumer, max_messages=2) == [b"m2", b"m3"]
        assert await scene.stored(0) == 2
        await scene.poll(consumer, max_messages=2)
        assert await scene.stored(0) == 2  # not yet 5 s later
        await scene.clock.aadvance(5.0)
        await scene.poll(consumer, 0.0)
        assert await scene.stored(0) == 6
        assert await consumer.committed(queue(0)) == 6


async def test_stop_commits_and_the_next_member_goes_on() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 6))
        one = await scene.join()
        assert await scene.drain(one, 6) == numbered(b"m", 6)
        await scene.close(one)
        assert await scene.stored(0) == 6
        await scene.send(b"later")
        two = await scene.join("m2")
        assert await scene.drain(two, 1) == [b"later"]
        assert await scene.poll(two, 1.0) == []


async def test_a_block_that_ends_with_an_error_does_not_count_its_last_poll() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 4))

        async def fails_at_its_work() -> None:
            async with scene.make() as consumer:
                consumer.assign([queue(0)])
                await consumer.poll(max_messages=2)
                await consumer.poll(max_messages=2)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await scene.finish(fails_at_its_work())
        assert await scene.stored(0) == 2
        again = await scene.assigned(0)
        assert await scene.poll(again) == [b"m2", b"m3"]


async def test_without_auto_commit_only_commit_stores() -> None:
    async with LiteScene() as scene:
        await scene.send(*numbered(b"m", 6))
        consumer = await scene.assigned(0, auto_commit=False)
        await scene.drain(consumer, 6)
        await scene.clock.aadvance(20.0)
        await scene.poll(consumer, 0.0)
        assert await scene.stored(0) is None
        await consumer.commit({queue(0): 3})
        assert (await scene.stored(0), await consumer.committed(queue(0))) == (3, 3)
        await consumer.commit()
        assert await scene.stored(0) == 6
        await scene.send(b"more")
        await scene.drain(consumer, 1)
        await scene.close(consumer)
        assert await scene.stored(0) == 6


async def test_commit_refuses_what_is_not_ours() -> None:
    async with LiteScene() as scene:
        consumer = await scene.assigned(0)
        with pytest.raises(FixError, match="is not assigned to this consumer; nothing was committed"):
            await consumer.commit({queue(0): 1, queue(1): 1})
        with pytest.raises(FixError, match=r"offset -1 .* is negative"):
            await consumer.commit({queue(0): -1})
        await scene.clock.aadvance(1.0)
        assert await scene.stored(0) is None
