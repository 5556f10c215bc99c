"""The variable that leaves the compiled code out."""

from __future__ import annotations

import pytest
from mqframe_speedups.switch import SWITCH, is_off


@pytest.mark.parametrize(
    ("said", "off"), [(None, False), ("", False), ("1", False), ("00", False), ("0", True)]
)
def test_nothing_but_a_zero_leaves_it_out(
    monkeypatch: pytest.MonkeyPatch, said: str | None, off: bool
) -> None:
    assert SWITCH == "MQFRAME_SPEEDUPS"
    assert is_off({} if said is None else {SWITCH: said}) is off
    monkeypatch.delenv(SWITCH, raising=False)
    if said is not None:
        monkeypatch.setenv(SWITCH, said)
    assert is_off() is off
