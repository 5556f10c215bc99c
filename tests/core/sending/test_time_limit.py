"""The longest time that a caller gives a send."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mqframe.core.errors import FixError
from mqframe.core.sending.time_limit import time_limit


def test_none_is_the_usual_time() -> None:
    assert (time_limit(None, 3.0), time_limit(2, 3.0), time_limit(0.001, 3.0)) == (3.0, 2, 0.001)


@pytest.mark.parametrize("timeout", [0, -1, 0.0, float("nan"), "3", timedelta(seconds=1)])
def test_what_is_no_time_is_refused_with_what_to_write(timeout) -> None:
    with pytest.raises(FixError, match=r"is no number of seconds above 0; leave it out for the usual 3 s"):
        time_limit(timeout, 3.0)
