"""Conformance suite of coordination."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from mqframe.core.errors import ClosedError, CoordinationError
from mqframe.hooks.interfaces import Coordination, GroupPlace, Snapshot

CLUSTER: Final = "DefaultCluster"
BROKER: Final = "broker-a"
ANY_BYTES: Final = bytes(range(256))
CLUSTERS: Final = ("a", "a/b", "äß漢")
BROKERS: Final = ("a", "b", "a/b", "b/a", "a/replicas", "a%2Fb", "a b", "aa")
"""Names that an engine may take for one another."""
WAIT_SECONDS_MAX: Final = 30.0
LEASE_SECONDS: Final = 60.0
"""Of leases that are not to end: longer than any wait."""

Check = Callable[..., Awaitable[None]]


def place(member: int, broker: str = BROKER, cluster: str = CLUSTER) -> GroupPlace:
    """The place of `member` in a group, by default the one that the members of a check belong to."""
    return GroupPlace(cluster, broker, member)


def _members(count: int) -> Callable[[Check], Callable[[Any], None]]:
    """A check that is handed the members 1 to `count` of a group, all started, and awaited."""

    def made(check: Check) -> Callable[[Any], None]:
        def test(self: CoordinationConformance) -> None:
            asyncio.run(self.run(check, count))

        test.__doc__ = check.__doc__
        return test

    return made


class CoordinationConformance:
    """One leader at a time, guards that hold, and a lease that takes along what it carries.

    Each test is to find an empty engine: a folder, a prefix or an object of its own. Where the engine's time
    is real each second counts: three tests wait for leases, about three times `ttl_seconds` in all.
    """

    ttl_seconds: float = 2.0
    """For how long leases are asked for that are to end."""

    def make(self) -> Coordination:
        """A fresh object, not started, with the engine of this test. Called in the loop that uses it."""
        raise NotImplementedError

    async def wait(self, seconds: float) -> None:
        """Let `seconds` pass, by the time of the engine; may be cancelled."""
        raise NotImplementedError

    async def run(self, check: Check, count: int) -> None:
        """Start members, hand them to `check`, stop them."""
        members = [self.make() for _ in range(count)]
        try:
            for number, member in enumerate(members, 1):
                await member.start(place(number), LEASE_SECONDS)
            await check(self, *members)
        finally:
            for member in members:
                await member.stop()

    async def soon(self, awaitable: Awaitable[None]) -> None:
        """Wait for `awaitable` while time passes; it is to end by itself."""
        passing = asyncio.ensure_future(self.wait(WAIT_SECONDS_MAX))
        waiting = asyncio.ensure_future(awaitable)
        try:
            await asyncio.wait({passing, waiting}, return_when=asyncio.FIRST_COMPLETED)
            assert waiting.done(), "it did not happen in time"
            await waiting
        finally:
            for each in (passing, waiting):
                each.cancel()
            await asyncio.gather(passing, waiting, return_exceptions=True)

    async def until_gone(self, watching: Coordination, member: int) -> Snapshot:
        """Follow the group until `member` is no longer announced; what is there then."""
        snapshot = await watching.read()
        while member in snapshot.replicas:
            await self.soon(watching.changed())
            snapshot = await watching.read()
        return snapshot

    @_members(2)
    async def test_a_fresh_group_holds_nothing(self, first: Coordination, second: Coordination) -> None:
        """No state, no leader, nobody who announced himself."""
        for each in (first, second):
            assert await each.read() == Snapshot(None, 0, None, {})

    @_members(0)
    async def test_the_granted_time_is_at_least_what_was_asked_for(self) -> None:
        """A broker's own limits follow from what it is told."""
        for seconds in (1.0, 2.5, 7.0):
            member = self.make()
            try:
                assert await member.start(place(1), seconds) >= seconds
            finally:
                await member.stop()

    @_members(2)
    async def test_a_claim_is_seen_by_all(self, first: Coordination, second: Coordination) -> None:
        """State and leader, of one moment, with the version that the claim returned."""
        version = await first.claim(b"state 1", b"leader 1", 0)
        assert version > 0
        for each in (first, second):
            assert await each.read() == Snapshot(b"state 1", version, b"leader 1", {})

    @_members(2)
    async def test_a_claim_is_refused_while_there_is_a_leader(
        self, first: Coordination, second: Coordination
    ) -> None:
        """Though the version is right; the leader itself is refused as well."""
        version = await first.claim(b"state 1", b"leader 1", 0)
        assert version > 0
        assert await second.claim(b"state 2", b"leader 2", version) == 0
        assert await first.claim(b"state 3", b"leader 3", version) == 0
        assert await second.read() == Snapshot(b"state 1", version, b"leader 1", {})

    @_members(2)
    async def test_a_claim_with_another_version_is_refused(
        self, first: Coordination, second: Coordination
    ) -> None:
        """An older one, none though there is a state, and one that never was."""
        assert await second.claim(b"state", b"leader 2", 7) == 0
        older = await first.claim(b"state 1", b"leader 1", 0)
        version = await first.change(b"state 2", older)
        assert version > older
        await first.step_down()
        for other in (0, older, version + 1000):
            assert await second.claim(b"state 3", b"leader 2", other) == 0
        assert await second.read() == Snapshot(b"state 2", version, None, {})
        assert await second.claim(b"state 3", b"leader 2", version) > version

    @_members(3)
    async def test_of_claims_at_once_one_wins(self, *members: Coordination) -> None:
        """State and leader are those of the one that was told so."""
        version = 0
        for round_ in range(5):
            claims = [
                each.claim(b"state %d of %d" % (round_, n), b"leader %d" % n, version)
                for n, each in enumerate(members)
            ]
            versions = await asyncio.gather(*claims)
            won = [n for n, each in enumerate(versions) if each]
            assert len(won) == 1
            assert versions[won[0]] > version
            version = versions[won[0]]
            state, leader = b"state %d of %d" % (round_, won[0]), b"leader %d" % won[0]
            assert await members[won[0] - 1].read() == Snapshot(state, version, leader, {})
            await members[won[0]].step_down()

    @_members(2)
    async def test_the_leader_changes_the_state(self, first: Coordination, second: Coordination) -> None:
        """Versions grow; leader and announcements stay."""
        await second.announce(b"replica 2")
        version = await first.claim(b"state 0", b"leader 1", 0)
        for number in range(1, 4):
            newer = await first.change(b"state %d" % number, version)
            assert newer > version
            version = newer
            seen = Snapshot(b"state %d" % number, version, b"leader 1", {2: b"replica 2"})
            assert await second.read() == seen

    @_members(1)
    async def test_a_change_with_another_version_is_refused(self, first: Coordination) -> None:
        """Of the leader itself."""
        older = await first.claim(b"state 1", b"leader 1", 0)
        version = await first.change(b"state 2", older)
        for other in (0, older, version + 1000):
            assert await first.change(b"state 3", other) == 0
        assert await first.read() == Snapshot(b"state 2", version, b"leader 1", {})

    @_members(2)
    async def test_a_change_by_who_does_not_lead_is_refused(
        self, first: Coordination, second: Coordination
    ) -> None:
        """While nobody leads, while another leads, and one with the leader's number; the version is right."""
        assert await second.change(b"state", 0) == 0
        version = await first.claim(b"state 1", b"leader 1", 0)
        twin = self.make()
        try:
            await twin.start(place(1), LEASE_SECONDS)
            for each in (second, twin):
                assert await each.change(b"state 2", version) == 0
            await first.step_down()
            for each in (first, second, twin):
                assert await each.change(b"state 3", version) == 0
        finally:
            await twin.stop()
        assert await second.read() == Snapshot(b"state 1", version, None, {})

    @_members(2)
    async def test_stepping_down_frees_at_once(self, first: Coordination, second: Coordination) -> None:
        """For anybody, the former leader included; its state, lease and announcement stay."""
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", 0)
        await first.step_down()
        assert await second.read() == Snapshot(b"state 1", version, None, {1: b"replica 1"})
        version = await second.claim(b"state 2", b"leader 2", version)
        assert version > 0
        await second.step_down()
        assert await first.renew()
        assert await first.claim(b"state 3", b"leader 1", version) > version

    @_members(2)
    async def test_only_the_leader_steps_down(self, first: Coordination, second: Coordination) -> None:
        """Others may ask for it, to no effect; also where nobody leads."""
        await second.step_down()
        version = await first.claim(b"state 1", b"leader 1", 0)
        await second.step_down()
        assert await second.read() == Snapshot(b"state 1", version, b"leader 1", {})
        assert await first.change(b"state 2", version) > version

    @_members(2)
    async def test_stopping_frees_at_once(self, first: Coordination, second: Coordination) -> None:
        """And takes the announcement along."""
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", 0)
        await first.stop()
        assert await second.read() == Snapshot(b"state 1", version, None, {})
        assert await second.claim(b"state 2", b"leader 2", version) > version

    @_members(3)
    async def test_announcements_are_seen_by_all(self, *members: Coordination) -> None:
        """Under the numbers of the members; the last one of each counts."""
        for number, each in enumerate(members, 1):
            await each.announce(b"replica %d" % number)
        await members[1].announce(b"replica 2 again")
        replicas = {1: b"replica 1", 2: b"replica 2 again", 3: b"replica 3"}
        for each in members:
            assert await each.read() == Snapshot(None, 0, None, replicas)

    @_members(2)
    async def test_values_are_bytes_of_any_kind(self, first: Coordination, second: Coordination) -> None:
        """All bytes, none at all, and many."""
        version = 0
        for value in (ANY_BYTES, b"", ANY_BYTES * 256):
            await second.announce(value)
            version = await first.claim(value, value, version)
            assert await second.read() == Snapshot(value, version, value, {2: value})
            await first.step_down()

    @_members(2)
    async def test_a_lease_that_is_not_renewed_goes(self, first: Coordination, second: Coordination) -> None:
        """With leader and announcement; the state stays. Who waits for a change is woken."""
        await first.start(place(1), self.ttl_seconds)
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", 0)
        gone = await self.until_gone(second, 1)
        assert gone == Snapshot(b"state 1", version, None, {})
        assert not await first.renew()
        assert await first.change(b"state 2", version) == 0
        assert await first.claim(b"state 2", b"leader 1", version) == 0
        with pytest.raises(CoordinationError) as raised:
            await first.announce(b"replica 1")
        assert not raised.value.maybe_stored
        await first.step_down()
        assert await first.read() == gone
        await first.start(place(1), LEASE_SECONDS)
        await first.announce(b"replica 1 anew")
        version = await first.claim(b"state 2", b"leader 1", version)
        assert await first.change(b"state 3", version) > version
        assert (await first.read()).replicas == {1: b"replica 1 anew"}

    @_members(1)
    async def test_a_lease_that_is_renewed_lives_on(self, first: Coordination) -> None:
        """With all that it carries, beyond the time that it was granted."""
        granted = await first.start(place(1), self.ttl_seconds)
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", 0)
        for _ in range(3):
            await self.wait(granted * 0.45)
            assert await first.renew()
        assert await first.read() == Snapshot(b"state 1", version, b"leader 1", {1: b"replica 1"})
        assert await first.change(b"state 2", version) > version

    @_members(2)
    async def test_starting_anew_gives_up_the_former_lease(
        self, first: Coordination, second: Coordination
    ) -> None:
        """Whoever leads does not after that."""
        await first.announce(b"replica 1")
        version = await first.claim(b"state 1", b"leader 1", 0)
        await first.start(place(1), LEASE_SECONDS)
        assert await second.read() == Snapshot(b"state 1", version, None, {})
        assert await first.change(b"state 2", version) == 0
        assert await second.claim(b"state 2", b"leader 2", version) > version

    @_members(2)
    async def test_a_change_wakes_who_waits(self, first: Coordination, second: Coordination) -> None:
        """Whatever it was."""
        steps: list[Callable[[int], Awaitable[object]]] = [
            lambda _: first.announce(b"replica 1"),
            lambda version: first.force(place(0), b"forced", version),
            lambda version: first.claim(b"state 1", b"leader 1", version),
            lambda version: first.change(b"state 2", version),
            lambda _: first.step_down(),
            lambda version: first.claim(b"state 3", b"leader 1", version),
            lambda _: first.stop(),
        ]
        for step in steps:
            version = (await second.read()).version
            waiting = asyncio.ensure_future(second.changed())
            await asyncio.sleep(0)
            assert await step(version) != 0
            await self.soon(waiting)

    @_members(2)
    async def test_a_change_before_the_waiting_counts(
        self, first: Coordination, second: Coordination
    ) -> None:
        """One since the last read; without a read anything may have changed."""
        await self.soon(second.changed())
        for number in range(3):
            await second.read()
            await first.announce(b"replica %d" % number)
            await self.soon(second.changed())

    @_members(2)
    async def test_waiting_for_a_change_can_be_cancelled(
        self, first: Coordination, second: Coordination
    ) -> None:
        """And begun again."""
        await second.read()
        for _ in range(3):
            waiting = asyncio.ensure_future(second.changed())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        waiting = asyncio.ensure_future(second.changed())
        await first.announce(b"replica 1")
        await self.soon(waiting)
        assert (await second.read()).replicas == {1: b"replica 1"}

    @_members(1)
    async def test_an_operator_writes_the_state_without_leading(self, first: Coordination) -> None:
        """Guarded by the version alone; the leader stays, but its version is old then."""
        operator = self.make()
        try:
            assert await operator.force(place(0), b"forced", 1) == 0
            version = await operator.force(place(0), b"forced", 0)
            assert version > 0
            assert await operator.look(place(0)) == Snapshot(b"forced", version, None, {})
            assert await operator.force(place(0), b"again", 0) == 0
            older, version = version, await first.claim(b"state 1", b"leader 1", version)
            assert version > older
            assert await operator.force(place(0), b"forced", older) == 0
            older, version = version, await operator.force(place(0), b"forced", version)
            assert version > older
            assert await first.change(b"state 2", older) == 0
            assert await first.read() == Snapshot(b"forced", version, b"leader 1", {})
            assert await first.change(b"state 2", version) > version
        finally:
            await operator.stop()

    @_members(0)
    async def test_groups_do_not_see_each_other(self) -> None:
        """Whatever they are called."""
        places = [place(n, broker, cluster) for cluster in CLUSTERS for n, broker in enumerate(BROKERS, 1)]
        members = [self.make() for _ in places]
        try:
            for member, each in zip(members, places, strict=True):
                await member.start(each, LEASE_SECONDS)
                await member.announce(repr(each).encode())
                assert await member.claim(str(each).encode(), b"leader", 0) > 0
            for member, each in zip(members, places, strict=True):
                seen = await member.read()
                assert seen.state == str(each).encode()
                assert seen.replicas == {each.member: repr(each).encode()}
        finally:
            for member in members:
                await member.stop()

    @_members(1)
    async def test_what_is_not_started_or_stopped_says_so(self, first: Coordination) -> None:
        """By `ClosedError`; stopping it again does nothing."""
        fresh = self.make()
        await fresh.stop()
        await first.stop()
        await first.stop()
        for each in (fresh, first):
            calls = (
                each.read(), each.announce(b""), each.claim(b"", b"", 0), each.change(b"", 0),
                each.renew(), each.step_down(), each.changed(),
            )  # fmt: skip
            for told in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(told, ClosedError)
        await first.start(place(1), LEASE_SECONDS)
        assert await first.claim(b"state", b"leader", 0) > 0
