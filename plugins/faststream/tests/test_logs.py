"""The access log has a column for topics and one for groups."""

from __future__ import annotations

import logging

from faststream import ContextRepo
from mqframe_faststream.logs import MqframeLogColumns


def test_columns_are_as_wide_as_what_is_subscribed_to(monkeypatch) -> None:
    # The first broker of a process shapes the log.
    monkeypatch.setattr(logging.getLogger("faststream.access.rocketmq"), "handlers", [])
    columns = MqframeLogColumns()
    columns.register_subscriber({"topic": "orders", "group": "billing"})
    columns.register_subscriber({"topic": "a-longer-topic", "group": "g"})
    logger = columns.get_logger(context=ContextRepo())
    assert columns.get_logger(context=ContextRepo()) is logger
    assert isinstance(logger, logging.Logger)
    record = logging.LogRecord("n", logging.INFO, "f", 1, "hello", (), None)
    record.__dict__ |= {"topic": "orders", "group": "billing", "message_id": "id-1", "place": "orders/b/0@7"}
    lines = [handler.format(record) for handler in logger.handlers]
    [line] = [line for line in lines if "- orders         | billing | id-1 " in line]
    assert line.endswith(" orders/b/0@7 - hello")
