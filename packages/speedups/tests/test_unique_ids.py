"""Unique keys are spelled the same, whoever does it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_speedups.unique_ids import spell_ids as natively
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.messages.ids import UniqueIds, spell_ids


@given(st.text("0123456789ABCDEF", max_size=52), st.lists(st.integers(0, 2**64 - 1), max_size=50))
def test_compiled_code_spells_as_python(head: str, numbers: list[int]) -> None:
    assert natively(head, numbers) == spell_ids(head, numbers)


def test_numbers_go_on_whoever_spells_them() -> None:
    ids = UniqueIds(ManualClock(), bytes(4), 1, 1, lambda now: now)
    taken = [*ids.take(3, natively), ids.next(), *ids.take(2)]
    assert [one[-4:] for one in taken] == ["0001", "0002", "0003", "0004", "0005", "0006"]
    assert len({one[:-4] for one in taken}) == 1
