"""Which page is where, what a failure looks like, and that nothing can be changed."""

from __future__ import annotations

import re

import pytest
from mqframe_dashboard.app import PAGES
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port

from mqframe.core.errors import AnswerError


def test_every_page_of_the_navigation_is_there(browser, mqframe_cluster):
    first = browser.page("/")
    hrefs = re.findall(r'<a href="([^"]+)"', first.partition("</nav>")[0])
    assert hrefs[0] == "./"
    own = [href for href in hrefs[1:] if not href.startswith("panel?")]  # others are of other plugins
    assert own == (
        "replication topics groups messages delayed halves letters schemas clients configuration".split()
    )
    for href in hrefs:
        assert "<h1>" in browser.page("/" + href.removeprefix("./"))


def test_what_pages_load_is_there_and_comes_from_here(browser):
    page = browser.page("/")
    loaded = re.findall(r'(?:src|href)="(static/[^"]+)"', page)
    assert sorted(loaded) == [
        f"static/{name}" for name in ("dashboard.css", "dashboard.js", "htmx.min.js", "icon.svg")
    ]
    for each in loaded:
        assert browser.get("/" + each).status_code == 200
    assert "http://" not in page
    assert "https://" not in page
    assert "<script>" not in page
    assert "style=" not in page


def test_live_pages_are_loaded_again_with_and_without_javascript(browser):
    live, still = browser.page("/"), browser.page("/messages")
    for page, there in ((live, True), (still, False)):
        assert ('hx-trigger="every 5s"' in page) is there
        assert ('<noscript><meta http-equiv="refresh" content="10"></noscript>' in page) is there


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", sorted(PAGES))
def test_nothing_but_reading_is_answered(browser, method, path):
    answer = browser.request(method, path)
    assert answer.status_code == 405
    assert "only reads" in answer.text


def test_a_page_that_is_not_there_says_so(browser):
    answer = browser.get("/nowhere")
    assert answer.status_code == 404
    assert "There is no such page." in answer.text


def test_a_query_that_makes_no_sense_is_400_and_named(browser):
    for path, query, said in (
        ("/topic", {}, "name: is missing"),
        ("/messages", {"topic": "t", "limit": "100000000000"}, "must be a number from 1 to 200"),
        ("/messages", {"topic": "t", "since": "<script>"}, "is no time"),
        ("/messages", {"topic": "t" * 2000}, "characters are too many"),
    ):
        answer = browser.get(path, **query)
        assert answer.status_code == 400, answer.text
        assert said in answer.text
        assert "<script>" not in answer.text


def test_a_cluster_that_was_never_there_is_503_and_told(open_browser):
    browser = open_browser(f"127.0.0.1:{lasting_port()}")
    for path in ("/", "/topics", "/groups", "/clients", "/configuration"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "The cluster does not answer" in answer.text
        assert "has not answered since the dashboard was started" in answer.text
    assert browser.get("/messages").status_code == 200


def test_a_cluster_that_went_away_was_seen_last(open_browser):
    with Cluster(1) as cluster:
        browser = open_browser(cluster.nameserver)
        browser.page("/")
    answer = browser.get("/")
    assert answer.status_code == 503
    assert re.search(r"answered last at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ", answer.text)
    assert 'hx-trigger="every 5s"' in answer.text


def test_a_cluster_without_brokers_is_told(open_browser):
    with Cluster(1) as cluster:
        browser = open_browser(cluster.nameserver)
        cluster.stop_broker(0)
        assert "no broker is registered" in browser.page("/")
        answer = browser.get("/groups")
    assert answer.status_code == 503
    assert "The cluster cannot be asked" in answer.text
    assert "no master of any broker is registered" in answer.text


@pytest.mark.parametrize("path", ["/broker", "/topic", "/group", "/letters", "/letter", "/message"])
@pytest.mark.parametrize("name", ["<script>\x00", "x" * 1000, "a b", "%00", "../..", "\u202e", "%RETRY%"])
def test_odd_names_are_404_on_every_page(browser, path, name):
    answer = browser.get(path, name=name, group=name, topic=name, id="1")
    assert answer.status_code == 404, answer.text
    assert "<script>" not in answer.text
    assert "\u202e" not in answer.text


def test_a_refusal_of_the_cluster_is_told(browser, monkeypatch):
    async def refuses(self):
        raise AnswerError(16, "no permission <b>", "127.0.0.1:1")

    monkeypatch.setattr("mqframe_admin.client.calls.AdminCalls.cluster_info", refuses)
    answer = browser.get("/")
    assert answer.status_code == 502
    assert "no permission &lt;b&gt;" in answer.text
