"""Versions of a broker's tables, by which name servers and slaves see that something changed."""

from __future__ import annotations

from mqframe.core.bodies import DataVersion


def next_version(version: DataVersion, now_ms: int) -> DataVersion:
    """The version after `version`; `now_ms`: wall-clock time."""
    return DataVersion(version.counter + 1, version.state_version, now_ms)
