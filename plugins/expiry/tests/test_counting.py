"""How expired messages are counted and told of."""

from __future__ import annotations

import logging

import pytest
from mqframe_expiry.counting import METRIC, TOLD_AGAIN_SECONDS, ExpiredCount
from mqframe_testing.conformance.hooks import received_message
from mqframe_testing.manual_clock import ManualClock
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

MESSAGES = [received_message(1), received_message(2)]


def test_they_are_counted_by_topic_and_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    counts, clock = ExpiredCount(), ManualClock()
    assert counts.by_topic() == {}
    with caplog.at_level(logging.WARNING, "mqframe"):
        counts.note(MESSAGES, "billing", "skip", clock)
        counts.note(MESSAGES[:1], "billing", "skip", clock)
        clock.advance(TOLD_AGAIN_SECONDS)
        counts.note(MESSAGES[:1], "billing", "skip", clock)
    assert counts.by_topic() == {"orders": 4}
    assert [record.getMessage().count("messages had expired") for record in caplog.records] == [1, 1]


def test_opentelemetry_hears_of_each() -> None:
    reader = InMemoryMetricReader()
    counts = ExpiredCount(MeterProvider([reader]))
    counts.note(MESSAGES, "billing", "dead_letter", ManualClock())
    data = reader.get_metrics_data()
    assert data is not None
    [metric] = data.resource_metrics[0].scope_metrics[0].metrics
    [point] = metric.data.data_points
    assert (metric.name, point.value) == (METRIC, 2)  # type: ignore[union-attr]
    assert point.attributes == {
        "messaging.system": "rocketmq",
        "messaging.destination.name": "orders",
        "messaging.consumer.group.name": "billing",
        "mqframe.expired.then": "dead_letter",
    }


def test_it_works_without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    counts = ExpiredCount()
    counts.note(MESSAGES, "billing", "skip", ManualClock())
    assert counts.by_topic() == {"orders": 2}
