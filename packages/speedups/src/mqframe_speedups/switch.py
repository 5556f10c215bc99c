"""Whether the environment leaves the compiled code out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

SWITCH: Final = "MQFRAME_SPEEDUPS"
"""An environment variable that leaves the compiled code out where it is 0."""


def is_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether it does, by its variable `SWITCH`."""
    return environment.get(SWITCH) == "0"
