"""Modes of push consumers: the built-in one, those that distributions bring, and those that there are not."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from mqframe import AsyncPushConsumer, PushConsumer
from mqframe.core.errors import FixError
from mqframe.hooks import client_parts

LINE = 'pip install "mqframe[standard]"; it alone: pip install mqframe-plugin-pop'


@pytest.fixture
def not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no distribution brought parts of clients."""
    for module in ("mqframe.hooks.client_parts", "mqframe.client.consuming.push.modes"):
        monkeypatch.setattr(f"{module}.offered_parts", dict[str, EntryPoint])


class OddMode:
    """A mode of somebody else: notes what it is made with."""

    def __init__(self, plan, sharing, options) -> None:
        self.plan = plan
        OddMode.made = (plan.group, sharing, options)

    def runtime(self, instance):
        raise NotImplementedError


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(not_there: None) -> None:
    for cls in (PushConsumer, AsyncPushConsumer):
        with pytest.raises(FixError) as raised:
            cls("g", mode="pop")
        assert str(raised.value) == (
            f"pop-consumers need mqframe-plugin-pop, which is not installed; install it with: {LINE}"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "pope"}, "mode is 'pope'; choose one of pull, keyed, pop"),
        ({"mode_options": {"a": 1}}, "mode is 'pull' with options; choose one of pull, keyed, pop"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(options, words: str) -> None:
    with pytest.raises(FixError, match=words):
        AsyncPushConsumer("g", **options)
    assert AsyncPushConsumer("g", mode="pull", mode_options={}).group == "g"


def test_a_distribution_brings_a_mode_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = EntryPoint("odd-consumers", "odd:OddMode", client_parts.GROUP)
    modes = "mqframe.client.consuming.push.modes"
    monkeypatch.setattr(f"{modes}.offered_parts", lambda: {offer.name: offer})
    monkeypatch.setattr(f"{modes}.load_part", {offer.name: OddMode}.__getitem__)
    AsyncPushConsumer("g", mode="odd", mode_options={"a": 1}, allocate="averagely-by-circle")
    sharing = {"allocate": "averagely-by-circle", "allocate_options": None, "offset_store": None}
    assert OddMode.made == ("g", sharing, {"a": 1})
