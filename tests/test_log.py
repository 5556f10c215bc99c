import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mqframe.log import ROOT, get_logger, show


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger(ROOT)
    before = (root.handlers[:], root.level, root.propagate)
    yield
    root.handlers[:], root.level, root.propagate = before


def said_by(script: str) -> tuple[str, str]:
    begin = "import logging\nfrom mqframe.log import get_logger\nlog = get_logger('x')\n"
    done = subprocess.run([sys.executable, "-c", begin + script], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_without_any_configuration_what_fails_is_shown_and_nothing_else() -> None:
    assert said_by("log.debug('a')\nlog.info('b', key=1)") == ("", "")
    assert said_by("log.warning('late', seconds=3)") == ("", "late seconds=3\n")
    out, err = said_by("try:\n    1 / 0\nexcept ZeroDivisionError:\n    log.exception('broke', key='k')")
    assert (out, err.splitlines()[0]) == ("", "broke key='k'")
    assert err.splitlines()[1] == "Traceback (most recent call last):"
    assert err.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_an_application_that_wants_silence_has_it() -> None:
    silence = "logging.getLogger('mqframe').addHandler(logging.NullHandler())\n"
    assert said_by(silence + "log.error('event')") == ("", "")
    assert said_by("logging.getLogger('mqframe.x').setLevel('CRITICAL')\nlog.error('event')") == ("", "")


def test_an_application_with_its_own_handlers_gets_readable_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, ROOT):
        get_logger("net").info("100% full", queue="a%sb", count=3)
    (record,) = [record for record in caplog.records if record.name == "mqframe.net"]
    assert record.name == "mqframe.net"
    assert record.getMessage() == "100% full queue='a%sb' count=3"
    assert record.fields == {"queue": "a%sb", "count": 3}


def test_levels_that_are_off_cost_no_rendering(caplog: pytest.LogCaptureFixture) -> None:
    class Costly:
        def __repr__(self) -> str:
            raise AssertionError("rendered")

    with caplog.at_level(logging.INFO, ROOT):
        get_logger("net").debug("event", value=Costly())
    assert [record for record in caplog.records if record.name == "mqframe.net"] == []


def shown(monkeypatch: pytest.MonkeyPatch, *, as_json: bool) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    show(json=as_json, level="INFO")
    log = get_logger("shown")
    log.debug("hidden")
    log.warning("queue full", topic="orders", bytes=17)
    try:
        raise ValueError("oops")
    except ValueError as problem:
        log.error("hook failed", exc_info=problem)
    return stream.getvalue()


def test_one_json_object_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = map(json.loads, shown(monkeypatch, as_json=True).splitlines())
    assert first.pop("timestamp")
    assert first == {
        "event": "queue full",
        "level": "warning",
        "logger": "mqframe.shown",
        "topic": "orders",
        "bytes": 17,
    }
    assert second["event"] == "hook failed"
    assert "ValueError: oops" in second["exception"]


def test_readable_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, as_json=False)
    assert "hidden" not in text
    assert "queue full" in text
    assert "topic=orders" in text
    assert "ValueError: oops" in text


def test_showing_twice_writes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    show()
    assert shown(monkeypatch, as_json=True).count("queue full") == 1


STARVED = """
import os, resource, sys
from mqframe.log import get_logger, show
show(json=sys.argv[1] == "json")
log = get_logger("x")
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as problem:
    log.error("no descriptor", problem=str(problem))
try:
    raise ValueError("inner")
except ValueError:
    log.exception("failed", key=1)
for descriptor in held:
    os.close(descriptor)
log.error("again", key=2)
print("alive")
"""


@pytest.mark.parametrize("form", ["json", "text"])
def test_logging_needs_no_free_descriptor(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARVED, form], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "alive\n"
    assert "Too many open files" in done.stderr
    for event in ("no descriptor", "failed", "ValueError: inner", "again"):
        assert event in done.stderr
    assert "Logging error" not in done.stderr
