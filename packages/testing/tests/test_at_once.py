"""An executor without a thread."""

from __future__ import annotations

import threading

import pytest
from mqframe_testing.at_once import AtOnce


def test_the_work_is_done_right_here_before_submit_returns() -> None:
    done = []
    future = AtOnce().submit(lambda word: done.append((word, threading.current_thread())), "work")
    assert done == [("work", threading.current_thread())]
    assert future.done()


def test_the_future_has_what_the_work_returned_or_raised() -> None:
    assert AtOnce().submit(int, "12", base=3).result() == 5
    with pytest.raises(ValueError, match="invalid literal"):
        AtOnce().submit(int, "x").result()
