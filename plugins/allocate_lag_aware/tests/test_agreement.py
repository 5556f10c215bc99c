"""Several members that look at different moments, on a clock that only the tests move."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from mqframe_lagaware import LagAware
from mqframe_testing.allocation_ports import SharedView
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import MqframeError, SettingError
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", broker, i) for broker in ("broker-a", "broker-b") for i in range(4)]
KEY = "lag_aware/orders"
ROUND_SECONDS = 20.0


class Member:
    """One member with a strategy of its own; `queues`: what it decided in its last round."""

    def __init__(self, group: Group, name: str, ahead_ms: int, **options: float) -> None:
        self.name = name
        self.strategy = LagAware(LagAware.Options(**options))
        self.port = group.shared.port(name, ahead_ms=ahead_ms)
        self.queues: list[MessageQueue] = []
        self.failed: list[str] = []
        self._group = group

    async def round(self) -> None:
        names = self._group.names
        try:
            await self.strategy.prepare(self.port, "billing", "orders", QUEUES, names)
        except MqframeError as problem:
            self.failed.append(str(problem))
        self.queues = self.strategy.allocate("billing", self.name, QUEUES, names)
        wishes, self.port.again = self.port.again, []
        for seconds in wishes:
            self._group.wish(self.name, seconds)


class Group:
    def __init__(self, nameservers: int = 1) -> None:
        self.clock = ManualClock()
        self.shared = SharedView(self.clock, dict.fromkeys(QUEUES, 0), nameservers)
        self.members: dict[str, Member] = {}
        self.unsure = 0
        """Seconds in which a queue had two owners, or none."""
        self._due: dict[str, float] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self.members)

    async def join(self, *names: str, ahead_ms: int = 0, **options: float) -> None:
        """All members share anew when one comes, as brokers notify them."""
        for name in names:
            self.members[name] = Member(self, name, ahead_ms, **options)
            self._due[name] = self.clock.monotonic() + len(self.members) * 7 % ROUND_SECONDS
        await self.all_round()

    def wish(self, name: str, seconds: float) -> None:
        self._due[name] = min(self._due[name], self.clock.monotonic() + seconds)

    async def leave(self, name: str) -> None:
        del self.members[name]
        await self.all_round()

    async def all_round(self) -> None:
        for member in list(self.members.values()):
            await member.round()

    async def pass_time(self, seconds: int) -> None:
        """Second by second: rounds every 20 s, those of each member at other times, and those wished for."""
        for _ in range(seconds):
            await self.clock.aadvance(1.0)
            now = self.clock.monotonic()
            for name, member in self.members.items():
                if self._due[name] <= now + 1e-6:
                    self._due[name] = now + ROUND_SECONDS
                    await member.round()
            self.unsure += not self.agree()

    def agree(self) -> bool:
        owned = Counter(queue for member in self.members.values() for queue in member.queues)
        return sorted(owned) == QUEUES and max(owned.values()) == 1

    @property
    def owners(self) -> dict[MessageQueue, str]:
        assert self.agree()
        return {queue: name for name, member in self.members.items() for queue in member.queues}

    @property
    def counts(self) -> list[int]:
        return [len(self.members[name].queues) for name in self.names]

    def kept(self, nameserver: int = 0) -> list[int]:
        """The epochs of the snapshots that a name server keeps."""
        text = self.shared.notes[nameserver].get(KEY)
        return [each["epoch"] for each in json.loads(text)["snapshots"]] if text else []


async def test_a_queue_that_is_far_behind_gets_a_member_to_itself_and_all_switch_together() -> None:
    group = Group()
    await group.join("a", "b", "c")
    assert group.counts == [3, 3, 2]  # as averagely
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(59)
    assert (group.counts, group.kept()) == ([3, 3, 2], [1])
    await group.pass_time(30)
    assert group.members["a"].queues == [QUEUES[0]]
    assert sorted(group.counts) == [1, 3, 4]
    assert group.unsure == 0


async def test_jitter_moves_nothing_and_the_same_lags_are_not_written_again() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags |= {queue: 5000 * (place + 1) for place, queue in enumerate(QUEUES)}
    await group.pass_time(120)
    settled = group.owners
    for step in range(30):
        for place, queue in enumerate(QUEUES):
            jitter = 1 + 0.05 * ((step * 7 + place * 3) % 5 - 2) / 2
            group.shared.lags[queue] = round(5000 * (place + 1) * jitter)
        await group.pass_time(60)
        assert group.owners == settled
    await group.pass_time(200)
    written = sum(len(member.port.written) for member in group.members.values())
    await group.pass_time(600)
    assert sum(len(member.port.written) for member in group.members.values()) == written
    assert group.unsure == 0


async def test_members_that_come_and_go_are_worked_in_without_a_new_snapshot() -> None:
    group = Group()
    await group.join("b", "c")
    group.shared.lags |= {queue: 1000 * place for place, queue in enumerate(QUEUES)}
    await group.pass_time(120)
    before, epochs = group.owners, group.kept()
    await group.join("d")
    assert group.kept() == epochs
    moved = {queue for queue in QUEUES if group.owners[queue] != before[queue]}
    assert {group.owners[queue] for queue in moved} == {"d"}
    await group.leave("d")
    assert set(group.owners.values()) == {"b", "c"}
    assert {queue for queue in QUEUES if group.owners[queue] != before[queue]} <= moved
    assert group.unsure == 0


async def test_when_the_publisher_dies_the_next_one_goes_on() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 50_000
    await group.pass_time(100)
    epoch = group.kept()[-1]
    await group.leave("a")
    assert set(group.owners.values()) == {"b", "c"}
    group.shared.lags[QUEUES[7]] = 900_000
    await group.pass_time(120)
    assert group.kept()[-1] > epoch
    note = json.loads(group.shared.notes[0][KEY])
    assert note["snapshots"][-1]["publisher"] == "b"
    assert group.owners[QUEUES[7]] != group.owners[QUEUES[0]]
    assert group.unsure == 0


async def test_a_publisher_that_dies_between_snapshot_and_start_leaves_it_to_count() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(45)
    assert group.kept() == [1]
    await group.leave("a")
    before = group.owners
    await group.join("d")  # it has not seen how it was before
    assert len(set(group.owners.values())) == 3
    await group.pass_time(40)
    assert group.owners != before
    assert [len(m.queues) for m in group.members.values() if QUEUES[0] in m.queues] == [1]
    assert group.unsure == 0


async def test_without_name_servers_the_last_snapshot_stays() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(100)
    settled = group.owners
    group.shared.all_away()
    group.shared.lags[QUEUES[7]] = 2_000_000
    await group.pass_time(300)
    assert group.owners == settled
    assert all("no name server" in member.failed[-1] for member in group.members.values())
    await group.leave("b")
    assert set(group.owners.values()) == {"a", "c"}
    group.shared.away.clear()
    await group.pass_time(120)
    assert group.counts in ([7, 1], [1, 7])
    assert group.unsure == 0


async def test_a_snapshot_that_was_seen_counts_while_name_servers_are_away() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(58)
    group.shared.all_away()
    await group.pass_time(30)
    assert group.members["a"].queues == [QUEUES[0]]
    assert group.unsure == 0


async def test_a_name_server_that_forgot_is_told_again() -> None:
    group = Group(nameservers=2)
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(100)
    epoch, settled = group.kept(), group.owners
    group.shared.notes = [{}, {KEY: "{from another world"}]
    await group.pass_time(20)
    assert group.kept(0) == group.kept(1) == epoch
    assert group.owners == settled


async def test_of_several_name_servers_any_will_do() -> None:
    group = Group(nameservers=2)
    await group.join("a", "b", "c")
    group.shared.away = {1}
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(45)
    assert (group.kept(0), group.kept(1)) == ([1], [])
    group.shared.away.clear()
    await group.pass_time(20)
    assert group.kept(1) == [1]
    group.shared.away = {0}
    await group.pass_time(30)
    assert group.members["a"].queues == [QUEUES[0]]
    assert group.unsure == 0


async def test_queues_of_a_broker_that_is_away_keep_their_lag() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(100)
    group.shared.away = {"broker-a"}
    group.shared.lags[QUEUES[7]] = 1_000_000
    await group.pass_time(120)
    assert group.members["a"].queues == [QUEUES[0]]
    assert sorted(group.counts) == [1, 1, 6]
    group.shared.away = {"broker-a", "broker-b"}
    settled, epochs = group.owners, group.kept()
    await group.pass_time(200)
    assert (group.owners, group.kept()) == (settled, epochs)
    assert "no broker answered" in group.members["a"].failed[-1]
    assert group.unsure == 0


@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000])
async def test_a_publisher_whose_clock_is_wrong_makes_members_differ_for_seconds_only(ahead_ms: int) -> None:
    group = Group()
    await group.join("a", ahead_ms=ahead_ms)
    await group.join("b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(120)
    assert group.members["a"].queues == [QUEUES[0]]
    assert 0 < group.unsure <= 30
    group.unsure = 0
    await group.pass_time(600)
    assert group.unsure == 0


async def test_two_that_think_to_be_first_end_with_one_snapshot() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    await group.pass_time(29)
    await group.clock.aadvance(1.0)
    # a and b read that there is no note, at once; then each writes its own, b first.
    b, shared = group.members["b"], group.shared
    await b.strategy.prepare(b.port, "billing", "orders", QUEUES, ["b", "c"])
    assert json.loads(shared.notes[0].pop(KEY))["snapshots"][0]["publisher"] == "b"
    await group.members["a"].round()
    await group.pass_time(45)
    assert json.loads(shared.notes[0][KEY])["snapshots"][0]["publisher"] == "a"
    assert len({member.strategy.basis("billing", "orders") for member in group.members.values()}) == 1
    assert [len(m.queues) for m in group.members.values() if QUEUES[0] in m.queues] == [1]
    assert group.unsure == 0


async def test_the_basis_says_which_snapshot_counts() -> None:
    group = Group()
    await group.join("a", "b")
    b = group.members["b"].strategy
    assert b.basis("billing", "orders") == "no snapshot of lags yet: as averagely"
    group.shared.lags[QUEUES[0]] = 7
    await group.pass_time(100)
    assert b.basis("billing", "orders").startswith("snapshot 1 of lags, by a at 2023-11-14T22:13:50")


async def test_a_preview_writes_nothing_and_shows_what_lags_would_do() -> None:
    group = Group()
    await group.join("a", "b", "c")
    group.shared.lags[QUEUES[0]] = 1_000_000
    plan, port = LagAware(), group.shared.port("operator", preview=True)
    await plan.prepare(port, "billing", "orders", QUEUES, group.names)
    assert plan.allocate("billing", "a", QUEUES, group.names) == [QUEUES[0]]
    assert "a first snapshot is still to come" in plan.basis("billing", "orders")
    assert (group.kept(), port.written) == ([], [])
    await group.pass_time(100)
    group.shared.lags[QUEUES[0]] = 0
    plan = LagAware()
    await plan.prepare(port, "billing", "orders", QUEUES, group.names)
    assert plan.allocate("billing", "a", QUEUES, group.names) == group.members["a"].queues
    assert plan.basis("billing", "orders").startswith("snapshot 1 of lags, by a")


def test_an_interval_that_is_not_longer_than_the_lead_is_refused() -> None:
    with pytest.raises(SettingError, match=r"interval_seconds .*= 30: must be more than lead_seconds \(30\)"):
        LagAware(LagAware.Options(interval_seconds=30))
