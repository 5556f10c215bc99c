"""Every value is escaped, wherever it stands."""

from __future__ import annotations

from mqframe_dashboard.alarms.rules import ClusterAlarm
from mqframe_dashboard.alarms.watch import Banner
from mqframe_dashboard.curves import Chart, Curve, CurveSpan
from mqframe_dashboard.form_parts import ChangeForm, Input
from mqframe_dashboard.html import PageFrame, page_html, problem_html, visible
from mqframe_dashboard.series import Rate
from mqframe_dashboard.tracing import Bar, Timeline
from mqframe_dashboard.view import Facts, Field, Form, Links, Note, Page, Sort, TableView, Text, link
from parsed_page import ParsedPage

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
            Timeline(EVIL, [Bar(EVIL, EVIL, 1, 2)]),
            ChangeForm(EVIL, EVIL, [Input(EVIL, EVIL, EVIL, EVIL, "area")]),
        ],
    )
    frame = PageFrame(Banner([ClusterAlarm(link(EVIL, EVIL), severe=True)], 3, EVIL), [(EVIL, EVIL, EVIL)])
    html = page_html(page, "/", frame=frame)
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


def test_alarms_stand_on_top_of_every_page_and_lead_to_where_to_look():
    alarms = [
        ClusterAlarm(link("broker", "The disk is full", name="a"), severe=True),
        ClusterAlarm(link("groups", "Late")),
    ]
    frame = PageFrame(Banner(alarms, 2, "of 12:00"), [("/panel quotas", "panel?name=quotas", "Quotas")])
    for html in (
        page_html(Page("Topics", []), "/topics", frame=frame),
        problem_html("Away", "no answer", None, 503, frame=frame),
    ):
        page = ParsedPage(html)
        assert page.alarms == ["The disk is full", "Late", "2 more alarms"]
        assert page.links["The disk is full"] == "broker?name=a"
        assert page.links["2 more alarms"] == "alarms"
        assert page.links["Quotas"] == "panel?name=quotas"
        assert "of 12:00" in page.text
        assert html.index('<main id="main"') < html.index("The disk is full") < html.index("<h1>")
        assert html.count('class="severe"') == 1
    assert ParsedPage(page_html(Page("Topics", []), "/topics")).alarms == []


def test_heads_of_tables_sort_them():
    sorts = {"name": Sort("topics?sort=-name", "ascending"), "rate": Sort("topics?sort=rate")}
    page = ParsedPage(page_html(Page("P", [TableView("T", [{"name": "a", "rate": 1}], "", sorts)]), "/"))
    assert page.sorts == {"name": "ascending"}
    assert (page.links["name"], page.links["rate"]) == ("topics?sort=-name", "topics?sort=rate")
    assert page.tables["T"] == [{"name": "a", "rate": "1"}]


def test_gaps_of_rates_are_gaps_of_lines():
    rates, span = [Rate(0, 10, 1.0), Rate(20, 30, 2.0)], CurveSpan(0, 30)
    html = page_html(
        Page("P", [Chart("C", rates, span), TableView("T", [{"over": Curve(rates, span)}])]), "/"
    )
    assert html.count("<polyline") == 4
    assert "2.0 now, 2.0 at most. Where there is no line, nobody looked, or was answered." in html


def test_a_way_is_drawn_and_told():
    line = Timeline("Way", [Bar("produced", "shop", 1000, 1010), Bar("consumed", "", 1005, 2000, "failed")])
    html = page_html(Page("P", [line]), "/")
    assert '<rect class="ok" x="0.0" y="0" width="9.9" height="10"/>' in html
    assert '<rect class="failed" x="5.0" y="0" width="989.0" height="10"/>' in html
    assert "produced by shop: after 0 ms, took 10 ms" in html
    assert "consumed: after 5 ms, took 995 ms, failed" in html


def test_only_pages_that_nobody_fills_in_load_themselves_again_without_javascript():
    still = page_html(Page("P", [Form("p", [Field("find", "Find")])], live=True), "/")
    assert 'http-equiv="refresh"' not in still
    assert 'hx-trigger="every 5s"' in still
    assert 'http-equiv="refresh"' in page_html(Page("P", [Note("x")], live=True), "/")
