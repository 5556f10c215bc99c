"""What strangers may have sent, in a real browser: it is shown, and does nothing."""

from __future__ import annotations

import pytest
from dashboard_shop import Undecided
from playwright.sync_api import Page, expect

from mqframe import Message, Producer, TransactionProducer

SCRIPT = "<script>window.evil=1;alert(1)</script><img/src=x/onerror=alert(2)>"
TURNED = "abc\u202egnp.exe\u2066\x1b[31m"
EVIL = f"'\"--></pre></td></table>{SCRIPT}{TURNED}"
"""Without a space, as keys have none."""
BODY = EVIL.replace("\x1b", "")
"""What has control characters is shown in base64."""
LONG = 1 << 20


@pytest.fixture
def sent(mqframe_cluster) -> str:
    """Id of a message of `orders` that is hostile all over; others are delayed, and half."""
    mqframe_cluster.create_topic("orders", 1)
    nameserver = mqframe_cluster.nameserver
    message = Message("orders", BODY.encode(), EVIL, [EVIL], {EVIL: EVIL, "javascript:alert(3)": TURNED})
    with (
        Producer("shop", nameserver=nameserver) as producer,
        TransactionProducer("till", Undecided(), nameserver=nameserver) as transactions,
    ):
        producer.send(message, delay_level=18)
        transactions.send_in_transaction(message)
        return producer.send(message).message_id


@pytest.mark.parametrize("path", ["messages?topic=orders", "delayed", "halves"])
def test_lists_show_hostile_messages_as_text(
    page: Page, serve, mqframe_cluster, sent: str, path: str
) -> None:
    page.goto(serve(mqframe_cluster.nameserver) + path)
    row = page.get_by_role("row").filter(has_text="window.evil")
    expect(row.first).to_contain_text("abc\\u202egnp.exe\\u2066\\x1b[31m")
    check_harmless(page)


def test_a_hostile_message_is_shown_as_text(page: Page, serve, mqframe_cluster, sent: str) -> None:
    page.goto(f"{serve(mqframe_cluster.nameserver)}message?topic=orders&id={sent}")
    expect(page.locator("pre")).to_contain_text(f"{SCRIPT}abc\\u202egnp.exe")
    expect(page.get_by_role("rowheader", name="javascript:alert(3)")).to_be_visible()
    check_harmless(page)


def test_what_is_searched_for_is_shown_as_text(page: Page, serve, mqframe_cluster, sent: str) -> None:
    page.goto(serve(mqframe_cluster.nameserver) + "messages?topic=orders")
    page.get_by_label("Key").fill(SCRIPT)
    page.keyboard.press("Enter")
    expect(page.get_by_text("nothing found")).to_be_visible()
    expect(page.get_by_label("Key")).to_have_value(SCRIPT)
    check_harmless(page)


def test_a_hostile_address_is_refused_in_words(page: Page, problems, serve, mqframe_cluster) -> None:
    page.goto(serve(mqframe_cluster.nameserver) + "topic?name=%3Cscript%3Ealert(1)%3C/script%3E")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    expect(page.locator("main")).to_contain_text("there is no topic <script>alert(1)</script>")
    assert [each for each in problems if "404" not in each] == []
    problems.clear()


@pytest.mark.parametrize("line", [b"x", b"<script>alert(1)</script>"])
def test_a_body_of_a_megabyte_shows_its_beginning(page: Page, serve, mqframe_cluster, line: bytes) -> None:
    mqframe_cluster.create_topic("orders", 1)
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        body = line * (LONG // len(line))
        sent = producer.send(Message("orders", body, keys=["k" * 1000]))
    address = serve(mqframe_cluster.nameserver)
    page.goto(f"{address}message?topic=orders&id={sent.message_id}")
    expect(
        page.get_by_role("heading", name=f"{len(line) * (LONG // len(line))} bytes, its beginning")
    ).to_be_visible()
    assert page.locator("pre").evaluate("each => each.textContent.length") == 64 << 10
    check_harmless(page)
    page.goto(f"{address}messages?topic=orders")
    expect(page.get_by_role("link", name=sent.message_id)).to_be_visible()
    check_harmless(page)


def check_harmless(page: Page) -> None:
    """Nothing of what was sent has become a part of the page, nor made it wide."""
    assert page.evaluate("window.evil") is None
    assert page.locator("main :is(script, img, [onerror])").count() == 0
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
