"""Administration of a cluster: which brokers there are."""

import pytest

from mqframe.core.errors import FixError


def test_brokers_of_a_cluster(admin):
    info = admin.cluster.info()
    assert info.cluster_addr_table == {"DefaultCluster": ["broker-a", "broker-b"]}


def test_masters_are_those_of_all_of_a_cluster_or_of_one_broker(admin, cluster):
    found = admin.cluster.masters()
    assert list(found) == ["broker-a", "broker-b"]
    assert len(set(found.values())) == 2
    assert admin.cluster.masters(cluster="DefaultCluster") == found
    assert admin.cluster.masters(cluster="DefaultCluster", broker="broker-b") == {
        "broker-b": found["broker-b"]
    }
    with pytest.raises(FixError, match="cluster nowhere is not known; known: DefaultCluster"):
        admin.cluster.masters(cluster="nowhere")
