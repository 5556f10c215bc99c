"""Typed FastStream handlers over mqframe and over NATS, on this machine.

    uv run --with nats-py python bench/faststream_peers.py --nats-server PATH [--count 20000] [--rounds 3]

Each broker has a server process of its own; one at a time is measured, in turns. Like with like: mqframe and
JetStream keep messages on disk and are acknowledged one by one; core NATS keeps nothing. Both servers run
with their defaults. What is measured, always by FastStream's broker, with a model of three fields as JSON:

    published   `broker.publish` of models, 256 under way at once, until the last is answered
    consumed    a handler with the model as its argument works off what is stored, one after the other
    through     both at once in one process, 256 messages on their way

Printed are medians: messages a second, and the application's own processor time for a message, which says
the same on a machine that others use, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec
from fast_depends.msgspec import MsgSpecSerializer
from faststream.nats import JStream, NatsBroker, PullSub
from mqframe_faststream import MqframeBroker
from mqframe_testing.server_process import ServerProcess
from nats.js.api import ConsumerConfig, DeliverPolicy
from pydantic import BaseModel

IN_FLIGHT = 256
KINDS = ("mqframe", "jetstream-pull", "jetstream-push", "core")


class PydanticOrder(BaseModel):
    number: int
    customer: str
    price: float


class MsgspecOrder(msgspec.Struct):
    number: int
    customer: str
    price: float


MODELS: dict[str, Any] = {"pydantic": PydanticOrder, "msgspec": MsgspecOrder}


class Peer:
    """One broker with one subscriber. `durable`: messages are stored before anybody subscribes."""

    def __init__(self, kind: str, address: str, library: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.model = MODELS[library]
        serializer = {} if library == "pydantic" else {"serializer": MsgSpecSerializer()}
        options: dict[str, Any] = {"logger": None, **serializer}
        self.stream = JStream(name) if kind.startswith("jetstream") else None
        self.broker: Any
        if kind == "mqframe":
            self.broker = MqframeBroker(address, **options)
        else:
            self.broker = NatsBroker(f"nats://{address}", **options)

    def subscribe(self, handle: Any) -> None:
        broker, name = self.broker, self.name
        if self.kind == "mqframe":
            broker.subscriber(name, group=f"g-{name}", consume_from="first")(handle)
        elif self.kind == "core":
            broker.subscriber(name, pending_msgs_limit=0, pending_bytes_limit=0)(handle)
        else:
            pull = {"pull_sub": PullSub(batch_size=32)} if self.kind == "jetstream-pull" else {}
            config = ConsumerConfig(deliver_policy=DeliverPolicy.ALL)
            broker.subscriber(name, stream=self.stream, durable="d", config=config, **pull)(handle)

    async def publish(self, number: int) -> None:
        order = self.model(number=number, customer="somebody", price=2.5)
        if self.stream is None:
            await self.broker.publish(order, self.name)
        else:
            await self.broker.publish(order, self.name, stream=self.name)

    async def need_stream(self) -> None:
        if self.stream is not None:
            connection = await self.broker.connect()
            await connection.jetstream().add_stream(name=self.name, subjects=[self.name])


class Watch:
    """Time and processor time between `start` and `stop`, s."""

    def start(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.seconds = time.perf_counter() - self._began[0]
        self.processor = time.process_time() - self._began[1]


async def windowed(peer: Peer, count: int, room: asyncio.Semaphore, *, released: bool) -> None:
    """Publish `count`; `released`: the answer makes room for the next, else somebody else does."""

    async def one(number: int) -> None:
        await peer.publish(number)
        if released:
            room.release()

    tasks = set()
    for number in range(count):
        await room.acquire()
        task = asyncio.ensure_future(one(number))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    while tasks:
        await asyncio.wait(set(tasks))


async def published(peer: Peer, count: int) -> Watch:
    watch = Watch()
    await peer.broker.connect()
    await peer.need_stream()
    await peer.publish(0)  # routes, subjects
    watch.start()
    await windowed(peer, count, asyncio.Semaphore(IN_FLIGHT), released=True)
    watch.stop()
    await peer.broker.stop()
    return watch


async def consumed(peer: Peer, count: int) -> Watch:
    done, left, watch = asyncio.Event(), count, Watch()

    async def handle(order: Any) -> None:
        nonlocal left
        if left == count:
            watch.start()
        left -= 1
        if left == 0:
            done.set()

    handle.__annotations__["order"] = peer.model
    peer.subscribe(handle)
    await peer.broker.start()
    await asyncio.wait_for(done.wait(), 120)
    watch.stop()
    await peer.broker.stop()
    return watch


async def through(peer: Peer, count: int) -> Watch:
    watch = Watch()
    done, left, room = asyncio.Event(), count, asyncio.Semaphore(IN_FLIGHT)

    async def handle(order: Any) -> None:
        nonlocal left
        left -= 1
        room.release()
        if left == 0:
            done.set()

    handle.__annotations__["order"] = peer.model
    peer.subscribe(handle)
    await peer.broker.start()
    watch.start()
    publishing = asyncio.ensure_future(windowed(peer, count, room, released=False))
    await asyncio.wait_for(done.wait(), 120)
    watch.stop()
    await publishing
    await peer.broker.stop()
    return watch


MEASURES = {"published": published, "consumed": consumed, "through": through}


def measure(what: str, peer: Peer, count: int) -> tuple[float, float]:
    """Messages a second, and the processor time of this process, µs a message."""
    watch = asyncio.run(MEASURES[what](peer, count))
    return count / watch.seconds, watch.processor / count * 1e6


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_nats(program: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    port = free_port()
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "nats")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    return process, f"127.0.0.1:{port}"


def one_round(addresses: dict[str, str], library: str, count: int) -> dict[tuple[str, str], list[float]]:
    """Each measurement in a process of its own, as applications are; brokers take turns."""
    stored = {kind: f"b{uuid.uuid4().hex[:12]}" for kind in KINDS}
    results = {}
    for what in MEASURES:
        for kind in KINDS:
            if kind == "core" and what == "consumed":
                continue  # it stores nothing
            address = addresses["mqframe" if kind == "mqframe" else "nats"]
            name = f"b{uuid.uuid4().hex[:12]}" if what == "through" else stored[kind]
            command = [sys.executable, __file__, "--one", what, kind, address, library, name, str(count)]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if answer.returncode:
                raise SystemExit(f"{kind} {what}: {answer.stderr[-2000:]}")
            results[what, kind] = json.loads(answer.stdout.splitlines()[-1])
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nats-server", default="nats-server")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=6)
    given = parser.parse_args()
    if given.one:
        what, kind, address, library, name, count = given.one
        logging.disable(logging.CRITICAL)
        print(json.dumps(measure(what, Peer(kind, address, library, name), int(count))))
        return
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "mqframe") as ours:
        theirs, nats = start_nats(given.nats_server, Path(folder))
        try:
            addresses = {"mqframe": ours.nameserver, "nats": nats}
            for library in MODELS:
                rounds = [one_round(addresses, library, given.count) for _ in range(given.rounds)]
                for what, kind in rounds[0]:
                    rate = statistics.median(each[what, kind][0] for each in rounds)
                    cost = statistics.median(each[what, kind][1] for each in rounds)
                    print(f"{library:9s} {what:10s} {kind:15s} {rate:8,.0f} msg/s {cost:6.0f} µs", flush=True)
        finally:
            theirs.terminate()
            theirs.wait(30)


if __name__ == "__main__":
    main()
