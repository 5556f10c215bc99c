"""Administration of brokers and name servers."""

import pytest

from mqframe import Producer
from mqframe.core.errors import FixError, MqframeError


def test_brokers(admin):
    info = admin.cluster_info()
    assert info.cluster_addr_table == {"DefaultCluster": ["broker-a", "broker-b"]}
    masters = admin.masters()
    assert sorted(masters) == ["broker-a", "broker-b"]
    address = masters["broker-a"]
    assert admin.broker_config(address)["brokerName"] == "broker-a"
    admin.update_broker_config(address, {"brokerPermission": "6"})
    assert admin.broker_config_origins(address) == {
        "brokerPermission": "changed while it ran, changedSettings.json"
    }
    assert "runtime" in admin.broker_runtime(address)
    with pytest.raises(MqframeError, match="nothing"):
        admin.update_broker_config(address, {"nothing": "x"})
    with pytest.raises(FixError, match="line breaks"):
        admin.update_broker_config(address, {"a": "b\nc"})


def test_values_of_the_name_server(admin):
    assert admin.get_kv("ns", "k") is None
    assert admin.list_kv("ns") == {}
    admin.put_kv("ns", "k", "v")
    assert admin.get_kv("ns", "k") == "v"
    assert admin.list_kv("ns") == {"k": "v"}
    admin.delete_kv("ns", "k")
    assert admin.get_kv("ns", "k") is None


def test_producers_leave_a_broker_that_is_wiped(admin, cluster):
    admin.create_topic("wiped", queues=2)
    assert admin.wipe_write_permission("broker-b") > 0
    with Producer("other", nameserver=cluster.nameserver) as fresh:
        assert {queue.broker_name for queue in fresh.queues("wiped")} == {"broker-a"}
    assert admin.add_write_permission("broker-b") > 0
