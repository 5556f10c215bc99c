"""What a supervised process has of its supervisor."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

PROGRAM = """
import signal
from mqframe_cli.processes.parent import end_with_supervisor, tell_supervisor

tell_supervisor("ready 127.0.0.1:1")
tell_supervisor("failed one\\n line")
end_with_supervisor()
while True:
    signal.pause()
"""


def start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=theirs)
    return process, ours


def test_it_hears_lines_and_the_process_ends_with_it() -> None:
    process, ours = start()
    with ours, ours.makefile() as heard:
        assert [heard.readline(), heard.readline()] == ["ready 127.0.0.1:1\n", "failed one  line\n"]
        assert process.poll() is None
    ours.close()
    assert process.wait(60) == -signal.SIGTERM


def test_a_supervisor_that_is_gone_hears_nothing_and_that_is_no_failure() -> None:
    process, ours = start()
    ours.close()
    assert process.wait(60) == -signal.SIGTERM
