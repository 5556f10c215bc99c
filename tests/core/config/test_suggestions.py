"""What somebody who misspelt a name probably meant."""

from __future__ import annotations

from mqframe.core.config.suggestions import did_you_mean

KNOWN = ("consumer", "consumers", "producer", "net")


def test_the_nearest_names_are_named_best_first() -> None:
    assert did_you_mean("consumr", KNOWN) == "did you mean consumer or consumers?"
    assert did_you_mean("consumr", KNOWN, most=1) == "did you mean consumer?"


def test_nothing_is_said_where_nothing_is_near() -> None:
    assert did_you_mean("toaster", KNOWN) == ""
    assert did_you_mean("nut", KNOWN, cutoff=0.9) == ""
