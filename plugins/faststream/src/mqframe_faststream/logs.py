"""The access log: columns for topic and group, and where a message lies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from faststream._internal.logger import DefaultLoggerStorage, make_logger_state
from faststream._internal.logger.logging import get_broker_logger

if TYPE_CHECKING:
    from faststream._internal.basic_types import LoggerProto
    from faststream._internal.context import ContextRepo

MESSAGE_ID_WIDTH = 32


class MqframeLogColumns(DefaultLoggerStorage):
    """As wide as the longest topic and group that are subscribed to."""

    def __init__(self) -> None:
        super().__init__()
        self._widths = {"topic": 4, "group": 0}

    def register_subscriber(self, params: dict[str, Any]) -> None:
        """Make room for a subscriber's topic and group."""
        for name, width in self._widths.items():
            self._widths[name] = max(width, len(params.get(name) or ""))

    def get_logger(self, *, context: ContextRepo) -> LoggerProto:
        """The logger, made when it is first asked for."""
        known = self._get_logger_ref()
        if known is not None:
            return known
        columns = "".join(f"%({name})-{width}s | " for name, width in self._widths.items() if width)
        columns += f"%(message_id)-{MESSAGE_ID_WIDTH}s %(place)s"
        made = get_broker_logger(
            name="rocketmq",
            default_context={"topic": "", "group": "", "place": ""},
            message_id_ln=MESSAGE_ID_WIDTH,
            fmt=f"%(asctime)s %(levelname)-8s - {columns} - %(message)s",
            context=context,
            log_level=self.logger_log_level,
        )
        self._logger_ref.add(made)
        return made


logger_state = partial(make_logger_state, default_storage_cls=MqframeLogColumns)

__all__ = ["MqframeLogColumns", "logger_state"]
