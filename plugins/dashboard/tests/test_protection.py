"""Headers of all answers, and names that are served."""

from __future__ import annotations

import pytest
from mqframe_dashboard.protection import host_name


@pytest.mark.parametrize("path", ["/", "/nowhere", "/topic?name=none", "/static/dashboard.css"])
def test_all_answers_have_headers_that_protect(browser, path):
    headers = browser.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert (headers.get("cache-control") == "no-store") is not path.startswith("/static/")


def test_foreign_names_are_refused_and_named_ones_served(open_browser, mqframe_cluster):
    closed = open_browser(mqframe_cluster.nameserver)
    named = open_browser(mqframe_cluster.nameserver, trusted_hosts=["Dash.example"])
    anybody = open_browser(mqframe_cluster.nameserver, trusted_hosts=["*"])
    for browser, host, status in (
        (closed, "dash.example", 421),
        (closed, "localhost:8080", 200),
        (closed, "[::1]:8080", 200),
        (closed, "", 421),
        (named, "dash.EXAMPLE:443", 200),
        (named, "127.0.0.1", 421),
        (anybody, "whatever", 200),
    ):
        answer = browser.request("GET", "/", headers={"host": host})
        assert answer.status_code == status, host
        assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    ("host", "name"),
    [("a:1", "a"), ("A.b", "a.b"), ("[::1]:80", "::1"), ("[::1", "::1"), ("", "")],
)
def test_a_host_header_is_a_name_and_a_port(host, name):
    assert host_name(host) == name
