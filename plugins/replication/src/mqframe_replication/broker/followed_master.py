"""Whom a slave follows: what differs between a master that name servers list and an elected leader."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, cast

from mqframe.broker.cluster.registration import MasterPlace
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import StoreError
from mqframe.net.access.access import Access
from mqframe.net.clock import LoopClock
from mqframe.net.tls.contexts import client_context
from mqframe.net.tls.following import FollowingContext
from mqframe.store.message_store import MessageStore
from mqframe_replication.broker.cutting_back import CuttingBack
from mqframe_replication.rules.hello import Hello, Welcome
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import OFF
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_replication.stream.copy_rules import CopyRules
from mqframe_replication.stream.dialing import Dialer


def copy_of(store: MessageStore) -> ReplicaLog:
    """The log of a slave's `store`, as the copy that it is."""
    assert store.replica is not None, "the store of a slave is a copy"
    return cast("ReplicaLog", store.replica)


class MasterUnknown(StoreError):
    """Nobody says where the master is, which may be a matter of seconds."""


class FollowTimes(NamedTuple):
    """How often a slave looks after its connection, tries to connect, and copies tables, seconds."""

    look: float
    retry: float
    tables: float


class FollowedMaster(Protocol):
    """Where the master is, what it is told of this slave, and how the logs are compared.

    `dialer`: opens connections to it.
    """

    dialer: Dialer
    times: FollowTimes

    @property
    def rules(self) -> CopyRules[Any]:
        """How its log is copied."""

    @property
    def cutting_back(self) -> CuttingBack | None:
        """Cuts this log where `LogsDiffer`; `None` where `compare` has that done by itself."""

    @property
    def known_end(self) -> int:
        """Up to where its log went, as far as it was asked, bytes; 0: it was not."""

    def enforce(self, access: Access) -> None:
        """Say who this slave is, signed as other requests of `access` are."""

    async def find(self) -> MasterPlace:
        """Where it is, asked for now. Raises `MasterUnknown`."""

    def place(self) -> MasterPlace:
        """Where it is, as it is known. Raises `MasterUnknown`."""

    async def choose_hello(self, place: MasterPlace) -> None:
        """Have `dialer` say hello to the master at `place`, or not. Raises `StoreError`, or as a call."""

    async def compare(self, place: MasterPlace, welcome: Welcome | None) -> None:
        """Raises `StoreError` where this log is not the beginning of that of the master at `place`.

        `welcome`: what it answered to the hello, if there was one.
        """


def is_secured(sections: BrokerSections) -> bool:
    """Whether a slave of these settings speaks TLS with its master."""
    return sections.net.tls and replication_of(sections).tls != OFF


def dialer_of(sections: BrokerSections, clock: LoopClock) -> Dialer:
    """What opens connections to masters, as these settings say. Raises `SettingError`."""
    secured = is_secured(sections)
    return Dialer(clock, FollowingContext(client_context, sections.net, clock) if secured else None)


def hello_of(sections: BrokerSections, process: str) -> Hello:
    """The hello of a slave of these settings, with an empty log. `process`: names this start of it."""
    return Hello(
        sections.broker.cluster,
        sections.broker.name,
        replication_of(sections).id,
        sections.store.commit_log_file_bytes,
        end=0,
        boot=process,
    )
