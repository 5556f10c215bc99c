"""Leases on a real Redis: renewed while the work goes on, over when its process is gone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
from mqframe_idempotence import AsyncRedisStore, InProgress, Once, RedisStore, StoreAway, WrongUse
from mqframe_idempotence.counts import Counted
from mqframe_idempotence.stores import Claim
from real_time import until
from redis_server import RedisServer
from stores_to_try import message


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis_server.client() as made:
        yield made


@pytest.fixture
def prefix() -> str:
    return f"{uuid.uuid4().hex}:"


def test_what_lies_in_redis_goes_by_itself(client: redis.Redis, prefix: str) -> None:
    store = RedisStore(client, prefix=prefix, lease_seconds=20, keep_seconds=500)
    attempt = store.open("billing")
    assert attempt.claim(["a"]) == {"a": Claim.NEW}
    name = f"{prefix}billing:a"
    assert 0 < client.pttl(name) <= 20_000
    attempt.finish(["a"])
    assert client.get(name).startswith(b"done:")  # type: ignore[union-attr]
    assert 400_000 < client.pttl(name) <= 500_000


def test_a_lease_is_renewed_while_the_listener_runs(client: redis.Redis, prefix: str) -> None:
    once = Once(RedisStore(client, prefix=prefix, lease_seconds=1.5), "s")
    name = f"{prefix}s:a"

    @once.handler
    def slow(message: Any) -> None:
        # Let it become old, then see it young again; several times its length.
        for _ in range(4):
            until(lambda: client.pttl(name) < 1200)
            until(lambda: client.pttl(name) > 1300)
        with pytest.raises(InProgress):
            once.handler(lambda m: pytest.fail("called beside"))(message)

    slow(message("a"))
    counted = once.counts.snapshot()
    assert (counted.effects, counted.lost, counted.in_progress) == (1, 0, 1)


async def test_a_lease_is_renewed_while_a_coroutine_runs(redis_server: RedisServer, prefix: str) -> None:
    async with redis.asyncio.Redis(port=redis_server.port) as client:
        once = Once(AsyncRedisStore(client, prefix=prefix, lease_seconds=1.5), "s")

        @once.handler
        async def slow(message: Any) -> None:
            end = asyncio.get_running_loop().time() + 30
            for _ in range(4):
                for good in (lambda ms: ms < 1200, lambda ms: ms > 1300):
                    while not good(await client.pttl(f"{prefix}s:a")):
                        assert asyncio.get_running_loop().time() < end

        await slow(message("a"))
        assert once.counts.snapshot() == Counted(effects=1)


def test_a_lease_that_was_lost_is_counted_and_the_new_holder_left_alone(
    client: redis.Redis, prefix: str
) -> None:
    once = Once(RedisStore(client, prefix=prefix), "s")

    @once.handler
    def charge(message: Any) -> None:
        client.set(f"{prefix}s:a", "somebody else")

    charge(message("a"))
    assert client.get(f"{prefix}s:a") == b"somebody else"
    assert once.counts.snapshot() == Counted(effects=1, lost=1)


def test_a_lease_that_ran_out_unnoticed_ends_as_done(client: redis.Redis, prefix: str) -> None:
    once = Once(RedisStore(client, prefix=prefix), "s")
    once.handler(lambda m: client.delete(f"{prefix}s:a"))(message("a"))
    assert client.get(f"{prefix}s:a").startswith(b"done:")  # type: ignore[union-attr]
    assert once.counts.snapshot() == Counted(effects=1)


def test_scripts_are_loaded_again_when_redis_has_lost_them(client: redis.Redis, prefix: str) -> None:
    handle = Once(RedisStore(client, prefix=prefix), "s").handler(lambda m: client.script_flush())
    assert handle(message("a")) is not None
    assert handle(message("a")) is None


def test_a_claim_whose_answer_was_lost_and_sent_again_is_ours(client: redis.Redis, prefix: str) -> None:
    attempt = RedisStore(client, prefix=prefix).open("s")
    assert attempt.claim(["a"]) == attempt.claim(["a"]) == {"a": Claim.NEW}
    assert attempt.finish(["a"]) == 0


def test_a_batch_is_two_round_trips(client: redis.Redis, prefix: str) -> None:
    sent: list[int] = []

    class Counting:
        def pipeline(self, transaction: bool) -> Any:
            sent.append(1)
            return client.pipeline(transaction)

    attempt = RedisStore(Counting(), prefix=prefix).open("s")
    warm = RedisStore(client, prefix=prefix).open("s")
    warm.claim(["warm"])
    warm.finish(["warm"])
    keys = [f"k{number}" for number in range(500)]
    assert set(attempt.claim(keys).values()) == {Claim.NEW}
    attempt.finish(keys)
    assert len(sent) == 2


@pytest.mark.parametrize("when_away", ["retry", "process"])
def test_without_redis_nothing_is_called_unless_that_is_wanted(when_away: Any) -> None:
    away = redis.Redis(port=1, retry=None, socket_timeout=1)
    calls: list[Any] = []
    once = Once(RedisStore(away), "s", when_away=when_away)
    handle = once.handler(calls.append)
    if when_away == "retry":
        with pytest.raises(StoreAway, match="Redis could not be used"):
            handle(message("a"))
        assert calls == []
        assert once.counts.snapshot() == Counted(store_failures=1)
    else:
        handle(message("a"))
        assert len(calls) == 1
        assert once.counts.snapshot() == Counted(effects=1, store_failures=1, without_store=1)
    away.close()


def test_a_redis_that_refuses_is_away(client: redis.Redis, prefix: str) -> None:
    client.lpush(f"{prefix}s:a", "a list")
    with pytest.raises(StoreAway, match="WRONGTYPE"):
        Once(RedisStore(client, prefix=prefix), "s").handler(lambda m: None)(message("a"))


@pytest.mark.parametrize("options", [{"lease_seconds": 0}, {"keep_seconds": 0}])
def test_times_are_positive(options: dict[str, float]) -> None:
    with pytest.raises(WrongUse, match=next(iter(options))):
        RedisStore(None, **options)


KILLED = """
    import os, signal, sys
    import redis
    from stores_to_try import message
    from mqframe_idempotence import Once, RedisStore

    client = redis.Redis(port=int(sys.argv[1]))
    store = RedisStore(client, prefix=sys.argv[2], lease_seconds=0.5)

    @Once(store, "s").handler
    def charge(message):
        client.rpush(sys.argv[2] + "effects", message.message_id)
        if sys.argv[3] == "before":
            os.kill(os.getpid(), signal.SIGKILL)

    charge(message("a"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "effects"), [("before", 2), ("after", 1)])
def test_a_kill_between_effect_and_mark_may_have_it_twice(
    client: redis.Redis, redis_server: RedisServer, prefix: str, when: str, effects: int
) -> None:
    """What the documentation says: unlike in a transaction, once that the lease is over."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(redis_server.port), prefix, when]
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == -9
    once = Once(RedisStore(client, prefix=prefix), "s")
    handle = once.handler(lambda m: client.rpush(f"{prefix}effects", m.message_id))

    def over() -> bool:
        try:
            handle(message("a"))
        except InProgress:
            return False
        return True

    until(over)
    assert client.llen(f"{prefix}effects") == effects


def test_threads_do_not_share_an_attempt(client: redis.Redis, prefix: str) -> None:
    once = Once(RedisStore(client, prefix=prefix), "s")
    handle = once.handler(lambda m: None)
    threads = [threading.Thread(target=lambda n=n: handle(message(f"k{n}"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert once.counts.snapshot() == Counted(effects=8)
