"""Which brokers administration calls."""

import pytest

from mqframe.core.errors import FixError
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, UpdateBrokerConfig
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode


def test_any_request_goes_to_the_broker_that_is_named(admin):
    for name in ("broker-b", "broker-a"):
        runtime = decode(bytes(admin.call_broker(name, GetBrokerRuntimeInfo()).body), KVTable)
        assert runtime.table["runtime"].startswith("[ 0 days")
        address = admin.masters(broker=name)[name]
        assert admin.broker_runtime(address)["bootTimestamp"] == runtime.table["bootTimestamp"]
    admin.call_broker("broker-b", UpdateBrokerConfig(), b"maxTransferCountOnBulkPull=777\n")
    configs = {name: admin.broker_config(address) for name, address in admin.masters().items()}
    counts = {name: config["maxTransferCountOnBulkPull"] for name, config in configs.items()}
    assert counts["broker-b"] == "777" != counts["broker-a"]
    with pytest.raises(FixError, match="no master of nobody"):
        admin.call_broker("nobody", GetBrokerRuntimeInfo())


def test_masters_are_those_of_all_of_a_cluster_or_of_one_broker(admin, cluster):
    found = admin.masters()
    assert list(found) == ["broker-a", "broker-b"]
    assert len(set(found.values())) == 2
    assert admin.masters(cluster="DefaultCluster") == found
    assert admin.masters(cluster="DefaultCluster", broker="broker-b") == {"broker-b": found["broker-b"]}
    with pytest.raises(FixError, match="cluster nowhere is not known; known: DefaultCluster"):
        admin.masters(cluster="nowhere")
