"""The page of all alarms."""

from __future__ import annotations

from typing import Any

from mqframe_dashboard.alarms.rules import ClusterAlarm
from mqframe_dashboard.alarms.watch import AlarmWatch
from mqframe_dashboard.html import page_html
from mqframe_dashboard.pages.alarms import alarms_page
from mqframe_dashboard.view import link
from parsed_page import ParsedPage
from real_time import until

from mqframe import Admin

NOBODY: Any = None


def shown(watch: AlarmWatch) -> ParsedPage:
    return ParsedPage(page_html(alarms_page(watch), "/alarms"))


def test_what_was_seen_is_listed_with_when():
    watch = AlarmWatch(NOBODY, NOBODY)
    assert "The cluster has not been seen yet." in shown(watch).text
    watch.looked_ms = 1_700_000_000_000
    page = shown(watch)
    assert "What was seen at 2023-11-14 22:13:20Z:" in page.text
    assert "Nothing is wrong of what is looked at." in page.text
    watch.alarms = [
        ClusterAlarm(link("broker", "full", name="a"), severe=True),
        ClusterAlarm(link("groups", "late")),
    ]
    watch.problem = "away"
    page = shown(watch)
    assert page.tables["Alarms"] == [{"how": "severe", "what": "full"}, {"how": "look", "what": "late"}]
    assert (page.links["full"], page.links["late"]) == ("broker?name=a", "groups")
    assert "The last look failed: away" in page.text


def test_a_group_that_is_behind_alone_is_an_alarm_on_every_page(open_browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 1)
    send("orders", b"x")
    with Admin(nameserver=mqframe_cluster.nameserver) as admin:
        admin.groups.create("audit")
        admin.offsets.reset("audit", "orders", 0)
    browser = open_browser(mqframe_cluster.nameserver, interval=0.01)
    said = "Group audit is 1 message behind, and no member is online."
    until(lambda: said in browser.page("/alarms"))
    for path in ("/", "/topics", "/configuration", "/messages"):
        page = ParsedPage(browser.page(path))
        assert said in page.alarms
        assert page.links[said] == "group?name=audit"
    assert said in browser.get("/topic", name="none").text
