"""The lag of queries, from reports and from a real Spark."""

import json
from threading import Event

from mqframe_spark.lag import Lag, LagListener, lag_of

from mqframe import Message, MessageQueue, Producer

REPORT = json.loads("""
{"id": "dc21d676", "name": "billing", "batchId": 7,
 "sources": [{"endOffset": {"orders": {"broker-a/0": 6, "broker-a/1": 10}},
              "latestOffset": {"orders": {"broker-a/0": 7, "broker-a/1": 13, "broker-b/0": 4}},
              "processedRowsPerSecond": 19.5},
             {"endOffset": {"logs": {"0": 6}}, "latestOffset": {"logs": {"0": 60}},
              "processedRowsPerSecond": 1.0}]}
""")


def test_a_report_says_what_waits_in_each_queue() -> None:
    lag = lag_of(REPORT)
    assert lag == Lag(
        query="billing",
        batch=7,
        messages={
            MessageQueue("orders", "broker-a", 0): 1,
            MessageQueue("orders", "broker-a", 1): 3,
            MessageQueue("orders", "broker-b", 0): 0,
        },
        rows_per_second=20.5,
    )
    assert lag.total == 4
    unnamed = lag_of({**REPORT, "name": None})
    assert unnamed is not None
    assert unnamed.query == "dc21d676"


def test_a_lag_is_written_for_people() -> None:
    queues = {("orders", 0): 3, ("audit", 0): 20, ("orders", 1): 4}
    waiting = {MessageQueue(topic, "broker-a", number): count for (topic, number), count in queues.items()}
    lag = Lag("billing", 7, waiting, 1234.5)
    assert str(lag) == "billing, batch 7: 27 messages wait (audit: 20, orders: 7), 1234 rows/s"


def test_other_sources_have_none() -> None:
    assert lag_of({**REPORT, "sources": REPORT["sources"][1:]}) is None
    assert lag_of({**REPORT, "sources": [{"endOffset": 4, "latestOffset": None}]}) is None


def test_a_listener_is_told_of_each_micro_batch(spark, mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("lagging", 1)
    with Producer(group="p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(10):
            producer.send(Message("lagging", b"%d" % number))
    told: list[Lag] = []
    through = Event()

    def tell(lag: Lag) -> None:
        told.append(lag)
        if not lag.total:
            through.set()

    listener = LagListener(tell)
    spark.streams.addListener(listener)
    try:
        frame = (
            spark.readStream.format("mqframe")
            .options(nameserver=mqframe_shared_cluster.nameserver, topic="lagging", maxOffsetsPerTrigger="4")
            .load()
        )
        query = frame.writeStream.format("noop").queryName("slow").trigger(availableNow=True).start()
        query.awaitTermination(120)
        assert query.exception() is None
        assert through.wait(60)
    finally:
        spark.streams.removeListener(listener)
    queue = MessageQueue("lagging", "broker-a", 0)
    assert {lag.query for lag in told} == {"slow"}
    assert [lag.messages[queue] for lag in told if lag.rows_per_second][:3] == [6, 2, 0]
