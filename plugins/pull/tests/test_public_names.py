"""What the distribution offers, and what is imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import mqframe_pull
import pytest

import mqframe
from mqframe.hooks import names

OFFERED = ("AsyncLitePullConsumer", "AsyncPuller", "LitePullConsumer", "LitePullSettings", "Puller")


def rooms(use: str) -> set[str]:
    """The rooms of the distribution that a process has loaded after `use`."""
    code = f"import sys\n{use}\nprint(*(name for name in sys.modules if name.startswith('mqframe_pull.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[1] for name in done.stdout.split()}


def test_it_has_what_readers_need() -> None:
    assert mqframe_pull.__all__ == sorted(OFFERED)
    with pytest.raises(AttributeError, match="'mqframe_pull' has no attribute 'Pusher'"):
        mqframe_pull.Pusher  # noqa: B018


@pytest.mark.parametrize("name", OFFERED)
def test_all_are_names_of_mqframe_too(name: str) -> None:
    assert getattr(mqframe, name) is getattr(mqframe_pull, name)


def test_without_it_these_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "offered_names", dict[str, EntryPoint])
    line = r'pip install "mqframe\[standard\]"; it alone: pip install mqframe-plugin-pull'
    for name in OFFERED:
        with pytest.raises(AttributeError, match=f"mqframe.{name} is not installed; install it with: {line}"):
            names.load_name(name)


def test_each_kind_loads_only_its_own() -> None:
    assert rooms("import mqframe_pull") == set()
    assert rooms("from mqframe import LitePullSettings") == {"settings"}
    assert rooms("from mqframe import Puller, AsyncPuller") == {"puller"}
    assert rooms("from mqframe import LitePullConsumer") == {"lite_pull", "settings"}
    assert rooms("from mqframe import Producer, PushConsumer, Admin, Broker") == set()
