"""What this distribution offers by its name."""

from __future__ import annotations

import subprocess
import sys

import mqframe_metrics
import pytest


def test_it_has_what_it_names() -> None:
    assert {name: getattr(mqframe_metrics, name).__name__ for name in mqframe_metrics.__all__} == {
        name: name for name in ("BrokerSource", "Measured", "MetricsSettings", "NameServerSource")
    }
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        mqframe_metrics.Nothing  # noqa: B018


def test_settings_alone_import_no_server() -> None:
    code = "import sys, mqframe_metrics.plugin; print('http.server' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
