"""Metrics of Apache's own broker, and ours after the same messages: names, labels, and what they count."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest
from mqframe_metrics import BrokerSource
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port
from prometheus_client.parser import text_string_to_metric_families
from real_time import until
from scrapes import scrape

from interop.apache import Apache
from mqframe import Message, Producer, SimpleConsumer

Samples = list[tuple[str, dict[str, str], float]]
NOT_HERE = {
    "rocketmq_pop_buffer_scan_time_consume_milliseconds",
    "rocketmq_processor_watermark",
    "rocketmq_topic_create_execution_time_milliseconds",
}
"""What has no meaning here; the documentation says why."""


@pytest.fixture(scope="module")
def theirs(newest_class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Samples]:
    port = lasting_port()
    conf = f"metricsExporterType=PROM\nmetricsPromExporterHost=127.0.0.1\nmetricsPromExporterPort={port}\n"
    with Apache(newest_class_path, tmp_path_factory.mktemp("measured"), conf=conf) as running:
        use(running.servers.nameserver)

        def read() -> Samples:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                return samples(answer.read().decode())

        until(lambda: any(name == "rocketmq_timer_enqueue_total" for name, *_ in read()))
        yield read()


@pytest.fixture(scope="module")
def ours() -> Iterator[Samples]:
    with Cluster() as running:
        metrics = BrokerSource(running.broker)
        use(running.nameserver)

        def read() -> Samples:
            return samples(running.run(scrape(metrics)))

        until(lambda: any(name == "rocketmq_timer_enqueue_total" for name, *_ in read()))
        yield read()


def use(nameserver: str) -> None:
    """Send, delay, pop and acknowledge."""
    with Producer(group="shop", nameserver=nameserver) as producer:
        for size in (10, 2000, 2000):
            producer.send(Message("measured", b"x" * size))
        producer.send(Message("measured", b"later"), delay=300)
        with SimpleConsumer(
            group="measuring", nameserver=nameserver, consume_from="first", await_duration=5.0
        ) as consumer:
            consumer.subscribe("measured")
            got = 0
            while got < 3:
                for message in consumer.receive(1):
                    consumer.ack(message)
                    got += 1


def samples(text: str) -> Samples:
    """Name, labels and value of each sample; types that Apache's exporter gives other names are left out."""
    kept = [line for line in text.splitlines() if not line.startswith(("# HELP", "# TYPE target", "target_"))]
    return [
        (sample.name, {k: v for k, v in sample.labels.items() if k != "otel_scope_name"}, sample.value)
        for family in text_string_to_metric_families("\n".join(kept) + "\n")
        for sample in family.samples
        if sample.name.startswith("rocketmq_")
    ]  # fmt: skip


def labels_by_name(found: Samples) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for name, labels, _ in found:
        names.setdefault(name, set()).update(labels)
    return names


def test_all_that_apache_s_broker_shows_is_shown_under_the_same_names(theirs: Samples, ours: Samples) -> None:
    wanted, found = labels_by_name(theirs), labels_by_name(ours)
    ends = ("", "_bucket", "_sum", "_count")
    left_out = {name + end for name in NOT_HERE for end in ends}
    assert len(wanted) > 30
    missing = {name for name in wanted if name not in found} - left_out
    # What it writes at once for each pop is written here only for what stays in flight.
    assert missing <= {"rocketmq_pop_revive_in_message_total"}
    for name in wanted.keys() & found.keys():
        assert wanted[name] - {"is_retry"} <= found[name], name


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("rocketmq_messages_in_total", {"message_type": "normal"}),
        ("rocketmq_message_size_count", {"message_type": "normal"}),
        ("rocketmq_message_size_bucket", {"message_type": "normal", "le": "1024.0"}),
        ("rocketmq_messages_out_total", {"consumer_group": "measuring"}),
        ("rocketmq_timer_enqueue_total", {}),
        ("rocketmq_timing_messages", {}),
        ("rocketmq_consumer_lag_messages", {"consumer_group": "measuring", "is_retry": "false"}),
        ("rocketmq_consumer_inflight_messages", {"consumer_group": "measuring", "is_retry": "false"}),
        ("rocketmq_consumer_ready_messages", {"consumer_group": "measuring", "is_retry": "false"}),
    ],
)
def test_both_count_the_same(theirs: Samples, ours: Samples, name: str, where: dict[str, str]) -> None:
    def value(found: Samples) -> list[float]:
        wanted = {"topic": "measured", **where}.items()
        return [number for each, labels, number in found if each == name and wanted <= labels.items()]

    assert value(ours) == value(theirs) != []
