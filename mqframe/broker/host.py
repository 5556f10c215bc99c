"""The broker of a directory and a port: started, stopped, and made anew when its role changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.measured import MeasuredBroker
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import StoreError

MakeBroker = Callable[[BrokerSections, GroupRole | None], Broker | Awaitable[Broker]]
"""Makes a broker of the settings of its role, and of what it is in a group, as `Broker`, at once or in a
while."""


class RoleDecider(Protocol):
    """Says what the broker of a host is: nobody, an operator's word, or an election.

    `host`: set by the host that is handed it, once.
    """

    host: BrokerHost

    async def start(self) -> None:
        """Have `host` make the broker that it has first and serve it, and decide from then on.

        Raises what making a broker raises, and as `Broker.start`.
        """

    async def stop(self) -> None:
        """Decide nothing further, and end the broker."""

    def abandon(self) -> None:
        """Decide nothing further, at once."""

    @property
    def pause(self) -> str:
        """That the role changes at the moment, so that no messages are taken; empty: it does not."""


class BrokerHost:
    """Starts and stops a broker as that one does by itself; in between `decider` has it made anew by `make`.

    Belongs to one loop.
    """

    def __init__(self, make: MakeBroker, decider: RoleDecider) -> None:
        self._make = make
        self.decider = decider
        decider.host = self
        self._broker: Broker | None = None
        self._starting: asyncio.Task[None] | None = None
        self._failed: Callable[[BaseException], object] = lambda problem: None
        self._ending: asyncio.Task[None] | None = None
        self._ended: Broker | None = None
        self.address = ""
        """The address that clients use, "host:port"; known once started."""
        self.changing = asyncio.Lock()
        """Whoever ends, makes and serves brokers holds it meanwhile."""

    # What others see

    @property
    def broker(self) -> Broker:
        """The broker as it is at the moment. Raises `StoreError` while its role changes."""
        if self._broker is None:
            raise StoreError("the role of this broker changes at the moment; ask again in a second")
        return self._broker

    @property
    def present(self) -> Broker | None:
        """The broker as it is at the moment; `None` while its role changes."""
        return self._broker

    @property
    def is_registered(self) -> bool:
        """Whether a name server knows the broker, or there is none that should."""
        return self._broker is not None and self._broker.is_registered

    @property
    def refusal(self) -> str:
        """Why no messages are taken at the moment; empty normally, and of a slave that is well."""
        if pause := self.decider.pause:
            return pause
        return "no broker serves here" if self._broker is None else self._broker.refusal

    def measure(self) -> MeasuredBroker | None:
        """What monitoring may know of the broker as it is at the moment; `None` while its role changes."""
        return None if self._broker is None else self._broker.measure()

    async def start(self) -> None:
        """Make a broker, and start it. Raises what making a broker raises, and as `Broker.start`."""
        await self.decider.start()

    async def stop(self) -> None:
        """As `Broker.stop`; a change that is under way ends first."""
        await self.decider.stop()

    async def abandon(self) -> None:
        """Stop as a killed process would. For tests."""
        self.decider.abandon()
        for task in (self._starting, self._ending):
            if task is not None:
                task.cancel()
        broker, self._broker = self._broker or self._ended, None
        if broker is not None:
            await broker.abandon()

    # For whoever decides

    async def make(self, sections: BrokerSections, role: GroupRole | None = None) -> Broker:
        """Make a broker, which opens the store; it is the one that is there. Raises as `Broker`."""
        making = self._make(sections, role)
        self._broker = making if isinstance(making, Broker) else await making
        return self._broker

    async def serve(self) -> None:
        """Start the broker that was made. Raises as `Broker.start`; there is none then."""
        try:
            await self.broker.start()
        except BaseException:
            self._broker = None
            raise
        self.address = self.broker.address

    async def serve_once(self, opened: asyncio.Event, failed: Callable[[BaseException], object]) -> None:
        """As `serve`, and return once `opened` is set, while the start goes on.

        `failed`: called when that fails afterwards; there is no broker any more then.
        """
        self._failed = failed
        self._starting = asyncio.ensure_future(self.broker.start())
        waiting = asyncio.ensure_future(opened.wait())
        try:
            await asyncio.wait((self._starting, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not opened.is_set():
            self._broker = None
            await self._starting
        self._starting.add_done_callback(self._started)

    def _started(self, starting: asyncio.Task[None]) -> None:
        problem = None if starting.cancelled() else starting.exception()
        if problem is not None:
            self._broker = None
            self._failed(problem)

    async def end(self, *, leave: bool = True) -> Exception | None:
        """Stop the broker, if there is one; why it did not stop in good order.

        `leave`: as of `Broker.stop`. Whoever is cancelled leaves it to the next call to wait for the end.
        """
        broker, self._broker = self._broker, None
        starting, self._starting = self._starting, None
        if starting is not None and not starting.done():
            starting.remove_done_callback(self._started)
            starting.cancel()
            self._ending, self._ended = starting, broker
        elif broker is not None:
            self._ending, self._ended = asyncio.ensure_future(broker.stop(leave=leave)), broker
        if self._ending is None:
            return None
        # To its end, also when whoever waits is told to stop: else nobody could open the store again.
        await asyncio.wait({self._ending})
        ending, self._ending, self._ended = self._ending, None, None
        problem = None if ending.cancelled() else ending.exception()
        return problem if isinstance(problem, Exception) else None

    def on_its_ports(self, sections: BrokerSections) -> BrokerSections:
        """`sections` with the ports that are in use now, for whatever broker comes next."""
        settings: Any = sections.broker
        replication = sections.replication
        if settings.port == 0:
            replication = replication.on_any_port()
            # What lies beside a port that was any free one may belong to others.
            settings = attrs.evolve(settings, port=_port(self.broker.address), vip_port=False)
        if settings.operator_port == 0:
            settings = attrs.evolve(settings, operator_port=_port(self.broker.operator_address))
        before: Any = sections
        same: BrokerSections = attrs.evolve(before, broker=settings, replication=replication)
        return same


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
