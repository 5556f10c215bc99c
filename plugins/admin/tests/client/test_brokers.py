"""Administration of single brokers."""

import pytest
from mqframe_admin.requests import UpdateBrokerConfig

from mqframe import Producer
from mqframe.core.errors import FixError, MqframeError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode


def test_brokers(admin):
    masters = admin.cluster.masters()
    assert sorted(masters) == ["broker-a", "broker-b"]
    address = masters["broker-a"]
    assert admin.brokers.config(address)["brokerName"] == "broker-a"
    admin.brokers.update_config(address, {"brokerPermission": "6"})
    assert admin.brokers.config_origins(address)["brokerPermission"].startswith("changed while it ran, ")
    found = {each.path: each for each in admin.brokers.settings(address)}
    assert (found["broker.permission"].value, found["broker.permission"].changed) == ("6", True)
    admin.brokers.update_config(address, {"fileReservedTime": "5"}, unset=["broker.permission"])
    found = {each.path: each for each in admin.brokers.settings(address)}
    assert not found["broker.permission"].changed
    assert (found["store.keep_hours"].value, found["store.keep_hours"].live) == ("5", True)
    assert "runtime" in admin.brokers.runtime(address)
    with pytest.raises(MqframeError, match="nothing"):
        admin.brokers.update_config(address, {"nothing": "x"})
    with pytest.raises(FixError, match="line breaks"):
        admin.brokers.update_config(address, {"a": "b\nc"})


def test_any_request_goes_to_the_broker_that_is_named(admin):
    for name in ("broker-b", "broker-a"):
        runtime = decode(bytes(admin.brokers.call(name, GetBrokerRuntimeInfo()).body), KVTable)
        assert runtime.table["runtime"].startswith("[ 0 days")
        address = admin.cluster.masters(broker=name)[name]
        assert admin.brokers.runtime(address)["bootTimestamp"] == runtime.table["bootTimestamp"]
    admin.brokers.call("broker-b", UpdateBrokerConfig(), b"maxTransferCountOnBulkPull=777\n")
    configs = {name: admin.brokers.config(address) for name, address in admin.cluster.masters().items()}
    counts = {name: config["maxTransferCountOnBulkPull"] for name, config in configs.items()}
    assert counts["broker-b"] == "777" != counts["broker-a"]
    with pytest.raises(FixError, match="no master of nobody"):
        admin.brokers.call("nobody", GetBrokerRuntimeInfo())


def test_producers_leave_a_broker_that_is_wiped(admin, cluster):
    admin.topics.create("wiped", queues=2)
    assert admin.brokers.wipe_write_permission("broker-b") > 0
    with Producer("other", nameserver=cluster.nameserver) as fresh:
        assert {queue.broker_name for queue in fresh.queues("wiped")} == {"broker-a"}
    assert admin.brokers.add_write_permission("broker-b") > 0
