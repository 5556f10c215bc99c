"""The cluster, its brokers, and their settings."""

from __future__ import annotations

from pkgutil import resolve_name

from mqframe_dashboard.masking import MASK
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import ConnectError

RUNTIME = "mqframe_admin.client.brokers.AsyncBrokerAdmin.runtime"


def test_brokers_are_listed_with_address_version_rates_and_disk(mqframe_cluster_factory, open_browser):
    cluster: Cluster = mqframe_cluster_factory(2)
    page = open_browser(cluster.nameserver).page("/")
    with Admin(nameserver=cluster.nameserver) as admin:
        masters = admin.cluster.masters()
        version = admin.brokers.runtime(masters["broker-a"])["brokerVersionDesc"]
    for name, address in masters.items():
        assert f'<a href="broker?name={name}&amp;id=0">{name}</a>' in page
        assert f"<td>{address}</td>" in page
    assert page.count(f"<td>{version}</td>") == 2
    assert page.count("%</td>") == 2


def test_a_broker_that_does_not_answer_is_told(mqframe_cluster_factory, open_browser, monkeypatch):
    cluster: Cluster = mqframe_cluster_factory(2)
    asked = resolve_name(RUNTIME)
    with Admin(nameserver=cluster.nameserver) as admin:
        gone = admin.cluster.masters()["broker-b"]

    async def answers(self, address):
        if address == gone:
            raise ConnectError("cannot be reached <b>")
        return await asked(self, address)

    monkeypatch.setattr(RUNTIME, answers)
    page = open_browser(cluster.nameserver).page("/")
    assert f"<td>{gone}</td>" in page
    assert "cannot be reached &lt;b&gt;" in page
    assert page.count("%</td>") == 1


def test_brokers_of_an_elected_group_are_leader_and_followers_and_say_what_is_wrong(
    mqframe_cluster_factory, open_browser, monkeypatch
):
    cluster: Cluster = mqframe_cluster_factory(1)
    asked = resolve_name(RUNTIME)

    async def answers(self, address):
        group = {"replicationEpoch": "3", "replicationTrouble": "the disk is full", "storeTrouble": ""}
        return {**await asked(self, address), **group}

    monkeypatch.setattr(RUNTIME, answers)
    page = open_browser(cluster.nameserver).page("/")
    assert "<td>leader</td>" in page
    assert "<td>the disk is full</td>" in page
    assert "master" not in page


def test_one_broker_shows_its_runtime_facts(browser):
    page = browser.page("/broker", name="broker-a")
    assert '<th scope="row">putTps</th><td>' in page
    assert 'href="configuration?name=broker-a&amp;id=0"' in page


def test_unknown_brokers_are_404(browser):
    answer = browser.get("/broker", name="broker-b")
    assert answer.status_code == 404
    assert "there is no broker broker-b with id 0; did you mean broker-a?" in answer.text
    assert browser.get("/broker", name="broker-a", id="<script>").status_code == 404


def test_settings_are_shown_without_secrets(browser, mqframe_cluster, monkeypatch):
    assert "broker-a</a>" in browser.page("/configuration")
    page = browser.page("/configuration", name="broker-a")
    assert "<td>brokerClusterName</td><td>DefaultCluster</td><td>default</td>" in page
    assert MASK not in page

    async def with_secrets(self, address):
        return {"brokerName": "broker-a", "aclSecretKey": "hush-1", "initUser": '{"password":"hush-2"}'}

    monkeypatch.setattr("mqframe_admin.client.brokers.AsyncBrokerAdmin.config", with_secrets)
    page = browser.page("/configuration", name="broker-a")
    assert page.count(MASK) == 2
    assert "hush" not in page


def test_settings_of_a_broker_that_does_not_tell_origins_are_shown(browser, monkeypatch):
    async def silent(self, address):
        return None

    monkeypatch.setattr("mqframe_admin.client.brokers.AsyncBrokerAdmin.config_origins", silent)
    page = browser.page("/configuration", name="broker-a")
    assert '<th scope="row">brokerClusterName</th><td>DefaultCluster</td>' in page
    assert "It does not tell where a value comes from." in page
