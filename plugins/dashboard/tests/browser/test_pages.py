"""Every page, with a bit of everything in the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from dashboard_shop import Shop, open_shop
from mqframe_dashboard.changes.user_file import user_line
from playwright.sync_api import Page, expect

PAGES = {
    "": "Cluster",
    "broker?name=broker-a": "Broker broker-a",
    "alarms": "Alarms",
    "replication": "Replication",
    "topics": "Topics",
    "topics?rows=1&sort=-messages": "Topics",
    "topics?all=1": "Topics",
    "topic?name=orders": "Topic orders",
    "groups": "Groups",
    "group?name=shipping": "Group shipping",
    "messages": "Messages",
    "messages?topic=orders": "Messages of orders",
    "trace": "Trace",
    "trace?topic=orders&id=none": "Trace of none",
    "schemas": "Schemas",
    "delayed": "Delayed messages",
    "halves": "Half messages",
    "letters": "Dead letters",
    "letters?group=billing": "Dead letters of billing",
    "clients": "Clients",
    "configuration": "Configuration",
    "configuration?name=broker-a": "Configuration of broker-a",
}


@pytest.fixture(scope="package")
def shop(chromium_running) -> Iterator[Shop]:
    with open_shop() as shop:
        yield shop


@pytest.fixture(scope="package")
def url(shop: Shop, serve_long) -> str:
    return serve_long(shop.nameserver, interval=1.0)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_and_fits_a_narrow_screen(page: Page, url: str, path: str) -> None:
    answer = page.goto(url + path)
    assert answer is not None
    assert answer.status == 200
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("input:not([type=hidden])").evaluate_all(
        "all => all.every(each => each.labels.length)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page: Page, url: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(url + "topic?name=orders")
    for selector in ("h1", "main a", ".alarms a", ".facts th", ".hint", "nav a"):
        assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector


CONTRAST = """element => {
  const channels = text => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(each => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
  };
  const light = text => { const [r, g, b] = channels(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const pair = [light(getComputedStyle(element).color), light(dark ? "#121212" : "#fff")];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


def test_numbers_change_when_more_is_produced(page: Page, url: str, shop: Shop) -> None:
    page.goto(url + "topics")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="orders", exact=True))
    held = row.get_by_role("cell").nth(2)
    before = int(held.inner_text())
    shop.order(3)
    expect(held).to_have_text(str(before + 3))


def test_a_page_that_loads_itself_again_keeps_the_focus_and_the_place(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(url + "group?name=shipping")
    link = page.locator("main").get_by_role("link", name="orders").first
    link.focus()
    page.locator(".wide").first.evaluate("each => { each.scrollLeft = 50; }")
    page.locator("main").evaluate("main => { main.dataset.old = 1; }")
    expect(page.locator("main:not([data-old])")).to_be_visible()
    expect(link).to_be_focused()
    assert page.locator(".wide").first.evaluate("each => each.scrollLeft") == 50


def test_topics_are_filtered_and_sorted_and_what_is_typed_stays(page: Page, url: str) -> None:
    page.goto(url + "topics")
    field = page.get_by_label("Name has")
    field.fill("p")
    for _ in range(2):
        with page.expect_response(lambda answer: answer.url.endswith("/topics")):
            pass  # it loads itself again
    expect(field).to_have_value("p")
    page.keyboard.press("Enter")
    names = page.get_by_role("region", name="Topics").locator("td:first-child a")
    expect(names).to_have_text(["parcels", "payments"])
    page.get_by_role("columnheader", name="topic").get_by_role("link").click()
    expect(names).to_have_text(["payments", "parcels"])
    expect(page.locator("[aria-sort=descending]")).to_have_text("topic")
    assert page.url.endswith("topics?find=p&sort=-topic")


def test_alarms_lead_to_where_to_look(page: Page, url: str) -> None:
    page.goto(url + "configuration")
    alarms = page.get_by_role("region", name="Alarms")
    expect(alarms).to_contain_text("no member is online")
    alarms.get_by_role("link", name="Group audit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Group audit")


def test_a_keyboard_reaches_the_content_and_all_pages(page: Page, url: str) -> None:
    page.goto(url)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    names = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    for name in names:
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name=name, exact=True).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(names[-1])
    assert names.index("Configuration") == 10


def test_messages_are_found_by_id_key_and_time(page: Page, url: str, shop: Shop) -> None:
    page.goto(url + "messages")
    page.get_by_label("Topic").fill("orders")
    page.get_by_label("Key").fill("order-7")
    page.get_by_role("button", name="Search").click()
    found = page.get_by_role("region", name="Found").get_by_role("link")
    expect(found).to_have_count(1)
    message_id = found.inner_text()
    found.click()
    expect(page.locator("pre")).to_contain_text('"order": 7')
    page.goto(url + "messages?topic=orders")
    page.get_by_label("Message id").fill(message_id)
    page.keyboard.press("Enter")
    expect(found).to_have_text([message_id])
    page.get_by_label("Message id").fill("")
    page.get_by_label("Stored since").fill("9000-01-01")
    page.keyboard.press("Enter")
    expect(page.get_by_text("nothing found")).to_be_visible()


def test_dead_letters_are_chosen_and_read(page: Page, url: str) -> None:
    page.goto(url + "letters")
    page.get_by_role("link", name="billing", exact=True).click()
    page.get_by_label("Key or id").fill("order-3")
    page.get_by_role("button", name="Search").click()
    letters = page.get_by_role("region", name="Found").get_by_role("link")
    expect(letters).to_have_count(1)
    letters.click()
    expect(page.locator("pre")).to_contain_text('"order": 3')
    expect(page.get_by_role("row", name=re.compile("original topic"))).to_contain_text("orders")


def test_what_waits_can_be_looked_at(page: Page, url: str) -> None:
    for path, count, said in (("delayed", 7, "REAL_TOPIC"), ("halves", 3, "PGROUP")):
        page.goto(url + path)
        links = page.locator('a[href^="message?"]')
        expect(links).to_have_count(count)
        links.first.click()
        expect(page.get_by_role("rowheader", name=said)).to_be_visible()


def test_without_javascript_pages_work_and_load_themselves_again(chromium_running, url: str) -> None:
    with chromium_running.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(url)
        refresh = page.locator('meta[http-equiv="refresh"]')
        expect(refresh).to_have_attribute("content", "10")
        page.goto(url + "topics")
        expect(refresh).to_have_count(0)  # somebody may be typing
        page.get_by_role("link", name="orders", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Topic orders")


def test_a_test_message_is_sent_from_a_phone(page: Page, shop: Shop, serve, tmp_path) -> None:
    users = tmp_path / "users"
    users.write_text(user_line("ann", "a long secret"))
    url = serve(shop.nameserver, sign_in=f"file:{users}")
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto(url + "sign-in")
    page.get_by_label("User").fill("ann")
    page.get_by_label("Secret").fill("a long secret")
    page.get_by_role("button", name="Sign in").click()
    page.goto(url + "topic?name=parcels")
    page.get_by_role("link", name="Send a test message…").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.get_by_label("Properties").fill("colour=blue")
    page.get_by_label("Body", exact=True).fill("line 1\nline 2")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The message was sent")
    page.get_by_role("row", name=re.compile("message")).get_by_role("link").click()
    expect(page.locator("pre")).to_have_text("line 1\nline 2")
    expect(page.get_by_role("row", name="colour")).to_contain_text("blue")
