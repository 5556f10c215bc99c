"""A pytest plugin: clusters as fixtures. Registered by the distribution; nothing has to be imported.

The cluster itself is imported by the first fixture that is used, so that other test runs do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Unpack

import pytest

if TYPE_CHECKING:
    from mqframe.testing.cluster import Cluster, ClusterOptions


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


def _cluster(brokers: int = 1, **options: Unpack[ClusterOptions]) -> Cluster:
    from mqframe.testing.cluster import Cluster

    return Cluster(brokers, **options)
