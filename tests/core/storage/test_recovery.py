from __future__ import annotations

import pytest

from mqframe.core.storage.recovery import start_after_crash


@pytest.mark.parametrize(
    ("firsts", "log", "queues", "number"),
    [
        ([1000, 5000, 9000], 8000, 8000, 1),
        ([1000, 5000, 9000], 12000, 12000, 2),
        ([1000, 5000, 9000], 11999, 12000, 1),
        ([1000, 5000, 9000], 12000, 7999, 0),
        ([1000, 5000, 9000], 0, 0, 0),
        ([1000, None, None], 99999, 99999, 0),
        ([1000, 5000, None], 99999, 99999, 1),
        ([None], 99999, 99999, 0),
        ([0], 99999, 99999, 0),
        ([], 1, 1, 0),
    ],
)
def test_start_after_crash(firsts, log, queues, number):
    assert start_after_crash(firsts, log, queues) == number
