"""A broker with a door among strangers, and what has to be left of these once they have gone."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz.steps import Step
from fuzz.world import BROKER_PORT, SERVICES, STORE, World
from mqframe_grpc.clients import CLIENT_ID
from mqframe_grpc.door import SERVICE
from mqframe_grpc.proto import messages as m
from mqframe_grpc.service import GrpcService
from mqframe_testing.simulation import SimulatedLoop
from strangers.guest import CLIENT, Guest
from strangers.learned import Learned
from strangers.line import Asked, DoorLine
from strangers.requests import TYPED
from strangers.steps import BROKEN, DOOR, MUTE, StepMaker

from mqframe import PluginManager
from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.requests import encode_fields
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.in_process.peer import InProcessPeer
from mqframe.store.settings import StoreSettings

DOOR_PORT: Final = 8081
ANSWER_SECONDS: Final = 30.0
"""After so long every call that came whole is answered: none may wait for messages for longer."""
GONE_SECONDS: Final = 140.0
"""After so long nothing is left of clients of which nothing was heard."""
_OWN_TIMERS_MAX: Final = 6
"""Timers of the broker's services for what is stored and comes later, one or two each."""
_BEAT_SECONDS: Final = 10.0
_IN_STREAMS: Final = ("ReceiveMessage", "PullMessage")


class DoorWorld(World):
    """`World`, with a door, strangers' connections to it, and a guest that is served beside them."""

    def __init__(self, folder: Path, loop: SimulatedLoop) -> None:
        super().__init__(folder, loop)
        self.learned = Learned()
        self.steps = StepMaker(self.learned)
        self.at_door: dict[int, DoorLine] = {}
        self.guest = Guest(loop, DOOR_PORT, self.learned)
        self._quiet: tuple[int, int] | None = None

    async def start(self) -> None:
        await super().start()
        for number, (topic, kind) in enumerate(TYPED.items()):
            made = UpdateAndCreateTopic(
                topic=topic, read_queue_nums=2, write_queue_nums=2, perm=6, attributes=f"+message.type={kind}"
            )
            raw = encode_frame(Frame(made.CODE, number, 0, None, encode_fields(made), b""))
            await super().play(Step("frame", data=raw))
        await self.guest.start()

    async def _start_broker(self) -> None:
        plugins = PluginManager().configured({"grpc": {"port": DOOR_PORT, "tls": "disabled"}})
        broker = BrokerSettings(
            port=BROKER_PORT, nameservers=("127.0.0.1:9876",), services=("grpc",), property_filter=True
        )
        store = StoreSettings(directory=self.directory, **STORE)
        self.broker = Broker(BrokerSections(broker, store, services=SERVICES), self.clock, plugins)
        await self.broker.start()
        service = self.broker.part(GrpcService)
        self.door: Any = service._door
        self.server: Any = service._own._server

    async def stop(self) -> None:
        for line in self.at_door.values():
            line.close()
        await self.guest.stop()
        await super().stop()

    async def restart(self, how: str) -> None:
        self.at_door.clear()
        await super().restart(how)
        if how == "kill":
            self.guest.killed()
        await self.guest.connect()
        self._quiet = None

    # Steps

    def next_step(self, chance: Random) -> Step:
        if chance.random() < 0.06:
            return Step("put", message=self.maker.stored(chance, self.clock.now_ms()))
        return self.steps.step(chance, self.at_door, self.clock.now_ms())

    async def play(self, step: Step) -> None:
        if step.kind == "time":
            await self._pass(step.seconds)
        elif step.server not in (DOOR, BROKEN, MUTE):
            await super().play(step)
        else:
            await self._play_at_door(step)
        self._learn()

    async def _play_at_door(self, step: Step) -> None:
        line = self.at_door.get(step.line)
        if step.kind in ("frame", "rush"):
            if line is None or line.closed:
                line = self.at_door[step.line] = DoorLine(self.loop, DOOR_PORT, greets=step.server != MUTE)
            line.send(step.data, broken=step.server != DOOR)
            if step.kind == "rush":
                for _ in range(int(step.seconds)):
                    await asyncio.sleep(0)
                return
        elif line is not None and not line.closed:
            if step.kind == "close":
                line.close()
            else:
                line.deaf(step.kind == "deaf")
        await self.loop.settle()

    async def _pass(self, seconds: float) -> None:
        while seconds > 0:
            await self.clock.advance(min(seconds, _BEAT_SECONDS))
            if seconds >= _BEAT_SECONDS:
                await self.guest.beat()
            seconds -= _BEAT_SECONDS

    def _learn(self) -> None:
        """Look at what was answered since the last time."""
        for line in self.at_door.values():
            if line.broken:
                continue
            for call in line.asked.values():
                if call.over and not call.seen:
                    call.seen = True
                    self._judge(call)

    # What is looked at

    async def check_answers(self) -> None:
        """Every call that came whole was answered, or its connection is closed."""
        for line in self.at_door.values():
            if not line.closed:
                line.deaf(False)
        await self._pass(ANSWER_SECONDS)
        self._learn()
        for line in self.at_door.values():
            if line.closed or line.broken:
                continue
            open_ones = [
                f"{call.path} of stream {number}"
                for number, call in line.asked.items()
                if call.whole and not call.given_up and not call.over
            ]
            assert not open_ones, f"no answer to {open_ones}"

    def _judge(self, call: Asked) -> None:
        """How a call ended."""
        rpc = call.path.removeprefix(SERVICE)
        if call.given_up or call.path not in m.METHODS:
            return
        status = call.fields.get("grpc-status")
        assert status is not None, f"{rpc} ends without a status: {call.fields}, reset: {call.was_reset}"
        answers = [m.METHODS[call.path][1].FromString(each) for each in call.answers]
        call.raw = b""
        for each in answers[:3]:
            self.learned.learn(each)
        if status == "0" and rpc != "Telemetry":
            assert answers[0].status.code != 0, f"{rpc} was answered without a status: {answers}"
            assert rpc in _IN_STREAMS or len(answers) == 1, f"{rpc} has {len(answers)} answers"

    async def check_left(self) -> None:
        """Once their connections are closed, nothing of what strangers called is being served."""
        for line in self.at_door.values():
            if not line.closed:
                line.close()
        await self.loop.settle()
        self.at_door.clear()
        server, door = self.server, self.door
        # What the guest was sent was on its way when its connection told of it last.
        told = sum(each._told_unsent for each in server.connections)
        left = {
            "connections": len(server.connections) - 1,
            "calls": sum(each.calls for each in server.connections) - 1,
            "bytes of partial requests": server.partial_bytes,
            "bytes of unsent answers": sum(each.unsent_bytes for each in server.connections),
            "bytes of unsent answers of the gone": server.unsent_bytes - told,
            "bytes in work": server.in_work_bytes,
            "calls in work": door.in_work,
            "calls that wait for messages": len(door._receives.held._waiting),
        }
        wrong = {name: count for name, count in left.items() if count}
        assert not wrong, f"left of strangers: {wrong}"

    async def check_gone(self) -> None:
        """After a while nothing is left of the strangers."""
        await self.check_left()
        await self._pass(GONE_SECONDS)
        gc.collect()
        port: Any = self.broker.service_port
        door = self.door
        in_work = int(self.guest.held is not None)
        left = {
            "clients": len(door.clients) - 1,
            "messages in work": len(door.renewing.renewals) - in_work,
            "clients to the broker": len(
                {each._client for each in port.requests._group.peers if isinstance(each, InProcessPeer)}
                - {door.clients.own(), door.clients.known({CLIENT_ID: CLIENT})}
            ),
            "tasks of renewals": len(door.renewing._tasks) + len(door.renewing._changes),
        }
        wrong = {name: count for name, count in left.items() if count}
        assert not wrong, f"left of strangers that are gone: {wrong}"
        groups = {name for name in port.clients.consumers if name.startswith("fuzz")}
        assert not groups, f"groups with members that are gone: {groups}"
        tasks, timers = now = len(asyncio.all_tasks()), self.clock.alarms
        if self._quiet is None:
            self._quiet = now
        more = tasks > self._quiet[0] or timers > self._quiet[1] + _OWN_TIMERS_MAX
        assert not more, f"tasks and timers: {now}, of which {self._quiet} were there before"
