from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mqframe.client.consume_from import beginning
from mqframe.core.consume_rules import ConsumeFrom
from mqframe.core.errors import FixError


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("last", (ConsumeFrom.LAST, 0)),
        ("first", (ConsumeFrom.FIRST, 0)),
        (1_700_000_000_000, (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
        (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
    ],
)
def test_words_and_moments(said, meant) -> None:
    assert beginning(said) == meant


@pytest.mark.parametrize("said", ["middle", True, 1.5, None, ["last"]])
def test_anything_else_is_named(said) -> None:
    with pytest.raises(FixError, match=r"consume_from .* is not"):
        beginning(said)
