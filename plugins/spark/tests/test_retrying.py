import pytest
from mqframe_spark.retrying import PAUSES_SECONDS, growing, retrying

from mqframe.core.errors import ConnectError, FixError


class Call:
    """Fails with `problems`, one after the other, then gives 7."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        if self.problems:
            raise self.problems.pop(0)
        return 7


def test_what_works_is_called_once() -> None:
    call, slept = Call(), []
    assert retrying(call, sleep=slept.append) == 7
    assert (call.count, slept) == (1, [])


def test_pauses_grow_between_tries() -> None:
    call, slept = Call(*(ConnectError("away") for _ in PAUSES_SECONDS)), []
    assert retrying(call, sleep=slept.append) == 7
    assert slept == list(PAUSES_SECONDS)


def test_the_last_error_is_raised() -> None:
    call, slept = Call(*(ConnectError(f"try {number}") for number in range(3))), []
    with pytest.raises(ConnectError, match="try 2"):
        retrying(call, sleep=slept.append, pauses=(0.1, 0.2))
    assert (call.count, slept) == (3, [0.1, 0.2])


def test_what_another_try_does_not_help_is_raised_at_once() -> None:
    call, slept = Call(ConnectError("away"), FixError("no such topic")), []
    with pytest.raises(FixError):
        retrying(call, sleep=slept.append)
    assert (call.count, slept) == (2, [PAUSES_SECONDS[0]])


def test_pauses_grow_up_to_two_seconds() -> None:
    assert growing(0.05, 4) == PAUSES_SECONDS
    assert growing(0.05, 0) == ()
    assert growing(0.5, 4) == (0.5, 2.0, 2.0, 2.0)
    assert growing(30, 2) == (30, 30)
