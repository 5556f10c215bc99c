"""Links to changes on pages."""

from __future__ import annotations

import pytest
from mqframe_dashboard.app import PAGES
from mqframe_dashboard.changes.assembly import CHANGES
from mqframe_dashboard.changes.offers import offers
from mqframe_dashboard.query import Query

QUERY = Query({"name": "a b", "group": "g", "tag": "t&u"})


@pytest.mark.parametrize("path", sorted(PAGES))
def test_who_is_not_signed_in_is_offered_nothing_but_to_read(path):
    found = [each.href.partition("?")[0] for each in offers(path, QUERY, signed_in=False)]
    assert found == (["export", "choose"] if path == "/letters" else [])


def test_what_is_offered_is_there_and_names_what_it_is_for():
    paths = {each.path.removeprefix("/") for each in CHANGES} | {"export", "choose"}
    found = [each.href for path in PAGES for each in offers(path, QUERY, signed_in=True)]
    assert {each.partition("?")[0] for each in found} <= paths
    for wanted in (
        "resend?group=g&tag=t%26u",
        "export?group=g&tag=t%26u",
        "topic-delete?name=a+b",
        "offsets?group=a+b",
        "group-delete?name=a+b",
        "setting?name=a+b&id=0",
        "topic-create",
        "group-create",
    ):
        assert wanted in found
    assert offers("/letters", Query({}), signed_in=True) == []
    assert offers("/configuration", Query({}), signed_in=True) == []
