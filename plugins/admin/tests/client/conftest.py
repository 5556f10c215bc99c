"""A cluster of two brokers, an administrator and a producer, shared by the tests of a file.

`asking`: another that asks for keys, and `operator`, an administrator with keys.
"""

from collections.abc import Iterator

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import Admin, ClientSettings, Producer
from mqframe.net.access.settings import AccessSettings


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


@pytest.fixture(scope="module")
def asking() -> Iterator[Cluster]:
    cluster = Cluster(broker={"operator_port": 0})
    cluster.cluster.enforce(
        AccessSettings(
            authentication="acl2",
            authorization="acl2",
            initial_user="admin:secret78",
            inner_credentials="inner:secret78",
        )
    )
    with cluster:
        yield cluster


@pytest.fixture
def operator(asking: Cluster) -> Iterator[Admin]:
    port = int(asking.broker.operator_address.rpartition(":")[2])
    keys = {"access_key": "admin", "secret_key": "secret78"}
    settings = ClientSettings(nameserver=asking.nameserver, operator_port=port)
    with Admin(client=settings, rpc_hooks=[("acl", keys)]) as made:
        yield made
