"""Wheel and timer log are derived from the timer's topic: damage of them loses and doubles nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mqframe_delay.rules.timer_layout import SLOT, SLOTS, UNIT
from mqframe_delay.settings import DelaySettings
from mqframe_testing.cluster_scene import ClusterScene
from timed_messages import DAY, bodies, send

NOW = 1_700_000_000_000
COUNT = 60
FILE_BYTES = 4096
UNITS_OF_A_FILE = (FILE_BYTES - 16) // UNIT.size


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int, bit: int = 0) -> None:
    with path.open("rb") as file:
        file.seek(at)
        overwrite(path, at, bytes([file.read(1)[0] ^ 1 << bit]))


def slot_at(second: int) -> int:
    return (NOW // 1000 + second) % SLOTS * SLOT.size


def file(root: Path, number: int) -> Path:
    return sorted((root / "timerlog").iterdir())[number]


def swap_pages(path: Path, first: int, second: int) -> None:
    raw = path.read_bytes()
    overwrite(path, first, raw[second : second + 512])
    overwrite(path, second, raw[first : first + 512])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no wheel": lambda root: (root / "timerwheel").unlink(),
    "short wheel": lambda root: os.truncate(root / "timerwheel", 1000),
    "empty wheel": lambda root: os.truncate(root / "timerwheel", 0),
    "zeros in the wheel": lambda root: overwrite(root / "timerwheel", slot_at(9), bytes(64)),
    "number of a slot": lambda root: flip(root / "timerwheel", slot_at(9) + 7, 2),
    "high bit of the number of a slot": lambda root: flip(root / "timerwheel", slot_at(9), 6),
    "first of a slot": lambda root: flip(root / "timerwheel", slot_at(9) + 15, 3),
    "last of a slot": lambda root: flip(root / "timerwheel", slot_at(9) + 23, 2),
    "high bit of last": lambda root: flip(root / "timerwheel", slot_at(9) + 16, 7),
    "count of a slot": lambda root: flip(root / "timerwheel", slot_at(9) + 27, 1),
    "swapped slots": lambda root: swap_pages(root / "timerwheel", slot_at(9), slot_at(9) + 512),
    "no log": lambda root: shutil.rmtree(root / "timerlog"),
    "no wheel, no log": lambda root: [shutil.rmtree(root / "timerlog"), (root / "timerwheel").unlink()],
    "no first file": lambda root: file(root, 0).unlink(),
    "no last file": lambda root: file(root, -1).unlink(),
    "empty last file": lambda root: os.truncate(file(root, -1), 0),
    "short last file": lambda root: os.truncate(file(root, -1), 416),
    "short first file": lambda root: os.truncate(file(root, 0), 416),
    "long first file": lambda root: os.truncate(file(root, 0), FILE_BYTES + 8),
    "zeros in the log": lambda root: overwrite(file(root, 0), 512, bytes(512)),
    "size of a unit": lambda root: flip(file(root, 0), 10 * UNIT.size + 3),
    "link of a unit": lambda root: flip(file(root, 0), 40 * UNIT.size + 11, 3),
    "high bit of a link": lambda root: flip(file(root, 0), 40 * UNIT.size + 5, 3),
    "magic of a unit": lambda root: flip(file(root, 0), 10 * UNIT.size + 12),
    "place of a unit": lambda root: flip(file(root, 0), 10 * UNIT.size + 35, 4),
    "length of a unit": lambda root: flip(file(root, 0), 10 * UNIT.size + 39, 4),
    "swapped units": lambda root: swap_pages(file(root, 0), 1024, 2048),
}


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_all_come_once_and_in_time(damage, killed):
    async with ClusterScene(
        topics={"t": 2}, sections=[DelaySettings(timer_log_file_bytes=FILE_BYTES)]
    ) as world:
        await send(world, "early", TIMER_DELAY_SEC=1)
        for number in range(COUNT * 2):
            await send(world, str(number), TIMER_DELAY_SEC=10 + number % 4)
        await world.clock.aadvance(4)
        await world.settle()
        assert bodies(world) == ["early"]
        await world.cluster.stop_broker()
        if killed:
            await world.cluster.start_broker()
            await world.cluster.kill_broker()
        DAMAGES[damage](world.cluster.directory / "broker-a")
        await world.cluster.start_broker()
        await world.clock.aadvance(5.999)
        await world.settle()
        assert bodies(world) == ["early"]
        for second in range(4):
            await world.clock.aadvance(0.001 if not second else 1)
            await world.settle()
        expected = [str(number) for start in range(4) for number in range(start, COUNT * 2, 4)]
        assert sorted(set(bodies(world))) == sorted(["early", *expected])
        found = bodies(world)
        doubled = len(found) - len(set(found))
        assert doubled <= (0 if damage not in FOUND_WHILE_DELIVERING else COUNT)


FOUND_WHILE_DELIVERING = {"place of a unit", "length of a unit"}
"""Those of one slot that were delivered before the damage was met come again."""


async def test_messages_in_a_further_round_come_once():
    async with ClusterScene(topics={"t": 2}, sections=[DelaySettings(timer_window_slots=20)]) as world:
        for number in range(5):
            await send(world, str(number), TIMER_DELAY_SEC=100)
        for _ in range(70):
            await world.clock.aadvance(1)
        await world.settle()
        await world.cluster.stop_broker()
        shutil.rmtree(world.cluster.directory / "broker-a/timerlog")
        await world.cluster.start_broker()
        for _ in range(31):
            await world.clock.aadvance(1)
        await world.settle()
        assert bodies(world) == ["0", "1", "2", "3", "4"]


async def test_a_kill_while_the_timer_is_built_again_doubles_nothing():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(200):
            await send(world, str(number), TIMER_DELAY_SEC=2 if number < 100 else 10)
        await world.clock.aadvance(4)
        await world.settle()
        assert len(bodies(world)) == 100
        await world.cluster.stop_broker()
        shutil.rmtree(world.cluster.directory / "broker-a/timerlog")
        await world.cluster.start_broker()
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        await world.clock.aadvance(DAY / 86_400 * 7)
        await world.settle()
        assert sorted(bodies(world), key=int) == [str(number) for number in range(200)]
