"""What went wrong is told for operators."""

from __future__ import annotations

import errno

from mqframe_replication.rules.in_words import in_words


def test_errors_of_the_system_come_with_advice_and_others_as_they_are() -> None:
    assert in_words(OSError(errno.ENOSPC, "No space left")) == "No space left; free some disk space"
    assert in_words(ValueError("a word too many")) == "a word too many"
