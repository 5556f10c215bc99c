"""Pools of greenlets: workers, and programs that send, end with words that say what to use instead."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import Celery
from kombu import Connection
from kombu_workers import SECONDS_MAX, Worker, words
from mqframe_kombu.greenlets import greenlet_library
from own_programs import missing

from mqframe.core.errors import FixError

LIBRARIES = ("gevent", "eventlet")


def needs(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        missing(f"not installed: {library}")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_worker_ends_at_its_start_and_says_what_to_use(app: Celery, folder: Path, library: str) -> None:
    needs(library)
    from tasks_of_tests import note

    note.delay("not done")
    running = Worker(folder, "-P", library)
    try:
        assert running.wait() == 1
        assert running.said(
            f"mqframe:// needs threads and sockets as they are, and {library} has replaced them"
        )
        assert running.said("run workers with the pools prefork, threads or solo")
        assert not running.said(" ready.")
    finally:
        running.kill()
    assert words(folder) == []


PROGRAMS = {
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "gevent, of sockets alone": "from gevent import monkey; monkey.patch_socket()",
    "gevent, late": "from kombu.utils.compat import detect_environment; detect_environment(); "
    "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
    "eventlet, of threads alone": "import eventlet; eventlet.monkey_patch(all=False, thread=True)",
}
SEND = "from celery import Celery; Celery(broker='mqframe://127.0.0.1').send_task('x')"


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_that_sends_is_told_so(kind: str) -> None:
    library = kind.partition(",")[0]
    needs(library)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{PROGRAMS[kind]}; {SEND}"],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert f"FixError: mqframe:// needs threads and sockets as they are, and {library}" in last
    assert "(`gunicorn -k gthread`)" in last


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_imported_and_replaces_nothing_does_no_harm(library: str, url: str) -> None:
    needs(library)
    code = f"import {library}.{'monkey' if library == 'gevent' else 'patcher'}, mqframe_kombu; "
    code += f"from kombu import Connection; Connection({url!r}).connect(); print('connected')"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "connected\n"), done.stderr


@pytest.mark.parametrize(
    ("module", "name", "library"),
    [
        ("gevent.monkey", "is_module_patched", "gevent"),
        ("eventlet.patcher", "is_monkey_patched", "eventlet"),
    ],
)
@pytest.mark.parametrize("patched", ["thread", "socket", "select"])
def test_each_module_that_was_replaced_is_seen(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, library: str, patched: str
) -> None:
    assert greenlet_library() is None
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{name: lambda other: other == "os"}))
    assert greenlet_library() is None
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{name: lambda other: other == patched}))
    assert greenlet_library() == library
    with pytest.raises(FixError, match=f"and {library} has replaced them"):
        Connection("mqframe://127.0.0.1").connect()
