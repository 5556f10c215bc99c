"""A pytest plugin: clusters as fixtures. Registered by the distribution; nothing has to be imported.

The cluster itself is imported by the first fixture that is used, so that other test runs do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

import pytest

if TYPE_CHECKING:
    from mqframe.client.consuming.push.blocking_consumer import PushConsumer
    from mqframe.client.sending.blocking_producer import Producer
    from mqframe_testing.cluster import Cluster, ClusterOptions
    from mqframe_testing.manual_clock import ManualClock
    from mqframe_testing.stage import Stage


@pytest.fixture
def mqframe_cluster() -> Iterator[Cluster]:
    """A name server and one broker in a thread of their own, new for each test."""
    with _cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def mqframe_shared_cluster() -> Iterator[Cluster]:
    """As `mqframe_cluster`, one for all tests of the run: use topic and group names of your own."""
    with _cluster() as cluster:
        yield cluster


@pytest.fixture
def mqframe_cluster_factory() -> Iterator[Callable[..., Cluster]]:
    """Makes started clusters with the arguments of `Cluster`; they stop with the test."""
    made: list[Cluster] = []

    def make(brokers: int = 1, **options: Unpack[ClusterOptions]) -> Cluster:
        cluster = _cluster(brokers, **options)
        cluster.start()
        made.append(cluster)
        return cluster

    yield make
    for cluster in reversed(made):
        cluster.stop()


@pytest.fixture
def mqframe_stage() -> Iterator[Stage]:
    """A name server and one broker whose time the test moves, new for each test."""
    from mqframe_testing.stage import Stage

    with Stage() as stage:
        yield stage


@pytest.fixture
def mqframe_clock(mqframe_stage: Stage) -> ManualClock:
    """The clock of `mqframe_stage`."""
    return mqframe_stage.clock


@pytest.fixture
def mqframe_producer(mqframe_stage: Stage) -> Iterator[Producer]:
    """A producer of `mqframe_stage`, started."""
    from mqframe.client.sending.blocking_producer import Producer

    with Producer(group="mqframe-tests", nameserver=mqframe_stage.nameserver) as producer:
        yield producer


@pytest.fixture
def mqframe_consumer(mqframe_stage: Stage) -> Iterator[Callable[..., PushConsumer]]:
    """Makes push consumers of `mqframe_stage` with the arguments of `PushConsumer`; they stop with the test.

    New groups begin with the oldest message. They are to be started once they have subscribed.
    """
    from mqframe.client.consuming.push.blocking_consumer import PushConsumer

    made: list[PushConsumer] = []

    def make(group: str, **options: Any) -> PushConsumer:
        options = {"nameserver": mqframe_stage.nameserver, "consume_from": "first", **options}
        consumer = PushConsumer(group, **options)
        made.append(consumer)
        return consumer

    yield make
    for consumer in reversed(made):
        consumer.stop()


def _cluster(brokers: int = 1, **options: Unpack[ClusterOptions]) -> Cluster:
    from mqframe_testing.cluster import Cluster

    return Cluster(brokers, **options)
