import pytest

from mqframe.core.pull_rules import pull_caps, pull_code


@pytest.mark.parametrize(
    ("status", "offset", "code"),
    [
        ("FOUND", 3, 0),
        ("NO_MATCHED_MESSAGE", 3, 20),
        ("MESSAGE_WAS_REMOVING", 3, 20),
        ("OFFSET_FOUND_NULL", 3, 19),
        ("OFFSET_OVERFLOW_ONE", 3, 19),
        ("OFFSET_OVERFLOW_BADLY", 3, 21),
        ("OFFSET_TOO_SMALL", 3, 21),
        ("OFFSET_RESET", 3, 21),
        ("NO_MATCHED_LOGIC_QUEUE", 0, 19),
        ("NO_MATCHED_LOGIC_QUEUE", 3, 21),
        ("NO_MESSAGE_IN_QUEUE", 0, 19),
        ("NO_MESSAGE_IN_QUEUE", 3, 21),
    ],
)
def test_the_outcome_of_a_read_decides_the_code(status, offset, code):
    assert pull_code(status, offset) == code


@pytest.mark.parametrize(
    ("asked", "allowed", "got"),
    [
        ((32, None), (32, 1000), (32, 1000)),
        ((1, 10), (32, 1000), (1, 10)),
        ((500, 2**31 - 1), (32, 1000), (32, 1000)),
        ((0, 0), (32, 1000), (32, 1000)),
        ((-1, -1), (32, 1000), (32, 1000)),
    ],
)
def test_a_pull_gets_what_it_asks_for_within_what_is_allowed(asked, allowed, got):
    assert pull_caps(*asked, *allowed) == got
