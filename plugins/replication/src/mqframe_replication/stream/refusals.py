"""Who is refused at the replication port, and told in the log: slaves as errors, others as a warning."""

from __future__ import annotations

import logging

from mqframe.core.clock import Clock
from mqframe.log import get_logger
from mqframe.trouble import Trouble, Troubles

log = get_logger("replication")


class ConnectionRefusals:
    """What is told of connections that are refused, of each machine once a minute at most."""

    def __init__(self, clock: Clock) -> None:
        self._unknown = Trouble(log, clock.monotonic)
        self._slaves = Troubles(log, clock.monotonic, level=logging.ERROR)
        self._closed = Troubles(log, clock.monotonic)

    def note_unknown(self, address: str, why: str) -> None:
        """Somebody at `address`, who did not say who it is, is refused."""
        self._unknown.note("a connection to the replication port is refused", peer=address, problem=why)

    def note(self, address: str, why: str) -> None:
        """A slave at `address`, "host:port", is refused."""
        slave = self._slaves.of(_machine(address))
        slave.note("a slave is refused", kind=why, slave=address, problem=why)

    def note_closed(self, address: str, lacks: str) -> None:
        """The connection of a slave at `address` is closed: it "says" or "takes" nothing, `lacks`."""
        event = f"a slave {lacks} nothing; its connection is closed"
        self._closed.of(_machine(address)).note(event, kind=event, slave=address)

    def over(self, address: str, offset: int) -> None:
        """The slave at `address` follows from log offset `offset` on."""
        machine, event = _machine(address), "a slave follows"
        told = self._slaves.over(machine, event, slave=address, offset=offset)
        if not told and not self._closed.over(machine, event, slave=address, offset=offset):
            log.info(event, slave=address, offset=offset)
        self._closed.leave(machine)

    def tell(self, *, last: bool = False) -> None:
        """Say how many others were refused since that was said (as `Trouble`)."""
        self._unknown.tell(last=last)


def _machine(address: str) -> str:
    return address.rpartition(":")[0]
