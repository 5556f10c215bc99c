"""The broker service `speedups`: what is ordinary is served by compiled code, the rest as without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mqframe.broker.consuming.filters import REMEMBERING
from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.sending.processor import SendProcessor
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Family, Metric, MetricKind
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_speedups._native import AckReader, FieldReader, ReceivedTranslator, RecordVerdicts, SentReader
from mqframe_speedups.commits import Commits
from mqframe_speedups.log_reading import NativeLogReading
from mqframe_speedups.path import BrokerPath
from mqframe_speedups.pulls import PullPath
from mqframe_speedups.sends import SendPath, why_not
from mqframe_speedups.switch import is_off

log: Final = get_logger("broker")


class SpeedupsService(BrokerService):
    """Brings the shorter way of sends and pulls, where everything that has to see them is heeded by it."""

    LogReading = NativeLogReading

    def __init__(self, port: BrokerState) -> None:
        super().__init__()
        self._state = port
        self._sends: SendPath | None = None
        self._pulls: PullPath | None = None
        self._commits = Commits(port)
        self._is_off = is_off()

    def frame_path(self, sends: SendProcessor, pulls: PullProcessor) -> BrokerPath | None:
        """As `BringsFramePath.frame_path`."""
        if self._is_off or self._state.store.replica is not None:
            log.info("no speedups", why="switched off in the environment" if self._is_off else "a slave")
            return None
        why = why_not(self._state)
        if why:
            log.info("sends go without speedups", why=why)
        else:
            self._sends = SendPath(self._state, sends)
            self._commits.is_ready = True
        self._pulls = PullPath(self._state, pulls)
        return BrokerPath(self._sends, self._pulls)

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """What reads and translates for clients of gRPC, commits halves, remembers verdicts of filters."""
        if self._is_off:
            return {}
        return {
            "speedups.acks": AckReader,
            "speedups.fields": FieldReader,
            "speedups.received": ReceivedTranslator,
            "speedups.sent": SentReader,
            "speedups.commits": self._commits,
            REMEMBERING: RecordVerdicts,
        }

    def counters(self) -> Mapping[str, str]:
        """How many messages went the shorter way, in and out."""
        sends = {} if self._sends is None else {"speedups.sends": str(self._stored())}
        return sends if self._pulls is None else {**sends, "speedups.pulls": str(self._pulls.served)}

    def _stored(self) -> int:
        return self._commits.served + (0 if self._sends is None else self._sends.served)

    async def metrics(self) -> Sequence[Metric]:
        """How many messages went which way, in and out."""
        sent = self._stored()
        pulled = 0 if self._pulls is None else self._pulls.served
        counts = self._state.counts
        return [
            _by_way("messages", "stored", sent, counts.put.total),
            _by_way("given_messages", "given to consumers", pulled, counts.get.total),
        ]


def _by_way(name: str, done: str, native: int, total: int) -> Family:
    family = Family(
        f"mqframe_speedups_{name}_total",
        MetricKind.COUNTER,
        f"Messages that were {done} by the compiled code, and by Python.",
        ("by",),
    )
    family.add(native, "native")
    family.add(total - native, "python")
    return family


@hookimpl
def register_broker_services() -> Factories:
    """`speedups`."""
    return {"speedups": SpeedupsService}
