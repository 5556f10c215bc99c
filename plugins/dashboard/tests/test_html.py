"""Every value is escaped, wherever it stands."""

from __future__ import annotations

from mqframe_dashboard.html import page_html, problem_html, visible
from mqframe_dashboard.view import Facts, Field, Form, Links, Note, Page, TableView, Text, link

EVIL = "\"'><script>alert(1)</script>\x00\u202e"


def test_a_page_escapes_every_value():
    page = Page(
        EVIL,
        [
            Note(EVIL),
            Links([link(EVIL, EVIL, name=EVIL)]),
            Form(EVIL, [Field(EVIL, EVIL, EVIL, EVIL)]),
            TableView(EVIL, [{EVIL: EVIL, "link": link("p", EVIL)}]),
            TableView(EVIL, [], EVIL),
            Facts(EVIL, {EVIL: EVIL}),
            Text(EVIL, EVIL),
        ],
    )
    html = page_html(page, "/")
    assert "<script>" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 15
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "\"'>" not in html


def test_a_problem_is_escaped_and_says_when_the_cluster_was_heard():
    html = problem_html("Away", EVIL, 1_700_000_000.0, 503)
    assert "<script>" not in html
    assert "The cluster answered last at 2023-11-14 22:13:20Z." in html
    assert "answered" not in problem_html("Not found", "x", 1.0, 404)


def test_what_cannot_be_seen_is_written_out():
    assert visible("a\x1b[31m\u202eb\r\n\tc\x85") == "a\\x1b[31m\\u202eb\n\tc\\x85"
    assert visible(3) == 3


def test_pages_outside_of_the_navigation_mark_the_one_they_belong_to():
    assert '<a href="topics" aria-current="page">Topics</a>' in page_html(Page("Topics", []), "/topics")
    assert '<a href="topics" aria-current="true">Topics</a>' in page_html(Page("Topic a", []), "/topic")


def test_only_long_values_may_be_broken():
    html = page_html(
        Page("P", [TableView("T", [{"a": "x" * 40, "b": "x" * 41, "c": link("p", "x" * 41)}])]), "/"
    )
    assert html.count('<td class="long">') == 2
    assert f"<td>{'x' * 40}</td>" in html
