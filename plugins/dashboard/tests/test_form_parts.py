"""Parts of forms, and how they are written."""

from __future__ import annotations

import re

from mqframe_dashboard.form_parts import ChangeForm, ChoiceField, Input, Ticks, Visitor
from mqframe_dashboard.html import page_html
from mqframe_dashboard.view import Page

ODD = '"><script>alert(1)</script>'
ANN = Visitor(True, ODD, "the token")


def test_every_value_of_a_form_is_escaped():
    form = ChangeForm(
        "drop",
        ODD,
        [
            Input(ODD, ODD, ODD, ODD),
            Input("box", ODD, "1", kind="checkbox"),
            ChoiceField(ODD, ODD, {ODD: ODD}, ODD),
        ],
        {ODD: ODD},
        Ticks("id", {ODD: {"name": ODD}}),
    )
    page = page_html(Page(ODD, [form]), "/", ANN)
    assert "<script>" not in page.replace('<script src="static/htmx.min.js" defer></script>', "")
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 14
    assert re.search(r'type="checkbox" name="box" value="1" checked', page)
    assert '<input type="hidden" name="token" value="the token">' in page


def test_each_form_has_a_ticket_of_its_own():
    form = ChangeForm("drop", "Drop")
    page = page_html(Page("Two", [form, form]), "/", ANN)
    tickets = re.findall(r'name="ticket" value="([\w-]+)"', page)
    assert len(set(tickets)) == 2


def test_a_form_that_only_reads_carries_no_token():
    page = page_html(Page("x", [ChangeForm("export", "Export", method="get")]), "/", ANN)
    form = page.partition("</nav>")[2]
    assert 'action="export" method="get"' in form
    assert "the token" not in form
    assert "ticket" not in form


def test_browsers_fill_in_no_old_secret():
    secret = Input("secret", "Secret", kind="password")
    for action, hint in (("user", "new-password"), ("sign-in", "current-password")):
        assert f'autocomplete="{hint}"' in page_html(
            Page("x", [ChangeForm(action, "Go", [secret])]), "/", ANN
        )


def test_tokens_are_not_in_texts_of_visitors():
    assert "the token" not in repr(ANN)
    assert "Sign out" not in page_html(Page("x", []), "/")
    assert 'href="sign-in"' in page_html(Page("x", []), "/", Visitor(True))
