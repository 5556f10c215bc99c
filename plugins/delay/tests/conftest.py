"""Brokers and stores for the tests of the timer."""

from __future__ import annotations

import sys
from pathlib import Path

from store.conftest import operations as operations

sys.path.insert(0, str(Path(__file__).parent))
