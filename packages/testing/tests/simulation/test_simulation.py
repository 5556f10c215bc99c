"""A world by a seed: it replays, tells what happened, and ends."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing import AsyncCluster
from mqframe_testing.simulation import Simulation, Stuck

from mqframe import AsyncProducer, AsyncPushConsumer, Message
from mqframe.core.errors import MqframeError


async def shop(simulation: Simulation, folder: Path) -> list[str]:
    """Sends and deliveries over a network that is cut and slow; what was seen, with its times."""
    server, near, far = simulation.host("server"), simulation.host("shop"), simulation.host("billing")
    cluster = AsyncCluster(directory=folder)
    await server.run(cluster.start())
    await server.run(cluster.create_topic("orders"))
    seen: list[str] = []
    producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=near.clock)
    consumer = AsyncPushConsumer("billing", nameserver=cluster.nameserver, consume_from="first")

    @consumer.on("orders")
    async def take(message: Message) -> None:
        seen.append(f"{far.clock.monotonic():.6f} took {message.body.decode()}")

    await near.run(producer.start())
    await far.run(consumer.start())
    simulation.network.delay("shop", "server", 0.3)
    simulation.network.lose("server", "billing", 0.2)
    for number in range(20):
        if number % 5 == 2:
            simulation.network.cut("shop", "server")
        if number == 10:
            far.pause(40)
        try:
            result = await near.run(producer.send(Message("orders", b"%d" % number)))
            seen.append(
                f"{near.clock.monotonic():.6f} sent {number} to {result.queue.queue_id}:{result.queue_offset}"
            )
        except MqframeError as problem:
            seen.append(f"{near.clock.monotonic():.6f} {problem}")
    await simulation.clock.sleep(60)
    for host, client in ((near, producer), (far, consumer), (server, cluster)):
        await host.run(client.stop())
    return seen


def folders(tmp_path: Path) -> Iterator[Path]:
    """Empty folders, as many as are asked for."""
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        yield tmp_path / str(number)


def test_a_run_replays_by_its_seed(tmp_path: Path) -> None:
    runs = []
    for seed, folder in zip((1, 1, 2), folders(tmp_path), strict=False):
        with Simulation(seed, drift=0.001) as simulation:
            runs.append((simulation.run(shop(simulation, folder)), simulation.steps))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert sum("sent" in line for line in runs[0][0]) >= 15
    assert len({line.rpartition(" ")[2] for line in runs[0][0] if "took" in line}) >= 15


REPLAYED = """
import os, sys, time
from pathlib import Path
os.getpid, time.monotonic_ns = lambda: {process}, lambda: {process} ** 2
sys.path[:0] = {folders!r}
from test_simulation import shop
from mqframe_testing.simulation import Simulation
for name in ("first", "again"):
    folder = Path({folder!r}) / name
    folder.mkdir()
    with Simulation(1, drift=0.001) as simulation:
        print(*simulation.run(shop(simulation, folder)), sep="\\n")
"""


def test_a_run_replays_in_another_process_whose_hashes_and_numbers_differ(tmp_path: Path) -> None:
    here, told = Path(__file__), []
    searched = [str(here.parent), str(here.parents[4] / "tests")]
    for seed, process, folder in zip(("1", "2"), (9_999, 10_000), folders(tmp_path), strict=False):
        source = REPLAYED.format(folders=searched, folder=str(folder), process=process)
        done = subprocess.run(
            [sys.executable, "-c", source], env={"PYTHONHASHSEED": seed}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        told.append(done.stdout.decode().splitlines())
    assert told[0] == told[1]
    half = len(told[0]) // 2
    assert half > 30
    assert told[0][:half] == told[0][half:], "what the first run of a process loads makes no difference"


def test_time_passes_only_when_nothing_else_can_happen() -> None:
    with Simulation() as simulation:
        seen: list[object] = []

        async def other() -> None:
            for _ in range(100):
                await asyncio.sleep(0)
            seen.append(simulation.clock.monotonic())

        async def story() -> str:
            task = asyncio.ensure_future(other())
            await simulation.clock.sleep(0)
            assert task.done()
            await asyncio.sleep(86_400)
            await simulation.clock.advance(10)
            await simulation.loop.settle()
            seen.append(simulation.clock.monotonic())
            return "done"

        assert simulation.run(story(), limit=100_000) == "done"
        assert seen == [0, 86_410]


def test_a_failure_carries_the_seed_and_the_steps() -> None:
    async def story(simulation: Simulation) -> None:
        simulation.step("something of the test's own")
        await asyncio.sleep(2)
        simulation.network.block("a", "b", one_way=True)
        simulation.host("a").pause(30)
        simulation.loop.call_soon(lambda: 1 // 0)
        await simulation.clock.sleep(0)
        raise AssertionError("broken")

    with pytest.raises(AssertionError, match="broken") as caught, Simulation(41) as simulation:
        simulation.run(story(simulation))
    assert len(caught.value.__notes__) == 1
    assert caught.value.__notes__[0].startswith(
        "Simulation(seed=41), in which:\n"
        "  0.000 s: something of the test's own\n"
        "  2.000 s: a > b is blocked\n"
        "  2.000 s: a stands still for 30 s\n"
        "  error in the loop: Exception in callback SimulatedLoop._step(<function"
    )
    assert "ZeroDivisionError" in caught.value.__notes__[0]


def test_a_story_that_does_not_end_says_where_it_waits() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def ticking(simulation: Simulation) -> None:
        while True:
            await simulation.clock.sleep(60)

    with Simulation() as simulation:
        with pytest.raises(Stuck, match=r"nothing will happen any more; it waits at forever:\d+"):
            simulation.run(forever())
        with pytest.raises(Stuck, match="not done after 3600 s"):
            simulation.run(ticking(simulation))
        assert simulation.clock.monotonic() == 3600


def test_errors_that_nobody_waits_for_fail_the_run() -> None:
    async def story() -> None:
        asyncio.get_running_loop().call_later(1, lambda: 1 // 0)
        await asyncio.sleep(2)

    with Simulation() as simulation, pytest.raises(AssertionError, match="ZeroDivisionError"):
        simulation.run(story())


def test_tasks_that_are_left_are_cancelled_in_the_end_those_of_paused_hosts_too() -> None:
    ended: list[str] = []

    async def left(name: str) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            await asyncio.sleep(1)
            ended.append(name)

    with Simulation() as simulation:

        async def story() -> None:
            simulation.host("a").spawn(left("a"))
            task = asyncio.ensure_future(left("outside"))
            await asyncio.sleep(1)
            assert not task.done()
            simulation.host("a").pause(1e9)

        simulation.run(story())
    assert sorted(ended) == ["a", "outside"]


def test_chance_follows_from_the_seed() -> None:
    drawn = []
    for seed in (1, 1, 2):
        with Simulation(seed):
            drawn.append((random.random(), random.Random().random()))
    assert drawn[0] == drawn[1] != drawn[2]


def test_clocks_of_hosts_drift_within_the_bound_by_the_seed() -> None:
    rates = []
    for seed in (1, 1, 2):
        with Simulation(seed, drift=0.001) as simulation:
            rates.append([simulation.host(name).clock.rate for name in "abcdef"])
            assert simulation.host("a") is simulation.host("a")
    assert rates[0] == rates[1] != rates[2]
    assert all(0.999 <= rate <= 1.001 for rate in rates[0])
    assert len(set(rates[0])) == 6


def test_names_and_clocks_of_hosts_are_said_once() -> None:
    with Simulation() as simulation:
        assert simulation.host("a", rate=1.5, ahead=2).clock.rate == 1.5
        with pytest.raises(ValueError, match="'a' has a clock already"):
            simulation.host("a", rate=1.0)
        with pytest.raises(ValueError, match="'outside' is where the test itself runs"):
            simulation.host("outside")
