from __future__ import annotations

import pytest

from mqframe.hooks.interfaces import TagSummary


@pytest.mark.parametrize(
    ("summary", "mean"),
    [
        (TagSummary(), None),
        (TagSummary(count=3), None),
        (TagSummary(count=3, values=2, total=5.0), 2.5),
        (TagSummary(count=2, values=2, total=0.0), 0.0),
    ],
)
def test_the_mean_is_of_the_messages_with_a_number(summary: TagSummary, mean: float | None) -> None:
    assert summary.mean == mean
