"""Which member is asked, how often, and what is known of a call that failed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from mqframe_etcd import EtcdOptions
from mqframe_etcd.answers import EtcdRefusal
from mqframe_etcd.gateway import Gateway, Quiet
from mqframe_testing.ports import lasting_port
from scripted_member import HANG_UP, SILENCE, Answer, Asked, Lines, ScriptedMember, bad, good

from mqframe.core.errors import CoordinationError

LIMIT = 1.0
PATIENT = 20.0
UNAVAILABLE = bad(14, "etcdserver: no leader", 503)


@asynccontextmanager
async def staged(*answers: Callable[[Asked], Answer] | Answer, **options: object) -> AsyncIterator[Any]:
    """A gateway, and the members that it asks in this order, one for each of `answers`."""
    async with AsyncExitStack() as stack:
        members = []
        for each in answers:
            answer = each if callable(each) else lambda _, each=each: each
            members.append(await stack.enter_async_context(ScriptedMember(answer)))
        endpoints = tuple(member.endpoint for member in members)
        gateway = Gateway(EtcdOptions(**{"endpoints": endpoints, "timeout_seconds": PATIENT, **options}))
        try:
            yield gateway, *members
        finally:
            await gateway.close()


async def fails(gateway: Gateway, *, again: bool) -> CoordinationError:
    with pytest.raises(CoordinationError) as raised:
        await gateway.call("/v3/kv/txn", {"a": 1}, again=again)
    return raised.value


async def test_the_member_that_answered_last_is_asked_first() -> None:
    async with staged(UNAVAILABLE, good(b=2)) as (gateway, first, second):
        for _ in range(3):
            assert await gateway.call("/v3/kv/range", {"a": 1}) == {"b": 2}
        assert first.asked == [("/v3/kv/range", {"a": 1}, "")]
        assert second.asked == first.asked * 3
        second.answer = lambda _: UNAVAILABLE
        first.answer = lambda _: good(b=3)
        assert await gateway.call("/v3/kv/range", {"a": 1}) == {"b": 3}


@pytest.mark.parametrize(
    "answer", [UNAVAILABLE, HANG_UP, SILENCE, (502, b"<html>"), (200, b"[1"), (200, b"7")]
)
async def test_what_may_be_sent_again_goes_to_the_next_member(answer: Answer) -> None:
    async with staged(answer, good(b=2), timeout_seconds=2 * LIMIT if answer is SILENCE else PATIENT) as (
        gateway,
        first,
        second,
    ):
        assert await gateway.call("/v3/kv/range", {"a": 1}) == {"b": 2}
        assert (len(first.asked), len(second.asked)) == (1, 1)


@pytest.mark.parametrize("answer", [UNAVAILABLE, HANG_UP, SILENCE, (502, b"<html>"), (200, b"[1")])
async def test_what_may_not_be_sent_again_has_an_unknown_outcome(answer: Answer) -> None:
    async with staged(answer, good(b=2), timeout_seconds=LIMIT if answer is SILENCE else PATIENT) as (
        gateway,
        first,
        second,
    ):
        assert (await fails(gateway, again=False)).maybe_stored
        assert (len(first.asked), len(second.asked)) == (1, 0)
        assert await gateway.call("/v3/kv/txn", {"a": 1}, again=False) == {"b": 2}


async def test_a_member_that_is_not_there_was_sent_nothing() -> None:
    absent = f"http://127.0.0.1:{lasting_port()}"

    async with staged(good(b=2)) as (_gateway, member):
        only = Gateway(EtcdOptions(endpoints=(absent,)))
        problem = await fails(only, again=True)
        await only.close()
        assert not problem.maybe_stored
        assert absent in str(problem)
        both = Gateway(EtcdOptions(endpoints=(absent, member.endpoint), timeout_seconds=PATIENT))
        assert await both.call("/v3/kv/txn", {"a": 1}, again=False) == {"b": 2}
        await both.close()


@pytest.mark.parametrize("again", [True, False])
async def test_a_refusal_for_certain_asks_nobody_else(again: bool) -> None:
    async with staged(bad(5, "etcdserver: requested lease not found", 404), good(b=2)) as (
        gateway,
        first,
        second,
    ):
        problem = await fails(gateway, again=again)
        assert isinstance(problem, EtcdRefusal)
        assert (problem.code, problem.maybe_stored) == (5, False)
        assert str(problem) == f"etcd at {first.endpoint}: etcdserver: requested lease not found"
        assert second.asked == []


async def test_when_nobody_answers_each_is_named() -> None:
    async with staged(UNAVAILABLE, HANG_UP) as (gateway, first, second):
        problem = await fails(gateway, again=True)
        assert problem.maybe_stored
        assert f"etcd at {first.endpoint}: etcdserver: no leader" in str(problem)
        assert f"etcd at {second.endpoint}: " in str(problem)
        assert (len(first.asked), len(second.asked)) == (1, 1)


async def test_a_call_ends_within_its_time_limit_however_many_members_are_silent() -> None:
    async with staged(SILENCE, SILENCE, SILENCE, timeout_seconds=LIMIT) as (gateway, *members):
        loop = asyncio.get_running_loop()
        begun = loop.time()
        assert (await fails(gateway, again=True)).maybe_stored
        assert loop.time() - begun >= LIMIT * 0.9
        assert 1 <= sum(len(member.asked) for member in members) <= 3


async def test_proxies_of_the_environment_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{lasting_port()}")

    async with staged(good(b=2)) as (gateway, _member):
        assert await gateway.call("/v3/kv/range", {}) == {"b": 2}


class Tokens:
    """A member that gives tokens away, of which only the last one is good."""

    def __init__(self, complaint: Answer) -> None:
        self.complaint = complaint
        self.given = 0

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/v3/auth/authenticate":
            assert asked.body == {"name": "me", "password": "hush"}
            self.given += 1
            return good(token=f"token-{self.given}")
        if asked.token != f"token-{self.given}":
            return self.complaint
        return good(told=asked.token)


@pytest.mark.parametrize(
    "complaint",
    [
        bad(16, "etcdserver: invalid auth token", 401),
        bad(3, "etcdserver: revision of auth store is old", 400),
    ],
)
async def test_a_token_is_kept_until_it_is_too_old(complaint: Answer) -> None:
    tokens = Tokens(complaint)
    lines = Lines([b'{"result":{"created":true}}'])
    async with staged(
        lambda a: lines if a.path == "/v3/watch" else tokens(a), user="me", password="hush"
    ) as (gateway, member):
        for _ in range(2):
            assert await gateway.call("/v3/kv/txn", {"a": 1}, again=False) == {"told": "token-1"}
        assert [each.path for each in member.asked].count("/v3/auth/authenticate") == 1
        tokens.given += 1  # somebody else got one
        assert await gateway.call("/v3/kv/txn", {"a": 1}, again=False) == {"told": "token-3"}
        stream = await gateway.stream("/v3/watch", {"a": 1}, PATIENT)
        await stream.aclose()
        assert member.asked[-1].token == "token-3"


async def test_who_is_refused_with_a_fresh_token_is_told_so() -> None:
    complaint = bad(16, "etcdserver: invalid auth token", 401)
    async with staged(
        lambda a: good(token="x") if a.path == "/v3/auth/authenticate" else complaint,
        user="me",
        password="hush",
    ) as (gateway, member):
        problem = await fails(gateway, again=True)
        assert "invalid auth token" in str(problem)
        assert not problem.maybe_stored
        assert len(member.asked) == 4


async def test_a_stream_is_opened_at_the_first_member_that_sends_a_line() -> None:
    lines = [b'{"result":{"n":"1"}}', b"", b'{"result":{"n":"2"}}']
    async with staged(UNAVAILABLE, Lines(lines, breaks=True)) as (gateway, first, second):
        stream = await gateway.stream("/v3/watch", {"a": 1}, PATIENT)
        assert [await anext(stream), await anext(stream)] == [{"n": "1"}, {"n": "2"}]
        with pytest.raises(CoordinationError, match="broke"):
            await anext(stream)
        assert (len(first.asked), len(second.asked)) == (1, 1)


async def test_a_stream_with_an_error_ends_with_it() -> None:
    async with staged(Lines([b'{"result":{"n":"1"}}', b'{"error":{"code":14,"message":"no leader"}}'])) as (
        gateway,
        _member,
    ):
        stream = await gateway.stream("/v3/watch", {}, PATIENT)
        assert await anext(stream) == {"n": "1"}
        with pytest.raises(EtcdRefusal, match="no leader"):
            await anext(stream)


async def test_a_quiet_stream_says_so_and_lets_its_connection_go() -> None:
    async with staged(Lines([b'{"result":{"n":"1"}}'])) as (gateway, member):
        stream = await gateway.stream("/v3/watch", {}, LIMIT)
        assert await anext(stream) == {"n": "1"}
        with pytest.raises(Quiet):
            await anext(stream)
        while member.connections:
            await asyncio.sleep(0)


@pytest.mark.parametrize("answer", [SILENCE, HANG_UP, UNAVAILABLE, Lines([b"nonsense"]), (200, b"")])
async def test_a_stream_that_does_not_begin_is_an_error(answer: Answer) -> None:
    async with staged(answer, timeout_seconds=LIMIT if answer is SILENCE else PATIENT) as (gateway, member):
        with pytest.raises(CoordinationError, match=member.endpoint):
            await gateway.stream("/v3/watch", {}, PATIENT)


@pytest.mark.parametrize("streams", [False, True])
async def test_an_alert_of_tls_after_the_handshake_is_a_connection_that_broke(
    monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    async def alerted(*_: object, **__: object) -> None:
        raise ssl.SSLError("tlsv1 alert unknown ca")  # which httpx lets through

    monkeypatch.setattr(httpx.AsyncClient, "send", alerted)

    async with staged(good()) as (gateway, member):
        with pytest.raises(CoordinationError, match=f"{member.endpoint}: .*alert unknown ca") as raised:
            await (gateway.stream("/x", {}, PATIENT) if streams else gateway.call("/x", {}))
        assert raised.value.maybe_stored
