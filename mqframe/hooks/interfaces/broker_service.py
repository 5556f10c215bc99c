"""Broker services: parts of a broker that serve requests, do periodic work and follow arriving messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

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


class BrokerService:
    """Implement what is needed; everything is called in the broker's loop and may not block.

    Made as `factory(port[, options])`, with a `BrokerPort`, before the tables are loaded. A factory whose
    attribute `Settings` is a class made by `mqframe.core.config.settings.settings` has a section of settings,
    which is called as the service; `port.settings` hands it out. Services start in the order in which they
    are registered, the broker's own first, and stop in reverse.
    """

    def serving(self) -> Sequence[object]:
        """The objects whose methods, marked by `serves`, answer requests; by default the service itself."""
        return (self,)

    def periodic(self) -> Sequence[Periodic]:
        """What is to be done again and again. Asked once, after `start`."""
        return ()

    def arrivals(self) -> Mapping[str, OnArrival]:
        """By name of the topic, what is to be told of new messages in it. Asked once, before `start`."""
        return {}

    def send_rules(self) -> Sequence[SendRule]:
        """What happens to messages of producers before they are stored. Asked once, before `start`."""
        return ()

    def tables(self) -> Sequence[SavedTable]:
        """What is to be saved. Asked once, before `start`."""
        return ()

    def counters(self) -> Mapping[str, str]:
        """Numbers for operators, by name; they are shown among the broker's own (request 28)."""
        return {}

    async def start(self) -> None:
        """The broker starts: tables are loaded, the log can be read and written, no port answers yet."""

    async def stop(self) -> None:
        """The broker stops in good order: no request is served any more, tables are saved after this."""

    def abandon(self) -> None:
        """The broker ends as a killed process would: let go of files and tasks, save nothing."""
