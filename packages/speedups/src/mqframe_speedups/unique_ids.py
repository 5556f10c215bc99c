"""Unique keys of the messages of a batch, spelled by compiled code."""

from __future__ import annotations

from typing import Final

from mqframe.core.messages import ids
from mqframe_speedups._native import spell_ids
from mqframe_speedups.switch import is_off

spell: Final = ids.spell_ids if is_off() else spell_ids
"""What producers of this process spell unique keys with."""
