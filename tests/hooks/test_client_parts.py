"""Parts of clients: found by entry points, named with what installs them where there is none."""

from __future__ import annotations

import operator
from importlib.metadata import EntryPoint

import pytest

from mqframe.core.errors import FixError
from mqframe.hooks import client_parts
from mqframe.hooks.client_parts import GROUP, load_part, offered_parts, part_or
from mqframe.hooks.known_distributions import KNOWN_CLIENT_PARTS


def test_what_is_installed_is_what_this_project_knows() -> None:
    compiled = {name for name, brings in KNOWN_CLIENT_PARTS.items() if brings == "mqframe-speedups"}
    assert KNOWN_CLIENT_PARTS.keys() - offered_parts().keys() <= compiled, "compiled code may be left out"
    assert {name: load_part(name).__name__ for name in ("replies", "requests")} == {
        "replies": "Replies",
        "requests": "Requests",
    }


def test_what_is_usual_is_taken_where_no_other_part_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"records": EntryPoint("records", "operator:add", GROUP)}
    monkeypatch.setattr(client_parts, "offered_parts", lambda: found)
    assert part_or("records", operator.sub) is operator.add
    monkeypatch.setattr(client_parts, "offered_parts", dict[str, EntryPoint])
    assert part_or("records", operator.sub) is operator.sub


def test_a_part_is_imported_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"requests": EntryPoint("requests", "collections:OrderedDict", GROUP)}
    monkeypatch.setattr(client_parts, "offered_parts", lambda: found)
    assert load_part("requests").__name__ == "OrderedDict"


def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_parts, "offered_parts", dict[str, EntryPoint])
    with pytest.raises(FixError) as raised:
        load_part("requests")
    assert str(raised.value) == (
        "requests need mqframe-plugin-requestreply, which is not installed; install it with: "
        'pip install "mqframe[standard]"; it alone: pip install mqframe-plugin-requestreply'
    )
