"""The replication port of a master: slaves connect, and are sent its log (replication.md §1)."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from mqframe.core.clock import Timer
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.net.listening import close, listen, port_of
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import server_context
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.gate import TlsGate
from mqframe_replication.rules.admission import Home, taken_id
from mqframe_replication.rules.feed import Feed, FeedLimits
from mqframe_replication.rules.hello import Hello, Welcome
from mqframe_replication.rules.send_rate import SendRate
from mqframe_replication.settings import AS_NEEDED
from mqframe_replication.stream.feed_rules import FeedRules, LogSource
from mqframe_replication.stream.handshake import PendingConnections
from mqframe_replication.stream.slave_admission import SlaveAdmission
from mqframe_replication.stream.slave_connection import BYTES_AT_ONCE, SlaveConnection

log = get_logger("replication")
SLAVES_MAX: Final = 64
"""Most connections at once; more would be no slaves."""
_HANDSHAKES_MAX: Final = 512
"""Most connections at once that have not ended their TLS handshake."""


class FedSlave(NamedTuple):
    """A connected slave: where it is, has the log up to, and is sent next.

    `id`: its number, where it said hello; `sent_in_second`: how many bytes it was sent in the last whole one.
    """

    address: str
    acknowledged: int
    following: int
    id: int | None = None
    sent_in_second: int = 0


class Feeding:
    """Sends the log of `source` to all slaves that connect and whom `admission` takes; `None`: plain ones.

    `rules`: what is said to them, and what they say means. `push` is to be called when there is more of the
    log; `look` from time to time.

    With `limits.gather_seconds` what `push` is called for leaves so much later, with all that came meanwhile:
    each frame costs a slave about as much as ten messages in it.
    """

    def __init__(
        self,
        source: LogSource,
        clock: LoopClock,
        limits: FeedLimits,
        rules: FeedRules,
        admission: SlaveAdmission | None = None,
    ) -> None:
        self.source = source
        self.clock = clock
        self.limits = limits
        self._rules = rules
        most = limits.bytes_per_second_max
        self.rate = None if most is None else SendRate(most, clock.monotonic())
        self._slaves: dict[SlaveConnection, None] = {}
        admission = admission or SlaveAdmission(Home("", "", 0, limits.file_bytes), AS_NEEDED)
        self._pending = PendingConnections(admission, self, clock, limits.silent_seconds)
        self.refusals = self._pending.refusals
        self._gate: TlsGate | None = None
        self._listener: asyncio.Server | None = None
        self._pushes_again = False
        self._gathering: Timer | None = None
        self.port = 0

    def secure(self, settings: NetSettings) -> None:
        """Take connections as servers of `settings` do, from the start on. Raises `SettingError`."""
        context = FollowingContext(server_context, settings, self.clock)
        if context.current is None:
            return
        plain = settings.tls_server_mode == "permissive"
        patience = self.limits.silent_seconds
        self._gate = gate = TlsGate(context, self.clock, self._pending.arrive, plain=plain, patience=patience)
        gate.waiting_max = _HANDSHAKES_MAX
        gate.plain_refused = (
            "a slave without TLS is refused: this replication port takes TLS only. Have it use TLS (net.tls),"
            " or, for RocketMQ's slaves, which cannot, set replication.tls = off here"
        )

    async def start(self, host: str, port: int) -> None:
        """Listen; 0: at any free port. Raises `OSError`."""
        arrive = self._pending.arrive if self._gate is None else self._gate.arrive
        self._listener = await listen(arrive, host, port)
        self.port = port_of(self._listener)

    async def stop(self) -> None:
        """Close the port and all connections."""
        if self._listener is not None:
            await close([self._listener])
        self.abandon()
        if self._listener is not None:
            await self._listener.wait_closed()

    def abandon(self) -> None:
        """Close the port and all connections, without waiting."""
        if self._gathering is not None:
            self._gathering.cancel()
        if self._listener is not None:
            self._listener.close()
        if self._gate is not None:
            self._gate.close()
        self._pending.close()
        for each in tuple(self._slaves):
            each.close()

    def acknowledged(self) -> list[int]:
        """Up to where each connected slave has the log; those that have not reported yet are not listed."""
        return [each.feed.acknowledged for each in self._slaves if each.is_followed]

    def slaves(self) -> list[FedSlave]:
        """The slaves that have reported."""
        now = self.clock.monotonic()
        return [
            FedSlave(
                each.address,
                each.feed.acknowledged,
                each.feed.following,
                None if each.hello is None else each.hello.id,
                each.sent.last(now),
            )
            for each in self._slaves
            if each.is_followed
        ]

    def push(self) -> None:
        """Send what there is of the log to those who can take it, at once or a little later."""
        if not self._slaves:
            return
        if self.rate is not None:
            self._push_evenly(self.rate)
        elif self.limits.gather_seconds:
            self.push_later(self.limits.gather_seconds)
        else:
            self._push()

    def push_later(self, seconds: float) -> None:
        """Send so much later what there is then, unless that is about to happen anyway."""
        if self._gathering is None:
            self._gathering = self.clock.call_later(seconds, self._push)

    def _push(self) -> None:
        self._gathering = None
        for each in tuple(self._slaves):
            each.push()

    def _push_evenly(self, rate: SendRate) -> None:
        """Send to each slave that lacks something the same part of what may be sent now."""
        for each in tuple(self._slaves):
            each.send_next(0)  # a heartbeat where one is due
        hungry = [each for each in self._slaves if each.wanted]
        if not hungry:
            return
        allowed = rate.allowed(sum(each.wanted for each in hungry), self.clock.monotonic())
        part = min(allowed // len(hungry), BYTES_AT_ONCE)
        for each in hungry:
            rate.spend(each.send_part(part))
        if part and not self._pushes_again:
            self._pushes_again = True
            asyncio.get_running_loop().call_soon(self._push_again)

    def _push_again(self) -> None:
        self._pushes_again = False
        self.push()

    def look(self) -> None:
        """Send heartbeats and whatever is due; close silent connections."""
        now = self.clock.monotonic()
        self._pending.look()
        if self._gate is not None:
            self._gate.tell()
        for each in tuple(self._slaves):
            lacks = "says" if each.feed.is_silent(now) else "takes" if each.is_stuck(now) else ""
            if lacks:
                self.refusals.note_closed(each.address, lacks)
                each.close()
        self.push()

    def objection(self, hello: Hello | None) -> str:
        """Why another slave cannot come in now; empty: nothing is against it (`SlavePort`)."""
        if objection := self._rules.objection(hello):
            return objection
        if len(self._slaves) >= SLAVES_MAX:
            return "too many slaves are connected"
        for each, said in self._alike(hello):
            if hello is not None and said.boot != hello.boot:
                return taken_id(hello, each.address)
        return ""

    def _alike(self, hello: Hello | None) -> list[tuple[SlaveConnection, Hello]]:
        """The connections of slaves of the same number, and what they said."""
        said = [(each, each.hello) for each in self._slaves if each.hello is not None]
        return [(each, other) for each, other in said if hello is not None and other.id == hello.id]

    def welcome(self, hello: Hello) -> Welcome:
        """What is said to a slave that comes in (`SlavePort`)."""
        return self._rules.welcome(hello)

    def enter(self, hello: Hello | None) -> asyncio.Protocol:
        """What goes on with the connection of a slave (`SlavePort`)."""
        for each, said in self._alike(hello):
            if hello is not None and said.fetches == hello.fetches:
                log.info("a slave comes again; its former connection is closed", slave=each.address)
                each.close()
        feed = Feed(self.limits, self.clock.monotonic(), self._rules.framing(hello))
        return SlaveConnection(self, hello, feed)

    def join(self, slave: SlaveConnection) -> None:
        """Take `slave` in."""
        self._slaves[slave] = None
        self._rules.joined(slave.hello)

    def heard(self, slave: SlaveConnection) -> None:
        """`slave` has said how far it is."""
        seconds = self._rules.heard(slave.hello, slave.feed)
        if seconds is not None:
            self.push_later(seconds)

    def leave(self, slave: SlaveConnection) -> None:
        """`slave` is gone."""
        if slave in self._slaves:
            del self._slaves[slave]
            self._rules.left(slave.hello)
