"""Broker services: parts of a broker that serve requests, do periodic work and follow arriving messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from mqframe.core.delay.rules import PlaceInTime
from mqframe.core.measuring.family import Metric
from mqframe.core.requests.fields import Request
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Handler
from mqframe.core.wire.bodies import Body
from mqframe.hooks.interfaces.send_rule import SendRule

EVERY_TOPIC: Final = "*"
"""Key of `BrokerService.arrivals` for messages of any topic; each of them then costs a call."""

OnArrival = Callable[[str, int, int, Collection[int]], object]
"""Told of new messages in a queue that consumers may see now: topic, queue id, the queue's end after them (an
offset), the hash codes of their tags. Synchronous; may not block."""


class Periodic(NamedTuple):
    """Something that a service does every `seconds` while the broker runs; `name` is for the log."""

    seconds: float
    action: Callable[[], Awaitable[object] | object]
    name: str


class Table(Protocol):
    """State that is saved. `changes` grows with every change."""

    changes: int

    def dump(self) -> Any:
        """Everything, as a body."""

    def load(self, table: Any, /) -> None:
        """Take over what was saved."""


class SavedTable(NamedTuple):
    """A table that the broker saves as the file `name` below `config/`, and loads before services start.

    `body`: class of what its `dump` returns and its `load` takes. `at_once`: saved before an answer leaves
    that may tell of a change; otherwise every few seconds, so that the last changes are lost in a crash.
    """

    name: str
    body: type[Body]
    table: Table
    at_once: bool = False


class Declarations:
    """What a service does in its broker. Each is asked for once, before `start`."""

    def serving(self) -> Sequence[object]:
        """The objects whose methods, marked by `serves`, answer requests; by default the service itself."""
        return (self,)

    def periodic(self) -> Sequence[Periodic]:
        """What is to be done again and again. Asked after `start`."""
        return ()

    def arrivals(self) -> Mapping[str, OnArrival]:
        """By name of the topic, what is to be told of new messages in it."""
        return {}

    def send_rules(self) -> Sequence[SendRule]:
        """What happens to messages of producers before they are stored."""
        return ()

    def place_in_time(self) -> PlaceInTime | None:
        """What places messages that ask for a time of delivery; `None`: it keeps none.

        One service of a broker sees to these; of producers' messages a send rule of it does so
        (`mqframe.core.delay.options.TIME_NAMES`).
        """
        return None

    def tables(self) -> Sequence[SavedTable]:
        """What is to be saved."""
        return ()

    def around(self, handlers: Mapping[int, Handler], path: Any) -> tuple[Mapping[int, Handler], Any]:
        """What serves requests, by code, in place of `handlers`: each may be refused, delayed, watched.

        Who asks is known by then (`Call.user`). `path`: what serves some in a shorter way, past `handlers`, a
        `FramePath` or `None`; what is returned beside takes its place. Raises nothing.
        """
        return handlers, path

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """What other parts of the broker may call, by name (`BrokerPort.offered`), as "pop.in_flight"."""
        return {}


class Notices:
    """What a service is notified of. An error is logged, and stops nobody else from being notified."""

    def connection_closed(self, peer: Peer) -> None:
        """A client's connection ended; whoever waits there for an answer waits no more."""

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        """An operator set an offset of `group`; whoever waits at the queue is to be woken."""

    def answer_waiting(self) -> None:
        """The broker is about to close its ports: answer the requests that are held."""


class Numbers:
    """What a service shows of itself. An error is logged, and hides nothing of others."""

    def counters(self) -> Mapping[str, str]:
        """Numbers for operators, by name; they are shown among the broker's own (request 28)."""
        return {}

    async def metrics(self) -> Sequence[Metric]:
        """What monitoring is shown; asked for at each scrape. What is long comes as a `Table`, in turns."""
        return ()


class BrokerService(Declarations, Notices, Numbers):
    """Implement what is needed; everything is called in the broker's loop and may not block.

    Made as `factory(port[, options])`, with a `BrokerPort`, before the tables are loaded. A factory whose
    attribute `Settings` is a class made by `mqframe.core.config.settings.settings` has a section of settings,
    which is called as the service; `port.settings` hands it out. Services start in the order in which they
    are registered, the broker's own first, and stop in reverse.
    """

    at_slaves: ClassVar[bool] = False
    """Whether slaves run it, too, which store nothing; asked of the factory. What a slave does with each of
    its requests, these say (`@request(at_slaves=…)`)."""

    async def start(self) -> None:
        """The broker starts: tables are loaded, the log can be read and written, no port answers yet."""

    async def stop(self) -> None:
        """The broker stops in good order: no request is served any more, tables are saved after this."""

    def abandon(self) -> None:
        """The broker ends as a killed process would: let go of files and tasks, save nothing."""


class CompositeService(BrokerService):
    """One service of several parts; it declares itself only what belongs to none of them alone."""

    def __init__(self, parts: Sequence[BrokerService]) -> None:
        """`parts` start in this order, behind the service itself."""
        self.parts = tuple(parts)


def with_parts(services: Iterable[BrokerService]) -> list[BrokerService]:
    """All of `services`, each followed by its parts: the order in which a broker starts and notifies them."""
    found: list[BrokerService] = []
    for service in services:
        found.append(service)
        if isinstance(service, CompositeService):
            found += with_parts(service.parts)
    return found


class CopiedTable(NamedTuple):
    """A table that a slave asks its master for, and saves as its own, unless the service runs there and does.

    `take`: is handed what the master has, a body of the saved table's class; `absent`: what masters answer
    that have no such table, besides that they do not know the request.
    """

    request: Request
    saved: SavedTable
    take: Callable[[Any], object]
    absent: Collection[int] = ()


class CopiedFile(NamedTuple):
    """A file that follows the master's, asked for every few seconds; it counts once the log has come as far.

    `name`: what it is, for people; `content`: what is kept of the answer's body, raises `BadAnswer`; `save`:
    brings that to disk below the store's folder, in a thread, raises OSError; `absent`: as of a table.
    """

    name: str
    request: Request
    content: Callable[[bytes], bytes]
    save: Callable[[Path, bytes], object]
    absent: Collection[int] = ()


class SlaveCopies:
    """Implement what is needed. A service's factory names its class in the attribute `SlaveCopies`.

    Slaves make one of each service that every broker runs, whether or not their settings leave it out: they
    may be masters with it one day.
    """

    def __init__(self, port: Any) -> None:
        """`port`: a `BrokerPort`, that of the slave, which stores nothing."""

    def tables(self) -> Sequence[CopiedTable]:
        """The tables to copy. Asked once, before the slave's tables are loaded."""
        return ()

    def files(self) -> Sequence[CopiedFile]:
        """The files to copy. Asked once."""
        return ()
