"""Topics and their queues."""

from __future__ import annotations


def test_topics_are_listed_with_what_they_hold(open_browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 3)
    for number in range(4):
        send("orders", str(number).encode())
    browser = open_browser(mqframe_cluster.nameserver)
    page = browser.page("/topics")
    assert '<td><a href="topic?name=orders">orders</a></td><td class="number">3</td>' in page
    assert '<td class="number">4</td>' in page
    assert "SCHEDULE_TOPIC_XXXX" not in page
    assert "SCHEDULE_TOPIC_XXXX" in browser.page("/topics", all="1")


def test_rates_are_sampled_over_time(open_browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 1)
    browser = open_browser(mqframe_cluster.nameserver, interval=1e-6)
    browser.page("/topics")
    send("orders", b"x")
    page = browser.page("/topics")
    assert '<svg class="curve"' in page
    page = browser.page("/topic", name="orders")
    assert '<svg class="chart"' in page
    assert "Messages a second over the last " in page
    assert "There is no rate yet" not in page


def test_a_topic_shows_its_queues_and_groups(browser, mqframe_cluster, send):
    mqframe_cluster.create_topic("orders", 2)
    send("orders", b"x")
    send("orders", b"y")
    page = browser.page("/topic", name="orders")
    for queue in (0, 1):
        assert f'<td>broker-a</td><td class="number">{queue}</td><td class="number">0</td>' in page
    assert '<th scope="row">messages</th><td>2</td>' in page
    assert "no group reads it" in page
    assert "There is no rate yet" in page
    assert 'href="messages?topic=orders"' in page


def test_unknown_topics_are_404_and_say_what_was_meant(browser, mqframe_cluster):
    mqframe_cluster.create_topic("orders", 1)
    answer = browser.get("/topic", name="order")
    assert answer.status_code == 404
    assert "there is no topic order; did you mean orders?" in answer.text
    odd = browser.get("/topic", name="<script>alert(1)</script>\x00")
    assert odd.status_code == 404
    assert "<script>" not in odd.text
