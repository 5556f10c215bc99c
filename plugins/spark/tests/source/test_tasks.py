"""What a task makes of a queue that is gone."""

import pytest
from mqframe_spark import wire as wires
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import DataLoss, Span
from mqframe_spark.source.tasks import QueueSpan, read_partition

from mqframe.core.errors import FixError, RouteError
from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("t", "a", 0)
PARTITION = QueueSpan(Span(QUEUE, 3, 7))


@pytest.fixture
def connected(wire, monkeypatch):
    monkeypatch.setattr(wires, "connect", lambda *given: wire)
    return wire


def read(**options) -> list[int]:
    chosen = SourceOptions("n:1", topics=("t",), **options)
    batches = read_partition(chosen, PARTITION)
    return [offset for batch in batches for offset in batch.column("queue_offset").to_pylist()]


def test_a_deleted_topic_is_a_loss_or_told(connected, caplog) -> None:
    connected.add(0, 9)
    connected.deleted.add("t")
    connected.faults = [FixError("broker a answered 17 TOPIC_NOT_EXIST")]
    with pytest.raises(
        DataLoss, match="topic t, broker a, queue 0: offset 3 is needed, but the topic is gone"
    ):
        read()
    connected.faults = [FixError("broker a answered 17 TOPIC_NOT_EXIST")]
    assert read(fail_on_data_loss=False) == []
    assert "offset 3 is needed, but the topic is gone" in caplog.text
    assert connected.closed


def test_a_queue_made_anew_is_a_loss_or_told(connected, caplog) -> None:
    connected.add(0, 2)
    with pytest.raises(DataLoss, match="offset 3 is needed, but the queue ends at 2"):
        read()
    assert read(fail_on_data_loss=False) == []
    assert "the queue ends at 2" in caplog.text


@pytest.mark.parametrize("there", [True, False])
def test_other_faults_stay_what_they_are(connected, there) -> None:
    connected.add(0, 9)
    if not there:
        connected.deleted |= {"t", "a"}  # the broker is away, and its topics with it
    connected.faults = [FixError("this may not be read")]
    with pytest.raises(FixError, match=r"^this may not be read$"):
        read(fail_on_data_loss=False)


def test_a_broker_that_stays_away_is_no_loss(connected) -> None:
    connected.add(0, 9)
    connected.deleted |= {"t", "a"}
    connected.faults = [RouteError("no route")]
    with pytest.raises(RouteError, match=r"^no route$"):
        read(fail_on_data_loss=False, retries=0)
