"""Quotas of users whom access control finds by their signatures."""

from __future__ import annotations

from pathlib import Path

from mqframe_quotas.bodies import QuotaStates
from mqframe_quotas.requests import ListQuotas
from mqframe_quotas.settings import QuotaSettings
from scenarios.access_scenes import enforcing, keys, sending, signing

from mqframe import AsyncAdmin
from mqframe.core.wire.loose_json import decode

DEBT = "user:alice send_bytes=1"
"""What is sent first passes and is owed for a quarter of an hour: no machine is slow enough for the next."""


async def test_a_signature_says_whose_quota_it_is(tmp_path: Path) -> None:
    sections = [QuotaSettings(limits=(DEBT, "user:* send_bytes=1000000"))]
    async with enforcing(tmp_path, broker={"services": ("quotas",)}, sections=sections) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver, rpc_hooks=keys("admin")) as admin:
            await admin.topics.create("orders", queues=1)
            for user in ("alice", "bob"):
                await admin.users.create(user, "secret")
                await admin.policies.set(user, ["Topic:orders"], actions=["Pub"])
        address = cluster.broker.address
        async with signing("alice") as alice, signing("bob") as bob, signing("admin") as operator:
            codes = [(await alice.invoke(address, sending("orders"), b"x" * 1000)).code for _ in range(3)]
            assert codes == [0, 2, 2]
            codes = [(await bob.invoke(address, sending("orders"), b"y")).code for _ in range(20)]
            assert codes == [0] * 20
            answer = await operator.invoke(address, ListQuotas())
            found = {each.quota.name: each for each in decode(bytes(answer.body), QuotaStates).quotas}
            refused = await bob.invoke(address, ListQuotas())
        assert cluster.broker.store.queues.max_offset("orders", 0) == 21
        assert found["alice"].used["send_bytes"] == 1000
        assert found["alice"].throttled["send_bytes"] == 2
        assert found["*"].used["send_messages"] == 20
        assert refused.code == 16, "who may not ask about the cluster may not ask about its quotas"
