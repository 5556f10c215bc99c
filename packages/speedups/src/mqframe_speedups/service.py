"""The broker service `speedups`: what is ordinary is served by compiled code, the rest as without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mqframe.broker.consuming.filters import REMEMBERING
from mqframe.broker.sending.processor import SendProcessor
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Family, Metric, MetricKind
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_speedups._native import FieldReader, RecordVerdicts
from mqframe_speedups.sends import SendPath, why_not

log: Final = get_logger("broker")
SWITCH: Final = "MQFRAME_SPEEDUPS"
"""An environment variable that leaves the compiled code out where it is 0."""


class SpeedupsService(BrokerService):
    """Brings the shorter way of sends, where everything that has to see them is heeded by it."""

    def __init__(self, port: BrokerState) -> None:
        super().__init__()
        self._state = port
        self._path: SendPath | None = None
        self._is_off = os.environ.get(SWITCH) == "0"

    def frame_path(self, sends: SendProcessor) -> SendPath | None:
        """As `BringsFramePath.frame_path`."""
        why = "switched off in the environment" if self._is_off else why_not(self._state)
        if why:
            log.info("sends go without speedups", why=why)
            return None
        self._path = SendPath(self._state, sends)
        return self._path

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """What reads header fields of HTTP/2, and what remembers verdicts of filters."""
        if self._is_off:
            return {}
        return {"speedups.fields": FieldReader, REMEMBERING: RecordVerdicts}

    def counters(self) -> Mapping[str, str]:
        """How many messages went the shorter way."""
        return {} if self._path is None else {"speedups.sends": str(self._path.served)}

    async def metrics(self) -> Sequence[Metric]:
        """How many messages went which way."""
        family = Family(
            "mqframe_speedups_messages_total",
            MetricKind.COUNTER,
            "Messages that were stored by the compiled code, and by Python.",
            ("by",),
        )
        native = 0 if self._path is None else self._path.served
        family.add(native, "native")
        family.add(self._state.counts.put.total - native, "python")
        return [family]


@hookimpl
def register_broker_services() -> Factories:
    """`speedups`."""
    return {"speedups": SpeedupsService}
