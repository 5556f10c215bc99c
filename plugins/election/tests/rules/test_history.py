"""Epochs of a log."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_election.rules.history import UNLED, EpochHistory

from mqframe.core.errors import StoreError


@st.composite
def histories(draw: st.DrawFn) -> EpochHistory:
    epochs = sorted(draw(st.sets(st.integers(1, 40), max_size=8)))
    starts = sorted(draw(st.lists(st.integers(0, 500), min_size=len(epochs), max_size=len(epochs))))
    return EpochHistory(zip(epochs, starts, strict=True))


@given(histories())
def test_the_file_gives_back_what_it_was_made_of(history: EpochHistory) -> None:
    assert EpochHistory.decode(history.encode()) == history


@given(histories(), st.integers(0, 60), st.integers(0, 7))
def test_a_file_with_a_turned_bit_is_refused_or_says_the_same(
    history: EpochHistory, at: int, bit: int
) -> None:
    data = bytearray(history.encode())
    data[at % len(data)] ^= 1 << bit
    with suppress(StoreError):
        assert EpochHistory.decode(bytes(data)) == history


def test_the_file_has_a_line_for_each_epoch_behind_count_and_checksum() -> None:
    assert EpochHistory([(1, 0), (2, 4096)]).encode() == b"2\n1694929738\n1-0\n2-4096\n"


@pytest.mark.parametrize("terms", [[(2, 0), (2, 5)], [(3, 0), (2, 5)], [(1, 5), (2, 4)]])
def test_epochs_grow_and_starts_do_not_go_back(terms: list[tuple[int, int]]) -> None:
    with pytest.raises(StoreError, match="out of order"):
        EpochHistory(terms)


def test_a_new_term_begins_where_the_log_ends() -> None:
    history = EpochHistory().begin(1, 0).begin(3, 100).begin(4, 100)
    assert history.terms == ((1, 0), (3, 100), (4, 100))
    assert history.last_epoch == 4
    assert [history.at(offset) for offset in (0, 99, 100, 5000)] == [1, 1, 4, 4]
    assert history.end_of_epoch_at(0) == 100
    assert history.end_of_epoch_at(100) is None
    assert EpochHistory().at(7) == EpochHistory().last_epoch == UNLED


def test_what_a_cut_takes_goes_and_what_deleted_files_held_is_told_from_where_the_log_begins() -> None:
    history = EpochHistory([(1, 0), (2, 100), (5, 200)])
    assert history.cut(200).terms == ((1, 0), (2, 100))
    assert history.cut(201).terms == history.terms
    assert history.trim(150).terms == ((2, 150), (5, 200))
    assert history.trim(200).terms == ((5, 200),)
    assert history.trim(0) == history


@pytest.mark.parametrize(
    ("mine", "my_end", "theirs", "their_end", "common"),
    [
        ([(1, 0)], 50, [(1, 0)], 80, 50),  # behind
        ([(1, 0)], 90, [(1, 0), (2, 70)], 80, 70),  # what the old leader wrote alone goes
        ([(1, 0)], 60, [(1, 0), (2, 70)], 80, 60),
        ([(1, 0), (2, 50)], 90, [(1, 0), (3, 70)], 80, 50),  # epoch 2 is unknown there
        ([(1, 0), (3, 70)], 75, [(1, 0), (2, 50)], 90, 50),
        ([(1, 0), (3, 40)], 60, [(1, 0), (2, 40), (3, 40)], 80, 60),  # nothing was stored in epoch 2
        ([(2, 100)], 150, [(1, 0), (2, 90)], 150, 150),  # older files were deleted
        ([(1, 0)], 60, [(2, 0)], 80, 0),
        ([(1, 40)], 60, [(2, 0)], 80, None),
        ([], 0, [(2, 0)], 80, None),
    ],
)
def test_two_histories_tell_how_far_logs_agree(
    mine: list[tuple[int, int]],
    my_end: int,
    theirs: list[tuple[int, int]],
    their_end: int,
    common: int | None,
) -> None:
    assert EpochHistory(mine).common_end(my_end, EpochHistory(theirs), their_end) == common


@st.composite
def two_logs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Logs as the epoch of each byte; later leaders of the second one went on from a cut of the first."""
    first: list[int] = []
    epoch = 0
    for _ in range(draw(st.integers(1, 5))):
        epoch += draw(st.integers(1, 2))
        first += [epoch] * draw(st.integers(1, 6))
    kept = draw(st.integers(0, len(first)))
    second = first[:kept]
    epochs = draw(st.sets(st.integers(1, 30), max_size=3)) - set(first)
    for each in sorted(each for each in epochs if not second or each > second[-1]):
        second += [each] * draw(st.integers(1, 6))
    return first, second


def history_of(log: list[int]) -> EpochHistory:
    return EpochHistory((epoch, log.index(epoch)) for epoch in dict.fromkeys(log))


@given(two_logs())
def test_what_is_kept_is_exactly_what_both_logs_have(logs: tuple[list[int], list[int]]) -> None:
    first, second = logs
    agree = next(
        (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
    found = history_of(first).common_end(len(first), history_of(second), len(second))
    assert (found or 0) == agree
    back = history_of(second).common_end(len(second), history_of(first), len(first))
    assert (back or 0) == agree
