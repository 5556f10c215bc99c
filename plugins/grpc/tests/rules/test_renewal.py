"""The table of `Renewals`, by example, and against a plain model that looks at everything each time."""

import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import mqframe_grpc
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.renewal import InWork, Renewals
from mqframe_pop.rules.receipt_handle import ReceiptHandle

MINUTE = 60_000
HOUR = 60 * MINUTE


def handle(
    offset: int = 0, pop_time: int = 0, mark: str = "0", broker: str = "b", queue: int = 0
) -> DoorHandle:
    return DoorHandle(ReceiptHandle(0, pop_time, MINUTE, 0, mark, broker, queue, offset), 1000 + offset)


def deliver(renewals: Renewals, of: DoorHandle | None = None, now_ms: int = 0, client: str = "c") -> InWork:
    return renewals.deliver(client, "g", "t", "id", of or handle(), now_ms)


def take(renewals: Renewals, of: DoorHandle | None = None, client: str = "c") -> InWork | None:
    return renewals.take(client, "g", "t", "id", of or handle())


def test_nothing_is_due_of_what_was_acknowledged() -> None:
    renewals = Renewals()
    entry = renewals.deliver("c", "g", "t", "id", handle(), 5, reconsume_times=2)
    assert (len(renewals), renewals.members) == (1, [("c", "g")])
    assert [renewals.has(*who) for who in (("c", "g"), ("c", "h"), ("d", "g"))] == [True, False, False]
    assert (entry.delivered_ms, entry.ends_ms, entry.due_ms, entry.reconsume_times) == (5, 60_005, 50_005, 2)
    assert take(renewals) is entry
    assert (entry.gone, entry.renewing, entry.handle) == (True, False, handle())
    assert (len(renewals), renewals.members, take(renewals)) == (0, [], None)
    assert not renewals.has("c", "g")
    assert renewals.due(HOUR) == ([], [])


def test_a_message_in_work_is_hidden_for_another_minute_ten_seconds_before_its_end() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    assert renewals.due(49_999) == ([], [])
    assert renewals.due(50_000) == ([entry], [])
    assert renewals.due(50_000) == ([], [])
    assert renewals.renewed(entry, handle(pop_time=50_010), 50_020)
    assert (entry.handle, entry.ends_ms) == (handle(pop_time=50_010), 110_020)
    assert renewals.due(100_019) == ([], [])
    assert renewals.due(100_020) == ([entry], [])


def test_an_acknowledgement_by_the_first_handle_finds_the_newest() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    renewals.due(50_000)
    renewals.renewed(entry, handle(pop_time=7), 50_001)
    found = take(renewals, handle(pop_time=0))
    assert found is entry
    assert found.handle == handle(pop_time=7)


@pytest.mark.parametrize("succeeds", [True, False])
def test_an_acknowledgement_during_a_renewal_gets_whatever_handle_comes_of_it(succeeds: bool) -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    renewals.due(50_000)
    found = take(renewals)
    assert found is entry
    assert (found.renewing, found.gone, len(renewals)) == (True, True, 0)
    if succeeds:
        assert not renewals.renewed(entry, handle(pop_time=7), 50_001)
    else:
        assert not renewals.failed(entry, 50_001)
    assert (entry.renewing, entry.handle.handle.pop_time) == (False, 7 if succeeds else 0)
    assert renewals.due(HOUR) == ([], [])


def test_a_renewal_is_tried_three_times_in_the_ten_seconds_that_there_are() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    for now_ms in (50_000, 52_500, 55_000):
        assert renewals.due(now_ms - 1) == ([], [])
        assert renewals.due(now_ms) == ([entry], [])
        assert renewals.failed(entry, now_ms) == (now_ms < 55_000)
    assert (entry.gone, len(renewals), take(renewals)) == (True, 0, None)
    assert renewals.due(HOUR) == ([], [])


def test_only_failures_in_a_row_count() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    renewals.due(50_000)
    renewals.failed(entry, 50_000)
    renewals.due(52_500)
    renewals.failed(entry, 52_500)
    renewals.due(55_000)
    renewals.renewed(entry, handle(), 55_000)
    renewals.due(105_000)
    assert renewals.failed(entry, 105_000)


def test_what_is_not_ours_any_more_is_let_go_at_once() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    renewals.due(50_000)
    assert not renewals.failed(entry, 50_000, ours=False)
    assert (entry.gone, len(renewals), renewals.due(HOUR)) == (True, 0, ([], []))


def test_after_three_hours_a_message_is_let_go() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    for now_ms in range(50_000, 3 * HOUR, 50_000):
        assert renewals.due(now_ms) == ([entry], [])
        renewals.renewed(entry, handle(), now_ms)
    assert renewals.due(3 * HOUR) == ([], [entry])
    assert (entry.gone, entry.renewing, len(renewals), take(renewals)) == (True, False, 0, None)


@pytest.mark.parametrize(
    "other",
    [
        ("d", "g", "t", "id", handle()),
        ("c", "h", "t", "id", handle()),
        ("c", "g", "u", "id", handle()),
        ("c", "g", "t", "di", handle()),
        ("c", "g", "t", "id", handle(1)),
        ("c", "g", "t", "id", handle(mark="1")),
        ("c", "g", "t", "id", handle(broker="a")),
        ("c", "g", "t", "id", handle(queue=1)),
    ],
)
def test_deliveries_are_told_apart(other: tuple[str, str, str, str, DoorHandle]) -> None:
    renewals = Renewals()
    one, two = deliver(renewals), renewals.deliver(*other, 0)
    assert len(renewals) == 2
    assert renewals.take(*other) is two
    assert (renewals.take(*other), take(renewals), take(renewals)) == (None, one, None)


def test_of_a_message_that_is_delivered_again_the_newer_delivery_counts() -> None:
    renewals = Renewals()
    older = deliver(renewals)
    newer = deliver(renewals, handle(pop_time=70_000), 70_000)
    assert (older.gone, newer.gone, len(renewals)) == (True, False, 1)
    assert renewals.due(70_000) == ([], [])
    assert take(renewals, handle(pop_time=0)) is newer


def test_a_renewal_of_a_delivery_that_was_replaced_ends_in_nothing() -> None:
    renewals = Renewals()
    older = deliver(renewals)
    renewals.due(50_000)
    newer = deliver(renewals, handle(pop_time=51_000), 51_000)
    assert not renewals.renewed(older, handle(pop_time=52_000), 52_000)
    assert (len(renewals), newer.handle.handle.pop_time) == (1, 51_000)
    assert renewals.due(101_000) == ([newer], [])


def test_what_a_client_had_in_work_is_given_back_when_it_is_gone() -> None:
    renewals = Renewals()
    one, two = deliver(renewals), deliver(renewals, handle(1))
    renewals.due(50_000)
    three = deliver(renewals, handle(2), 50_000)
    other = renewals.deliver("c", "h", "t", "id", handle(), 50_000)
    stranger = deliver(renewals, client="d", now_ms=50_000)
    assert sorted(renewals.members) == [("c", "g"), ("c", "h"), ("d", "g")]
    given = renewals.give_back("c", "g")
    assert given == [one, two, three]
    assert [(each.renewing, each.gone) for each in given] == [(True, True), (True, True), (False, True)]
    assert renewals.give_back("c") == [other]
    assert (renewals.give_back("c"), renewals.members) == ([], [("d", "g")])
    assert renewals.due(HOUR) == ([stranger], [])


def test_what_could_not_be_acknowledged_is_put_back() -> None:
    renewals = Renewals()
    entry = deliver(renewals)
    renewals.due(50_000)
    renewals.renewed(entry, handle(pop_time=7), 50_000)
    assert take(renewals) is entry
    assert renewals.put_back(entry)
    assert not renewals.put_back(entry)
    assert renewals.due(100_000) == ([entry], [])
    assert take(renewals) is entry
    assert renewals.put_back(entry)
    assert (entry.renewing, len(renewals), renewals.due(HOUR)) == (True, 1, ([], []))
    assert renewals.renewed(entry, handle(pop_time=8), 100_000)
    assert take(renewals, handle()) is entry


def test_what_was_delivered_anew_is_not_put_back() -> None:
    renewals = Renewals()
    older = deliver(renewals)
    take(renewals)
    newer = deliver(renewals, handle(pop_time=5), 5)
    assert not renewals.put_back(older)
    assert take(renewals) is newer


def test_no_more_is_given_at_once_than_wanted() -> None:
    renewals = Renewals()
    entries = [deliver(renewals, handle(number), number * 400) for number in range(10)]
    assert renewals.due(HOUR, 0) == ([], [])
    assert renewals.due(HOUR, 4) == (entries[:4], [])
    assert renewals.due(HOUR, 4) == (entries[4:8], [])
    assert renewals.due(HOUR, 4) == (entries[8:], [])


@pytest.mark.parametrize(("renew_ms", "ahead_ms", "tries"), [(10, 10, 3), (10, -1, 3), (10, 5, 0)])
def test_times_that_cannot_be_kept_are_refused(renew_ms: int, ahead_ms: int, tries: int) -> None:
    with pytest.raises(ValueError, match=f"{tries} tries to renew for {renew_ms} ms, {ahead_ms} ms ahead"):
        Renewals(renew_ms, ahead_ms, tries=tries)


def test_nothing_is_kept_of_what_is_not_in_flight() -> None:
    renewals = Renewals()
    tracemalloc.start()
    try:
        for number in range(20_000):
            client = f"client-{number}"
            deliver(renewals, now_ms=number * 37, client=client)
            take(renewals, client=client)
        snapshot = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    # Other threads of the process take memory, too.
    ours = [tracemalloc.Filter(True, path) for path in (__file__, f"{Path(mqframe_grpc.__file__).parent}/*")]
    kept = sum(trace.size for trace in snapshot.filter_traces(ours).traces)
    assert kept < 20_000


@dataclass(eq=False)
class Modelled:
    entry: InWork
    key: tuple[str, str, int]
    delivered: int
    ends: int
    due: int
    newest: int
    failures: int = 0
    renewing: bool = False


class RenewalMachine(RuleBasedStateMachine):
    """`Renewals` beside a list of all that is in work, of which nothing is looked up by anything."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = Renewals(MINUTE, 10_000, max_ms=150_000, tries=3)
        self.now = 0
        self.serial = 0
        self.work: list[Modelled] = []
        self.taken: list[Modelled] = []
        self.changing: list[Modelled] = []

    keys = st.tuples(st.sampled_from("ab"), st.sampled_from("gh"), st.integers(0, 2))

    def find(self, key: tuple[str, str, int]) -> Modelled | None:
        return next((each for each in self.work if each.key == key), None)

    def take_out(self, modelled: Modelled) -> None:
        self.work.remove(modelled)
        self.taken.append(modelled)

    @rule(key=keys)
    def deliver(self, key: tuple[str, str, int]) -> None:
        client, group, offset = key
        self.serial += 1
        entry = self.renewals.deliver(client, group, "t", "id", handle(offset, self.serial), self.now)
        old = self.find(key)
        if old is not None:
            self.take_out(old)
        self.work.append(Modelled(entry, key, self.now, self.now + MINUTE, self.now + 50_000, self.serial))

    @rule(key=keys)
    def take(self, key: tuple[str, str, int]) -> None:
        client, group, offset = key
        found = self.renewals.take(client, group, "t", "id", handle(offset))
        expected = self.find(key)
        assert found is (expected and expected.entry)
        if expected is not None:
            self.take_out(expected)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        modelled = data.draw(st.sampled_from(self.taken))
        free = self.find(modelled.key) is None
        assert self.renewals.put_back(modelled.entry) == free
        if free:
            self.taken.remove(modelled)
            self.work.append(modelled)
            if not modelled.renewing:
                modelled.due = modelled.ends - 10_000

    @rule(client=st.sampled_from("ab"), group=st.sampled_from(["g", "h", None]))
    def give_back(self, client: str, group: str | None) -> None:
        expected = [each for each in self.work if each.key[0] == client and group in (None, each.key[1])]
        found = self.renewals.give_back(client, group)
        assert set(found) == {each.entry for each in expected}
        assert len(found) == len(expected)
        for each in expected:
            self.take_out(each)

    @rule(ms=st.one_of(st.integers(0, 3_000), st.integers(0, 70_000)))
    def wait(self, ms: int) -> None:
        self.now += ms

    @rule(most=st.one_of(st.none(), st.integers(0, 3)))
    def ask(self, most: int | None) -> None:
        ready = {each.entry: each for each in self.work if not each.renewing and each.due <= self.now}
        renew, let_go = self.renewals.due(self.now, most)
        given = [*renew, *let_go]
        assert len(given) == len(set(given)) == (len(ready) if most is None else min(most, len(ready)))
        for entry in given:
            modelled = ready[entry]
            if self.now - modelled.delivered >= 150_000:
                assert entry in let_go
                self.take_out(modelled)
            else:
                assert entry in renew
                modelled.renewing = True
                self.changing.append(modelled)

    @precondition(lambda self: self.changing)
    @rule(data=st.data())
    def renewed(self, data: st.DataObject) -> None:
        modelled = self.changing.pop(data.draw(st.integers(0, len(self.changing) - 1)))
        self.serial += 1
        new = handle(modelled.key[2], self.serial)
        assert self.renewals.renewed(modelled.entry, new, self.now) == (modelled in self.work)
        modelled.renewing, modelled.failures, modelled.newest = False, 0, self.serial
        modelled.ends, modelled.due = self.now + MINUTE, self.now + 50_000

    @precondition(lambda self: self.changing)
    @rule(data=st.data(), ours=st.booleans())
    def failed(self, data: st.DataObject, ours: bool) -> None:
        modelled = self.changing.pop(data.draw(st.integers(0, len(self.changing) - 1)))
        again = self.renewals.failed(modelled.entry, self.now, ours=ours)
        modelled.renewing = False
        if modelled not in self.work:
            assert not again
            return
        modelled.failures += 1
        assert again == (ours and modelled.failures < 3)
        if again:
            modelled.due = self.now + 2_500
        else:
            self.take_out(modelled)

    @invariant()
    def what_is_known_agrees(self) -> None:
        assert len(self.renewals) == len(self.work)
        assert set(self.renewals.members) == {each.key[:2] for each in self.work}
        for known, gone in ((self.work, False), (self.taken, True)):
            for each in known:
                entry = each.entry
                assert (entry.gone, entry.renewing, entry.ends_ms) == (gone, each.renewing, each.ends)
                assert (entry.client, entry.group) == each.key[:2]
                assert entry.handle == handle(each.key[2], each.newest)

    def teardown(self) -> None:
        for client in "ab":
            self.renewals.give_back(client)
        assert (len(self.renewals), self.renewals.due(1 << 40)) == (0, ([], []))


TestRenewalMachine = RenewalMachine.TestCase
TestRenewalMachine.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
