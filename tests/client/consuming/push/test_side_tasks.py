"""Tasks beside the calls of listeners: begun until the end, cancelled there, and heard of when they fail."""

from __future__ import annotations

import asyncio

import pytest

from mqframe.client.consuming.push.side_tasks import SideTasks


class Work:
    """What is to be done, and how far it came."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def wait(self) -> None:
        self.seen.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            self.seen.append("over")

    async def fail(self) -> None:
        raise ValueError("no such lock")


async def test_the_end_cancels_what_is_not_done_and_waits_for_that() -> None:
    work, aside = Work(), SideTasks("audit", "a queue stands still")
    aside.begin(work.wait())
    await asyncio.sleep(0)
    assert work.seen == ["begun"]
    await aside.stop()
    assert work.seen == ["begun", "over"]


async def test_nothing_begins_after_the_end() -> None:
    work, aside = Work(), SideTasks("audit", "a queue stands still")
    await aside.stop()
    aside.begin(work.wait())
    await asyncio.sleep(0)
    assert work.seen == []


async def test_a_failure_is_logged_and_ends_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    work, aside = Work(), SideTasks("audit", "a queue stands still")
    aside.begin(work.fail())
    aside.begin(work.wait())
    for _ in range(3):
        await asyncio.sleep(0)
    assert work.seen == ["begun"]
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert "a queue stands still group='audit'" in record.getMessage()
    assert "no such lock" in caplog.text
    await aside.stop()
