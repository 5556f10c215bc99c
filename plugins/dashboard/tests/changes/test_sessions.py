"""Sessions: how long they last, how many there are, and that each form counts once."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_dashboard.changes import sessions as module
from mqframe_dashboard.changes.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    SESSIONS_MAX,
    TICKETS_MAX,
    Account,
    NotKnown,
    Session,
    Sessions,
)
from mqframe_dashboard.view import Page


class Stage:
    """Sessions with a clock that a test moves, and the users whose clients were ended."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sessions = Sessions(lambda: self.now)
        self.closed: list[str] = []

    def account(self, user: str) -> Account:
        async def close() -> None:
            self.closed.append(user)

        return Account(user, None, close, None)


async def test_a_session_ends_when_nobody_uses_it_and_after_its_longest_time():
    stage = Stage()
    ann, bob = [await stage.sessions.open(stage.account(each)) for each in ("ann", "bob")]
    assert len({ann.key, bob.key, ann.token, bob.token}) == 4
    stage.now = IDLE_SECONDS - 1
    assert stage.sessions.find(ann.key) is ann
    stage.sessions.touch(ann)
    stage.now = IDLE_SECONDS
    assert stage.sessions.find(bob.key) is None
    await stage.sessions.sweep()
    assert stage.closed == ["bob"]
    while stage.now < LONGEST_SECONDS - 1:
        assert stage.sessions.find(ann.key) is ann
        stage.sessions.touch(ann)
        stage.now += IDLE_SECONDS / 2
    stage.now = LONGEST_SECONDS
    assert stage.sessions.find(ann.key) is None
    await stage.sessions.close()
    assert stage.closed == ["bob", "ann"]
    assert len(stage.sessions) == 0


async def test_the_end_of_one_harms_no_other(caplog):
    async def fail() -> None:
        raise OSError("cut")

    stage = Stage()
    await stage.sessions.open(Account("bad", None, fail, None))
    await stage.sessions.open(stage.account("good"))
    await stage.sessions.close()
    assert stage.closed == ["good"]
    assert "a session did not end well" in caplog.text


async def test_of_too_many_the_one_that_waited_longest_ends():
    stage = Stage()
    made = []
    for number in range(SESSIONS_MAX):
        stage.now = float(number)
        made.append(await stage.sessions.open(stage.account(str(number))))
    stage.now += 1
    stage.sessions.touch(made[0])
    await stage.sessions.open(stage.account("new"))
    assert stage.closed == ["1"]
    assert len(stage.sessions) == SESSIONS_MAX
    await stage.sessions.end(made[0])
    await stage.sessions.end(made[0])
    assert stage.closed == ["1", "0"]


async def test_a_ticket_counts_once_and_failures_may_be_repeated():
    session = Session(Stage().account("ann"), 0.0)
    calls = []

    async def work() -> Page:
        calls.append(1)
        await asyncio.sleep(0)
        if len(calls) == 1:
            raise ValueError("first")
        return Page(str(len(calls)), [])

    both = await asyncio.gather(session.once("a", work), session.once("a", work), return_exceptions=True)
    assert [type(each) for each in both] == [ValueError, ValueError]
    assert len(calls) == 1
    assert (await session.once("a", work)).title == "2"
    assert (await session.once("a", work)).title == "2"
    for number in range(TICKETS_MAX):
        await session.once(str(number), work)
    assert (await session.once("a", work)).title == str(TICKETS_MAX + 3)


async def test_a_change_goes_on_when_its_browser_leaves():
    session = Session(Stage().account("ann"), 0.0)
    go, done = asyncio.Event(), asyncio.Event()

    async def work() -> Page:
        await go.wait()
        done.set()
        return Page("done", [])

    asked = asyncio.create_task(session.once("a", work))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    go.set()
    assert (await session.once("a", work)).title == "done"
    assert done.is_set()


async def test_a_call_without_answer_ends_and_is_not_known(monkeypatch):
    monkeypatch.setattr(module, "CHANGE_SECONDS", 0.0)

    async def drop_it() -> None:
        await asyncio.Event().wait()

    session = Session(Stage().account("ann"), 0.0)
    with pytest.raises(NotKnown, match="no answer to drop it within 0 s") as found:
        await session.do(drop_it)
    assert found.value.maybe_stored


def test_tokens_are_compared_whole():
    session = Session(Stage().account("ann"), 0.0)
    assert session.fits(session.token)
    for token in ("", session.token[:-1], session.token + "x", "\ud800", session.key):
        assert not session.fits(token)
    assert session.key not in repr(session)
    assert session.token not in repr(session)
