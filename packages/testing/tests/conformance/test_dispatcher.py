"""The suite of dispatchers: a good one passes, each faulty one is caught by the check of its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from mqframe_testing.conformance import DispatcherConformance

from mqframe.hooks.interfaces import Dispatcher, LogRange


class Collector(Dispatcher):
    """Keeps offsets in a list that outlives it."""

    name = "collector"

    def __init__(self, got: list[int]) -> None:
        self.got = got

    def dispatch(self, stretch: LogRange) -> int:
        self.got += [record.commit_log_offset for record in stretch.records()]
        return stretch.end


class Suite(DispatcherConformance):
    made: Callable[[list[int]], Dispatcher] = Collector

    @pytest.fixture(autouse=True)
    def _sink(self) -> None:
        self.got: list[int] = []

    def make(self) -> Dispatcher:
        return self.made(self.got)

    def delivered(self) -> Sequence[int]:
        return self.got


class TestDispatcher(Suite):
    def test_ranges_hold_the_messages_between_their_ends(self) -> None:
        """Forty of them, in order, and each range begins where the one before it ends."""
        assert [m.body for m in self.stretch(3, 6).records()] == [b"message 3", b"message 4", b"message 5"]
        assert self.stretch(0, 3).end == self.stretch(3, 6).start
        assert len(list(self.stretch(0, 40).records())) == 40


class Located(Collector):
    """Its name is a path."""

    name = "of/mine"


class Foreseeing(Collector):
    """Begins with a cursor behind what it was never handed."""

    def start(self, data_directory, broker_name):
        return 1000


class Hasty(Collector):
    """Says that more is durable than it was handed."""

    def dispatch(self, stretch: LogRange) -> int:
        return super().dispatch(stretch) + 1


class Falling(Collector):
    """Its cursor goes back to the start of what it was handed, when it is idle."""

    def idle(self) -> int | None:
        return 0


class Skipping(Collector):
    """Passes over a range that begins before the end of the last one."""

    end = 0

    def dispatch(self, stretch: LogRange) -> int:
        if stretch.start >= self.end:
            super().dispatch(stretch)
        self.end = stretch.end
        return stretch.end


class SkippingOverlaps(Collector):
    """Passes over a range that begins before the end of all before it, though it reaches beyond."""

    end = 0

    def dispatch(self, stretch: LogRange) -> int:
        if stretch.start >= self.end:
            super().dispatch(stretch)
            self.end = stretch.end
        return stretch.end


class Delaying(Collector):
    """Says that all is durable, and keeps it in memory."""

    def dispatch(self, stretch: LogRange) -> int:
        return stretch.end


class TestFaultyDispatcher(Suite):
    """Every check of the suite, each with dispatchers that break its rule."""

    def make(self) -> Dispatcher:
        return self.faulty(self.got)

    def test_has_a_name_that_can_be_a_file_name(self) -> None:
        self.faulty = Located
        with pytest.raises(AssertionError):
            super().test_has_a_name_that_can_be_a_file_name()

    def test_start_gives_no_cursor_before_anything_was_dispatched(self) -> None:
        self.faulty = Foreseeing
        with pytest.raises(AssertionError):
            super().test_start_gives_no_cursor_before_anything_was_dispatched()

    @pytest.mark.parametrize("faulty", [Hasty, Falling])
    def test_the_cursor_grows_and_stays_within_what_was_handed_over(self, faulty: type[Dispatcher]) -> None:
        self.faulty = faulty
        with pytest.raises(AssertionError):
            super().test_the_cursor_grows_and_stays_within_what_was_handed_over()

    @pytest.mark.parametrize("faulty", [Skipping, SkippingOverlaps, Delaying])
    def test_a_range_may_come_again_cut_elsewhere(self, faulty: type[Dispatcher]) -> None:
        self.faulty = faulty
        with pytest.raises(AssertionError):
            super().test_a_range_may_come_again_cut_elsewhere()

    def test_nothing_is_lost_over_a_restart(self) -> None:
        self.faulty = Delaying
        with pytest.raises(AssertionError):
            super().test_nothing_is_lost_over_a_restart()

    def test_a_cursor_within_a_message_is_caught_at_the_restart(self) -> None:
        self.faulty = Hasty
        with pytest.raises(ValueError, match="is not in list"):
            super().test_nothing_is_lost_over_a_restart()
