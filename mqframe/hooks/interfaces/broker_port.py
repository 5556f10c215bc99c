"""The port of broker services: what a broker hands to a service plugin, and nothing else of the broker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mqframe.core.clock import TimerClock
from mqframe.core.cluster.client_registry import ClientRegistry
from mqframe.core.delay.rules import DelayRules
from mqframe.core.measuring.failures import FailureCount
from mqframe.core.requests.fields import Request
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces.administration.broker import BrokerAdministration
from mqframe.hooks.interfaces.broker_messages import MessageReader, MessageRedelivery, MessageWriter
from mqframe.hooks.interfaces.broker_requests import BrokerRequests
from mqframe.hooks.interfaces.broker_store import BrokerStore
from mqframe.hooks.interfaces.broker_tables import (
    BrokerCounts,
    GroupLookup,
    LeftOutNotes,
    OffsetLookup,
    ReadAdmission,
    TopicLookup,
)
from mqframe.hooks.interfaces.send_rule import SendFields

S = TypeVar("S")
T = TypeVar("T", covariant=True)


class BrokerIdentity(Protocol):
    """Who the broker is."""

    @property
    def name(self) -> str:
        """Name of the broker, unique in its cluster."""

    @property
    def cluster(self) -> str:
        """Name of the cluster."""

    @property
    def address(self) -> str:
        """The address that clients use, "host:port"; known once the broker has started."""

    @property
    def broker_id(self) -> int:
        """0 for a master, else which of the slaves of its name it is."""

    @property
    def role(self) -> str:
        """As Apache's brokers call theirs: ASYNC_MASTER, SYNC_MASTER, SLAVE."""

    @property
    def replication_address(self) -> str:
        """Where the log is copied, "host:port"; the port is the one behind the broker's where it is not."""

    def offset_id(self, commit_log_offset: int) -> str:
        """The message id of the record at `commit_log_offset` (bytes)."""


class SendPlace(Protocol):
    """A topic that messages may be sent to."""

    @property
    def write_queues(self) -> int:
        """How many queues the broker chooses from, where a sender leaves it that; 1 or more."""


class SendAdmission(Protocol):
    """Whether a client may send to a topic."""

    def find(self, fields: SendFields) -> SendPlace:
        """The topic of a send with `fields`, made where that is allowed. Raises `Refusal`."""


class BodyCheck(Protocol):
    """Looks at the body of a send before it is stored."""

    def __call__(self, body: bytes, /, *, added_bytes: int, log_file_bytes: int) -> object:
        """Raise `Refusal` for a body that may not be stored.

        `added_bytes`: what the broker adds to the properties of a message; `log_file_bytes`: what a file of
        the log holds at most.
        """


class SettingsInForce(Protocol):
    """Settings of the broker itself, as they are in force now, that concern what services do."""

    @property
    def permission(self) -> int:
        """What may be done here: 4 read, 2 write, 6 both."""

    @property
    def region(self) -> str:
        """The region that messages are marked with."""

    @property
    def trace_on(self) -> bool:
        """Whether clients may trace their messages."""

    @property
    def pull_bytes_max(self) -> int:
        """Most bytes that a reader is given at once near the end of the log."""

    @property
    def cold_pull_bytes_max(self) -> int:
        """Most bytes that a reader is given at once far behind the end of the log."""

    @property
    def keep_hours(self) -> int:
        """Age at which messages go."""


class DueTask(Protocol):
    """Work that runs when it falls due, never twice at once."""

    @property
    def failures(self) -> FailureCount:
        """How often it failed."""

    def ring_in(self, wait_ms: int) -> None:
        """Run it in `wait_ms` at the latest. While it runs, what it returns decides."""

    async def stop(self) -> None:
        """Run it no more; returns when it does not run any more."""

    def cancel(self) -> None:
        """Run it no more, and cancel what runs."""


class ServiceSettings(Protocol[T]):
    """The section of settings of a service."""

    @property
    def current(self) -> T:
        """The settings in force; another object once operators changed some. Ask for it at each use."""


class MessagePort(Protocol):
    """What is stored, and storing."""

    @property
    def reader(self) -> MessageReader:
        """What is stored, as messages."""

    @property
    def writer(self) -> MessageWriter:
        """Stores messages."""

    @property
    def store(self) -> BrokerStore:
        """What is stored, as records, for services that take part in how it is read."""

    @property
    def delays(self) -> DelayRules:
        """Where a message that is to be delivered later is stored, and which is."""

    @property
    def redelivery(self) -> MessageRedelivery:
        """Puts messages that waited where they belong."""

    @property
    def left_out(self) -> LeftOutNotes:
        """Isolates a task from messages that it can do nothing with."""


class TablePort(Protocol):
    """The broker's tables."""

    @property
    def topics(self) -> TopicLookup:
        """The topics."""

    @property
    def groups(self) -> GroupLookup:
        """The consumer groups."""

    @property
    def offsets(self) -> OffsetLookup:
        """How far groups are."""

    @property
    def clients(self) -> ClientRegistry[Peer]:
        """Who is connected, and a member of which groups."""

    @property
    def counts(self) -> BrokerCounts:
        """What is counted of messages."""

    async def save_tables(self) -> bool:
        """Save what is saved at once, new topics too; whether it is on disk."""


class RequestPort(Protocol):
    """What concerns requests, those that a service serves and those that it makes."""

    @property
    def requests(self) -> BrokerRequests:
        """Asks the broker what clients ask, for clients that speak another protocol."""

    @property
    def reads(self) -> ReadAdmission:
        """Whether a client may read."""

    @property
    def sends(self) -> SendAdmission:
        """Whether a client may send."""

    async def ask_nameservers(self, request: Request) -> Frame | None:
        """What the first name server that answers says, a refusal perhaps.

        `None` when none answers in `broker.register_timeout_ms`, or the broker has none.
        """

    def send_whole(self, fields: SendFields, call: Call, check: BodyCheck) -> Reply | None:
        """Serve a send, by a request of the service's own, whose body is stored as one message.

        It is checked, counted and answered as any send is, and the rules see it. `check` comes behind the
        checks of all sends and before the rules. For handlers of services, once the broker serves.
        """


class BrokerPort(MessagePort, TablePort, RequestPort, Protocol):
    """Handed to the factory of a `BrokerService`. Good for the service's whole life, in the broker's loop.

    The broker's own services are built on this and nothing else of the broker.
    """

    @property
    def clock(self) -> TimerClock:
        """The broker's time. Wall-clock time may be set back."""

    @property
    def identity(self) -> BrokerIdentity:
        """Who the broker is."""

    @property
    def administration(self) -> BrokerAdministration:
        """What operators may see and change, for services that answer them."""

    @property
    def in_force(self) -> SettingsInForce:
        """The broker's own settings that concern services."""

    @property
    def directory(self) -> Path:
        """Where the broker keeps its data; a service may keep files of its own in a folder of its name."""

    def settings(self, kind: type[S]) -> ServiceSettings[S]:
        """The section of a service, of its class, which its factory names in `Settings`.

        Operators change those of its settings that are `live` as they change the broker's own. Raises
        `SettingError` where nobody gave what it has no default for.
        """

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> DueTask:
        """A task that runs `work` when it is rung.

        `work` returns in how many ms it wants to run again, `None`: not before it is rung. An error is logged
        under `name`, and the work is tried again after some seconds.
        """

    def offered(self, name: str) -> Callable[..., Any] | None:
        """What a service offers under `name`, from when it is made; `None` where none does."""
