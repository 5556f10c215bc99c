"""Saves that many wait for: one at a time, later ones together."""

from __future__ import annotations

import asyncio

import pytest

from mqframe.broker.tables.shared_saves import SharedSaves


class Disk:
    """Saves end when the test says so. `begun`: those that were begun."""

    def __init__(self) -> None:
        self.begun: list[asyncio.Future[bool]] = []

    async def save(self) -> bool:
        self.begun.append(asyncio.get_running_loop().create_future())
        return await self.begun[-1]


def staged() -> tuple[Disk, SharedSaves]:
    disk = Disk()
    return disk, SharedSaves(disk.save)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_ask_before_it_begins_share_a_save_and_later_ones_the_next() -> None:
    disk, saves = staged()
    assert not saves.active
    first, same = saves.ask(), saves.ask()
    assert first is same
    assert (saves.active, saves.current, disk.begun) == (True, None, [])
    await settle()
    assert saves.current is first
    second, third = saves.ask(), saves.ask()
    assert second is third is not first
    await settle()
    assert len(disk.begun) == 1, "one at a time"
    disk.begun[0].set_result(False)
    await settle()
    assert (first.result(), second.done(), saves.current) == (False, False, second)
    disk.begun[1].set_result(True)
    await settle()
    assert (second.result(), saves.active, saves.current) == (True, False, None)
    saves.ask()
    await settle()
    assert len(disk.begun) == 3
    saves.cancel()


async def test_an_error_is_a_save_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    disk, saves = staged()
    first = saves.ask()
    await settle()
    disk.begun[0].set_exception(RuntimeError("odd"))
    assert not await first
    assert "tables were not saved" in caplog.text
    again = saves.ask()
    await settle()
    disk.begun[1].set_result(True)
    assert await again


async def test_whoever_waits_at_the_end_is_cancelled() -> None:
    disk, saves = staged()
    first = saves.ask()
    await settle()
    second = saves.ask()
    saves.cancel()
    await settle()
    assert (first.cancelled(), second.cancelled(), saves.active) == (True, True, False)
    assert disk.begun[0].cancelled()
