"""What servers measure, as an `Exporter` is handed it: numbers and tables, without names of any system.

Everything belongs to the loop of its server. What may be long is walked through in turns (`mqframe.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mqframe.core.measuring.family import Family
from mqframe.core.measuring.sampled import Sampled
from mqframe.hooks.interfaces.administration.broker import AdministeredTables
from mqframe.hooks.interfaces.broker_port import BrokerPort
from mqframe.hooks.interfaces.broker_service import BrokerService


class SizedCount(Protocol):
    """Messages that were counted."""

    @property
    def total(self) -> int:
        """How many."""

    @property
    def size(self) -> Sampled:
        """Bytes of their records: its `total`."""


class TypedCount(Protocol):
    """Messages of one type that were put into a topic."""

    @property
    def total(self) -> int:
        """How many."""

    @property
    def size_bytes(self) -> int:
        """Bytes of their records."""

    @property
    def sizes(self) -> list[int]:
        """How many by `MeasuredTraffic.size_bounds`; those above the last bound come last."""


class CountedPuts(SizedCount, Protocol):
    """Messages that were put into one topic."""

    @property
    def sizes(self) -> list[int]:
        """How many by `MeasuredTraffic.size_bounds`; those above the last bound come last."""

    @property
    def types(self) -> Mapping[str, TypedCount]:
        """What of all that is not of the type normal, by type (`core.sending.message_type`)."""


class MeasuredTraffic(Protocol):
    """Messages in and out. Topics and groups may go while somebody walks through them."""

    @property
    def size_bounds(self) -> Sequence[int]:
        """Sizes of records, bytes, by which they are told apart."""

    @property
    def puts(self) -> Mapping[str, CountedPuts]:
        """What producers sent, by topic."""

    @property
    def gets(self) -> Mapping[tuple[str, str], SizedCount]:
        """What groups got, by group and topic."""

    def seldom(self) -> Sequence[tuple[tuple[str, str], Sampled]]:
        """What else is counted: its name in BrokerStatsManager.java and "topic@group", and how often."""


class DispatcherLag(Protocol):
    """How far a dispatcher that follows the log is behind."""

    @property
    def name(self) -> str:
        """Of the dispatcher."""

    @property
    def size_bytes(self) -> int:
        """Of the log, what it has not made durable yet."""

    def age_ms(self, now_ms: int) -> int:
        """How long the first message has been waiting at `now_ms`; 0 when none is."""


class StoreMeasures(Protocol):
    """What a store says of itself besides what `BrokerPort.store` knows. Offsets are in bytes of the log."""

    @property
    def directory(self) -> Path:
        """Where it is."""

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk."""

    @property
    def confirmed_offset(self) -> int:
        """First log offset that consumers may not see yet."""

    @property
    def refuses(self) -> bool:
        """Whether it takes no message at the moment."""

    @property
    def distrusted(self) -> bool:
        """Whether the disk may lack what it was to hold."""

    def lags(self) -> Sequence[DispatcherLag]:
        """Of all dispatchers that follow the log."""


class BrokerMeasures(Protocol):
    """What one broker measures, from when it was asked for on."""

    @property
    def port(self) -> BrokerPort:
        """Its identity and time, what is stored, who is connected, and what its services offer."""

    @property
    def tables(self) -> AdministeredTables:
        """What it knows by name; to be read, not to be changed."""

    @property
    def traffic(self) -> MeasuredTraffic:
        """Messages in and out."""

    @property
    def store(self) -> StoreMeasures:
        """What its store says of itself."""

    @property
    def services(self) -> Sequence[BrokerService]:
        """All its parts and services: each has `metrics`, which may fail."""

    @property
    def counters(self) -> Sequence[Callable[[], Mapping[str, str]]]:
        """The numbers that operators are shown, by name; each of these may fail. Later ones come first."""

    def latencies(self) -> Family:
        """How long requests took, by request and answer."""

    def budgets(self) -> Mapping[str, str]:
        """How much of each budget is in use, the most that may be, and how often that was refused."""


class NameServerMeasures(Protocol):
    """What one name server measures, from when it was asked for on, and a proxy from its start on."""

    @property
    def address(self) -> str:
        """Where it listens, "host:port"."""

    def latencies(self) -> Family:
        """How long requests took, by request and answer."""

    def counters(self) -> Mapping[str, str]:
        """Its budgets, and what it refused, by name."""
