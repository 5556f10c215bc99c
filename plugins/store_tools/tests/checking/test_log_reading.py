"""What the tools read a log with."""

from __future__ import annotations

import importlib.util

from mqframe_store_tools.checking.log_reading import installed_reading

from mqframe.core.storage.log_reading import LogReading


def test_python_reads_where_no_service_brings_anything_else() -> None:
    is_built = importlib.util.find_spec("mqframe_speedups") is not None
    assert issubclass(installed_reading(), LogReading)
    assert (installed_reading() is LogReading) is not is_built
