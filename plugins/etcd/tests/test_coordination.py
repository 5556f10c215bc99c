"""The contract of coordination with a real etcd, and what happens when that goes away."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable

import pytest
from etcd_servers import EtcdCluster, Paused, coordination, place
from mqframe_etcd import EtcdCoordination
from mqframe_testing.conformance import CoordinationConformance
from mqframe_testing.ports import lasting_port

from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import Coordination, Snapshot

PATIENT_SECONDS = 20.0
"""For calls that are to be answered, however busy the machine is."""


class TestEtcdConformance(CoordinationConformance):
    ttl_seconds = 3.0

    @pytest.fixture(autouse=True)
    def _etcd(self, etcd: EtcdCluster, prefix: str) -> None:
        self.options = {"endpoints": etcd.endpoints, "prefix": prefix, "timeout_seconds": PATIENT_SECONDS}

    def make(self) -> Coordination:
        return coordination(**self.options)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def granted(seconds: float, etcd: EtcdCluster, prefix: str) -> float:
    member = coordination(endpoints=etcd.endpoints, prefix=prefix, timeout_seconds=PATIENT_SECONDS)
    try:
        return await member.start(place(1), seconds)
    finally:
        await member.stop()


async def test_etcd_grants_whole_seconds_and_two_at_least(etcd: EtcdCluster, prefix: str) -> None:
    told = [await granted(seconds, etcd, prefix) for seconds in (0.5, 2.0, 7.1)]
    assert told == [2.0, 2.0, 8.0]


async def test_a_call_takes_a_quarter_of_the_lease_at_most(own_etcd: Callable[..., EtcdCluster]) -> None:
    lease = 8.0
    etcd = own_etcd()
    member = coordination(endpoints=etcd.endpoints, timeout_seconds=PATIENT_SECONDS)
    await member.start(place(1), lease)
    assert await member.read() == Snapshot(None, 0, None, {})
    loop = asyncio.get_running_loop()
    with Paused(etcd.members[0]):
        begun = loop.time()
        with pytest.raises(CoordinationError):
            await member.read()
        took = loop.time() - begun
    assert lease / 4 * 0.9 <= took < PATIENT_SECONDS / 2
    await member.stop()


async def test_a_claim_that_was_not_answered_is_read_back(own_etcd: Callable[..., EtcdCluster]) -> None:
    etcd = own_etcd()
    member = coordination(endpoints=etcd.endpoints)
    await member.start(place(1), 60.0)
    assert (await member.read()).version == 0
    with Paused(etcd.members[0]), pytest.raises(CoordinationError) as raised:
        await member.claim(b"state 1", b"leader 1", 0)
    assert raised.value.maybe_stored
    etcd.wait_for(etcd.members[0])
    seen = await member.read()
    # Whether etcd did it is for etcd to say; whoever it says leads does lead.
    version = seen.version if seen.leader else await member.claim(b"state 1", b"leader 1", seen.version)
    assert await member.change(b"state 2", version) > version
    assert (await member.read())[::2] == (b"state 2", b"leader 1")
    await member.stop()


async def test_what_was_not_sent_is_known_not_to_be_done(prefix: str) -> None:
    nobody = f"http://127.0.0.1:{lasting_port()}"
    member = coordination(endpoints=(nobody,))
    for call in (member.start(place(1), 60.0), member.force(place(0), b"x", 0)):
        with pytest.raises(CoordinationError, match=nobody) as raised:
            await call
        assert not raised.value.maybe_stored
    await member.stop()


async def test_who_stops_while_etcd_is_away_raises_nothing(own_etcd: Callable[..., EtcdCluster]) -> None:
    etcd = own_etcd()
    member = coordination(endpoints=etcd.endpoints)
    await member.start(place(1), 60.0)
    etcd.members[0].kill()
    await member.stop()
    with pytest.raises(ClosedError):
        await member.read()


async def test_what_etcd_forgot_between_a_read_and_a_wait_ends_the_wait(
    etcd: EtcdCluster, prefix: str
) -> None:
    member = coordination(endpoints=etcd.endpoints, prefix=prefix, timeout_seconds=PATIENT_SECONDS)
    await member.start(place(1), 60.0)
    await member.read()
    version = 0
    for number in range(3):
        version = await member.force(place(0), b"state %d" % number, version)
    etcd.call("/v3/kv/compaction", {"revision": str(version)})
    await asyncio.wait_for(member.changed(), PATIENT_SECONDS)
    assert await member.read() == Snapshot(b"state 2", version, None, {})
    await member.stop()


async def test_keys_lie_where_the_specification_says(etcd: EtcdCluster, prefix: str) -> None:
    member = coordination(endpoints=etcd.endpoints, prefix=prefix, timeout_seconds=PATIENT_SECONDS)
    await member.start(place(3), 60.0)
    await member.announce(b"replica 3")
    version = await member.claim(b"state 1", b"leader 3", 0)
    first, end = (b64encode(prefix.encode() + end).decode() for end in (b"/", b"0"))
    told = etcd.call("/v3/kv/range", {"key": first, "range_end": end})["kvs"]
    found = {b64decode(each["key"]).decode(): (b64decode(each["value"]), "lease" in each) for each in told}
    folder = f"{prefix}/DefaultCluster/broker-a"
    assert found == {
        f"{folder}/leader": (b"leader 3", True),
        f"{folder}/replicas/3": (b"replica 3", True),
        f"{folder}/state": (b"state 1", False),
    }
    assert {int(each["mod_revision"]) for each in told if "state" in str(b64decode(each["key"]))} == {version}
    await member.stop()


async def until_answered(member: EtcdCoordination) -> Snapshot:
    """What is there once a call is answered again."""
    async with asyncio.timeout(PATIENT_SECONDS * 3):
        while True:
            try:
                return await member.read()
            except CoordinationError:
                continue


async def test_a_group_outlives_the_leader_of_three_members_of_etcd(
    own_etcd: Callable[..., EtcdCluster],
) -> None:
    etcd = own_etcd(3)
    lost = etcd.members[etcd.leader()]
    endpoints = sorted(etcd.endpoints, key=lambda each: each != lost.endpoint)  # it is asked first
    first, second = (coordination(endpoints=tuple(endpoints), timeout_seconds=3.0) for _ in range(2))
    await first.start(place(1), 60.0)
    await second.start(place(2), 60.0)
    version = await first.claim(b"state 1", b"leader 1", 0)
    await second.read()
    waiting = asyncio.ensure_future(second.changed())
    lost.kill()
    assert await until_answered(second) == Snapshot(b"state 1", version, b"leader 1", {})
    assert await first.renew()
    assert await first.change(b"state 2", version) > version
    # It ends with the stream of the member that was killed, by an error, or by the change.
    await asyncio.wait_for(asyncio.gather(waiting, return_exceptions=True), PATIENT_SECONDS)
    assert await second.renew()
    version = (await second.read()).version
    await first.step_down()
    await asyncio.wait_for(second.changed(), PATIENT_SECONDS)
    assert (await second.read()).leader is None
    assert await second.claim(b"state 3", b"leader 2", version) > version
    # One of three is no majority: nothing is answered, until the others are back.
    gone = next(member for member in etcd.members if member is not lost)
    gone.kill()
    with pytest.raises(CoordinationError):
        await second.read()
    lost.start()
    gone.start()
    seen = await until_answered(second)
    assert (seen.state, seen.leader) == (b"state 3", b"leader 2")
    await first.stop()
    await second.stop()
