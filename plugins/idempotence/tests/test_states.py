"""The table of states against a plain model, on a clock that is moved."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_idempotence.states import StateTable
from mqframe_idempotence.stores import Claim
from mqframe_testing.manual_clock import ManualClock

LEASE_MS, KEEP_MS = 30_000, 600_000
KEYS = st.sampled_from(["a", "b", "c"])
HOLDERS = st.sampled_from(["h1", "h2", "h3"])


class Table(RuleBasedStateMachine):
    """`held`: key to (holder, end of the lease); `done`: key to the end of its time; ms."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.table = StateTable(self.clock.now_ms, LEASE_MS, KEEP_MS, 100)
        self.held: dict[str, tuple[str, int]] = {}
        self.done: dict[str, int] = {}

    def forget(self) -> int:
        now = self.clock.now_ms()
        self.held = {key: held for key, held in self.held.items() if now < held[1]}
        self.done = {key: end for key, end in self.done.items() if now < end}
        return now

    @rule(seconds=st.sampled_from([0.001, 1, 10, 29.999, 30, 31, 599, 600, 601]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(key=KEYS, holder=HOLDERS)
    def claim(self, key: str, holder: str) -> None:
        now = self.forget()
        found = self.table.claim(key, holder)
        if key in self.done:
            assert found is Claim.DONE
        elif key in self.held:
            assert found is Claim.BUSY
        else:
            assert found is Claim.NEW
            self.held[key] = (holder, now + LEASE_MS)

    @rule(key=KEYS, holder=HOLDERS)
    def renew(self, key: str, holder: str) -> None:
        now = self.forget()
        ours = key in self.held and self.held[key][0] == holder
        assert self.table.renew(key, holder) is ours
        if ours:
            self.held[key] = (holder, now + LEASE_MS)

    @rule(key=KEYS, holder=HOLDERS)
    def release(self, key: str, holder: str) -> None:
        self.forget()
        self.table.release(key, holder)
        if key in self.held and self.held[key][0] == holder:
            del self.held[key]

    @rule(key=KEYS, holder=HOLDERS)
    def finish(self, key: str, holder: str) -> None:
        now = self.forget()
        taken = key in self.done or (key in self.held and self.held[key][0] != holder)
        assert self.table.finish(key, holder) is not taken
        if not taken:
            self.held.pop(key, None)
            self.done[key] = now + KEEP_MS

    @invariant()
    def no_key_is_in_two_states(self) -> None:
        assert not set(self.held) & set(self.done)


TestTable = Table.TestCase
TestTable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_of_many_done_keys_the_oldest_go_first() -> None:
    table = StateTable(ManualClock().now_ms, None, KEEP_MS, 2)
    for key in ("a", "b", "c"):
        assert table.claim(key, "h") is Claim.NEW
        assert table.finish(key, "h")
    assert len(table) == 2
    assert [table.claim(key, "h") for key in ("b", "c", "a")] == [Claim.DONE, Claim.DONE, Claim.NEW]
