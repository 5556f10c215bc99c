"""Which offsets groups may commit."""

from __future__ import annotations

import pytest

from mqframe.core.consuming.offset_rules import commit_problem


@pytest.mark.parametrize(
    ("offset", "end", "problem"),
    [
        (0, 0, ""),
        (10, 10, ""),
        (3, 10, ""),
        (11, 10, "offset 11 is behind the end of the queue, 10"),
        (-1, 10, "offset -1 is negative"),
    ],
)
def test_nobody_commits_what_nobody_can_have_reached(offset: int, end: int, problem: str) -> None:
    assert commit_problem(offset, end) == problem
