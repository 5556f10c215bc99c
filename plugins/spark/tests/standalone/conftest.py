"""Lets tests import what they share (`standalone_spark`) by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
