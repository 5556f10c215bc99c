"""What RocketMQ's mqadmin shows of clients that speak gRPC."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.foreign_programs import NEWEST
from interop.grpc.clients import ClientProgram, Clients
from interop.grpc.conftest import grpc_port
from interop.grpc.doors import Door
from interop.mqadmin import pairs, rows, running
from mqframe import PluginManager

pytestmark = pytest.mark.proves("operation", by=f"mqadmin {NEWEST}")

TOPIC, GROUP, CALLED = "sights", "lookers", "callers"


def test_clients_of_a_door_are_shown_as_others(newest_class_path: str, tmp_path: Path) -> None:
    plugins = PluginManager().configured({"grpc": {"port": 0}})
    with Cluster(plugins=plugins, broker={"services": ("grpc",)}) as cluster:
        door = Door(f"127.0.0.1:{grpc_port(cluster)}", cluster.nameserver)
        door.create_topic(TOPIC, queues=1)
        program = ClientProgram("python", tmp_path / "clients")
        clients = Clients(program, door)
        producer, push = clients.producer(TOPIC), clients.push(GROUP, {TOPIC: "*"})
        simple = clients.simple(CALLED, {TOPIC: "*"})
        with door.admin() as admin, running(newest_class_path, cluster.nameserver, tmp_path) as mqadmin:
            for number in range(3):
                producer.send(TOPIC, f"{number}")
            push.take(3)
            got = simple.receive(1)
            until(lambda: admin.groups.lag(GROUP) == 0)
            simple.ack(*got)
            until(lambda: admin.groups.lag(CALLED) == 2)

            for group, way in ((GROUP, "CONSUME_PASSIVELY"), (CALLED, "CONSUME_ACTIVELY")):
                shown = mqadmin("consumerConnection", "-g", group)
                [member] = [row for row in rows(shown) if len(row) == 4]
                assert member[2] == "PYTHON"
                assert member[3].startswith("V5_")
                assert [TOPIC, "*"] in rows(shown)
                assert f"ConsumeType: {way}" in shown
                status = mqadmin("consumerStatus", "-g", group, "-i", member[0])
                told = pairs(status)
                assert told["PROP_CONSUME_TYPE"] == way
                # By this it compares members when it is asked about a whole group, which leaves files behind.
                assert abs(int(told["PROP_CONSUMER_START_TIMESTAMP"]) / 1000 - time.time()) < 600
                assert ["001", "Topic:", TOPIC] in [row[:3] for row in rows(status)]
            [member] = rows(mqadmin("producerConnection", "-g", TOPIC, "-t", TOPIC))
            assert member[3] == "PYTHON"
            progress = {row[0]: row[1:] for row in rows(mqadmin("consumerProgress"))}
            assert progress[GROUP][0] == progress[CALLED][0] == "1"
            assert (progress[GROUP][2], progress[CALLED][2]) == ("PUSH", "PULL")
            [row] = [row for row in rows(mqadmin("consumerProgress", "-g", CALLED)) if row[0] == TOPIC]
            assert row[:6] == [TOPIC, "broker-a", "0", "3", "1", "2"]
        clients.end()
        program.end()
