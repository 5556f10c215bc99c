"""A cluster of two brokers, an administrator and a producer, shared by the tests of a file."""

import pytest

from mqframe import Admin, Producer
from mqframe.testing.cluster import Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(2) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    with Admin(nameserver=cluster.nameserver) as made:
        yield made


@pytest.fixture(scope="module")
def producer(cluster):
    with Producer("shop", nameserver=cluster.nameserver) as made:
        yield made
