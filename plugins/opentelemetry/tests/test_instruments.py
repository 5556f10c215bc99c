"""Metrics keep to what has few values, and can be off."""

from __future__ import annotations

from mqframe_opentelemetry import names
from mqframe_opentelemetry.instruments import Instruments
from telemetry import Told

TOLD = {
    names.SYSTEM: "rocketmq",
    names.DESTINATION: "orders",
    names.MESSAGE_ID: "one of many",
    names.CLIENT_ID: "one of many",
    names.KEYS: ("o-1",),
}


def record(instruments: Instruments) -> None:
    instruments.sent(2, 0.25, TOLD)
    instruments.sent(0, 0.5, TOLD)
    instruments.delivered(3, TOLD)
    instruments.processed(0.75, TOLD)


def test_figures_and_their_attributes() -> None:
    told = Told()
    record(Instruments(told.meters, on=True))
    kept = {names.SYSTEM: "rocketmq", names.DESTINATION: "orders"}
    [sent] = told.points(names.SENT_MESSAGES)
    assert (sent.value, dict(sent.attributes)) == (2, kept)
    [operation] = told.points(names.OPERATION_DURATION)
    assert (operation.count, operation.sum, dict(operation.attributes)) == (2, 0.75, kept)
    [consumed] = told.points(names.CONSUMED_MESSAGES)
    assert (consumed.value, dict(consumed.attributes)) == (3, kept)
    [process] = told.points(names.PROCESS_DURATION)
    assert (process.count, process.sum, process.explicit_bounds) == (1, 0.75, names.DURATION_BUCKETS)


def test_off_means_off() -> None:
    told = Told()
    record(Instruments(told.meters, on=False))
    assert told.reader.get_metrics_data() is None
