"""Scenes of an elected group without chance: brokers on hosts of a simulation, each step by the test."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

from elected.members import Member, Members
from mqframe_testing.simulation import Simulation
from stories.machines import name_server

from mqframe.core.codes import PullFlag
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.nameserver.server import NameServer
from mqframe.net.client import Client


class Scene:
    """A group of `count` on a network that does what the test says, which runs in `simulation`.

    What still runs is stopped in the end.
    """

    def __init__(self, place: Path, simulation: Simulation, count: int = 2) -> None:
        self.simulation, self.network, self.clock = simulation, simulation.network, simulation.clock
        self.place = place
        self.members = Members(place, simulation, count, None)
        self.client = Client(simulation.clock)
        self._names: NameServer | None = None

    async def __aenter__(self) -> Self:
        self._names = await name_server(self.place, self.simulation)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if kind is not None:
            return  # the simulation ends it all, and time need not come to rest
        for each in self.members.running():
            await self.members.stop(each.name, kill=False)
        await self.client.close()
        assert self._names is not None
        await self._names.stop()

    def __getitem__(self, name: str) -> Member:
        return self.members.all[name]

    async def start(self, *names: str) -> None:
        for name in names:
            await self.members.start(name)

    async def kill(self, name: str) -> None:
        await self.members.stop(name, kill=True)

    async def leader(self, seconds: float = 30) -> Member:
        """The one that leads and takes messages, once there is one."""
        for _ in range(int(seconds * 4)):
            for each in self.members.leaders():
                if each.broker is not None and each.broker.is_registered and not each.broker.refusal:
                    return each
            await self.clock.sleep(0.25)
        raise AssertionError(
            [each.election.elector.trouble for each in self.members.running() if each.election]
        )

    async def send(self, member: Member, body: bytes) -> Frame:
        request = SendMessageV2(
            topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
            sys_flag=0, born_timestamp=0, flag=0, properties="",
        )  # fmt: skip
        return await self.client.invoke(member.address, request, body, timeout=30)

    async def sent(self, member: Member, *bodies: bytes) -> None:
        for body in bodies:
            answer = await self.send(member, body)
            assert answer.code == 0, answer.remark

    async def bodies(self, member: Member) -> list[bytes]:
        """All that can be pulled of the queue."""
        request = PullMessage(
            topic="t", consumer_group="g", queue_id=0, max_msg_nums=32, queue_offset=0,
            sys_flag=PullFlag.SUBSCRIPTION, commit_offset=0, suspend_timeout_millis=0, sub_version=0,
            subscription="*",
        )  # fmt: skip
        answer = await self.client.invoke(member.address, request, timeout=30)
        return [message.body for message in decode_records(answer.body)] if answer.code == 0 else []

    def counters(self, name: str) -> dict[str, str]:
        inner = self[name].inner
        assert inner is not None
        return inner.counters()


def play(place: Path, scenario: Callable[[Scene], Coroutine[Any, Any, None]], count: int = 2) -> None:
    """Run `scenario`; what still runs is stopped in the end."""

    async def whole(simulation: Simulation) -> None:
        async with Scene(place, simulation, count) as scene:
            await scenario(scene)

    with Simulation(1) as simulation:
        simulation.run(whole(simulation))
