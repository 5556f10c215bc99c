"""How `mqframe://` gets known: in a fresh interpreter, as a user has it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from kombu.transport import get_transport_cls
from mqframe_kombu import Transport, register


@pytest.mark.parametrize(
    "lines",
    [
        "from celery import Celery; app = Celery(broker='mqframe://'); c = app.connection()",
        "from kombu import Connection, Queue; c = Connection('mqframe://')",
        "import mqframe_kombu; from kombu import Connection; c = Connection('mqframe://')",
        "from kombu import Connection; c = Connection('mqframe://', transport='mqframe_kombu:Transport')",
    ],
)
def test_the_scheme_is_known(lines: str) -> None:
    code = f"{lines}; print(c.transport.driver_type, c.default_port if hasattr(c, 'default_port') else '')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["mqframe"], done.stderr


def test_registered_twice_it_is_there_once() -> None:
    register()
    register()
    assert get_transport_cls("mqframe") is Transport
