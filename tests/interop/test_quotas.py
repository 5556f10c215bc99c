"""Java's clients at a broker with quotas: they go on, and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_testing import Cluster

from mqframe import Admin

mqframe_quotas = pytest.importorskip("mqframe_quotas", reason="the plugin is not installed")
GROUPS = ("group:java_senders send_messages=20", "group:java_readers read_messages=20")


@pytest.fixture
def limited() -> Iterator[Cluster]:
    """A cluster that limits what Java's clients here send and read."""
    sections = [mqframe_quotas.QuotaSettings(limits=GROUPS)]
    with Cluster(broker={"services": ("quotas",)}, sections=sections) as running:
        running.create_topic("limited", queues=2)
        yield running


@pytest.mark.proves("sending")
def test_java_goes_on_and_loses_nothing(java, limited: Cluster) -> None:
    reader = java("consume", limited.nameserver, "limited", "java_readers", "*", "clustering")
    reader.take("started", 1)
    lines = java("Quotas", limited.nameserver, "java_senders", "limited", "60").finish()
    sent = [line[2] for line in lines if line[0] == "sent"]
    refused = [line for line in lines if line[0] == "refused"]
    assert sent == [str(n) for n in range(60)]
    assert refused, "20 at once, and 20 a second"
    assert {line[1] for line in refused} == {"2"}
    assert all("[QUOTA] group java_senders may send 20 messages a second" in line[3] for line in refused)
    got = [line[7] for line in reader.take("got", 60)]
    assert sorted(got) == sorted(f"java-{n}" for n in range(60))
    assert [line[0] for line in reader.finish()] == ["stopped"], "none of them came twice"
    with Admin(nameserver=limited.nameserver) as admin:
        assert sum(queue.max_offset for queue in admin.topics.stats("limited").values()) == 60
        states = {state.quota.name: state for state in mqframe_quotas.QuotasAdmin(admin).list()}
    assert states["java_senders"].used["send_messages"] == 60
    assert states["java_readers"].used["read_messages"] == 60
    assert states["java_readers"].throttled["read_messages"] > 0
