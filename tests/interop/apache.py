"""Apache's own name server and broker, as child processes that are ended by their owner."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.ports import lasting_port

from interop.foreign_programs import OPENS, java_flags, write_logs
from interop.servers import Servers
from mqframe import Admin, ClientSettings, MqframeError

STARTED_SECONDS_MAX = 120.0
BROKER_CONF = """\
brokerClusterName={cluster}
brokerName={broker_name}
brokerId=0
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort={port}
haListenPort={ha_port}
namesrvAddr={nameserver}
storePathRootDir={home}/store
storePathCommitLog={home}/store/commitlog
autoCreateTopicEnable=true
mappedFileSizeCommitLog=16777216
mappedFileSizeConsumeQueue=600000
maxHashSlotNum=5000
maxIndexNum=20000
diskMaxUsedSpaceRatio=95
transactionTimeOut=4000
transactionCheckInterval=1000
enablePropertyFilter=true
waitTimeMillsInSendQueue=20000
osPageCacheBusyTimeOutMills=20000
timerFlushIntervalMs=600000
"""
"""The last: writing its timer wheel to the disk, each second, takes more than all else that an idle broker
does. The two before: on a machine that others use, it would soon refuse what is sent or sent back as too
busy. Go clients do not look at such an answer, and the message that they sent back is lost.
"""


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


class Apache:
    """A name server and a broker in `home`. Use it in a with block; it ends only what it started.

    `conf`: more lines of the broker's file; `flags`: of both Java processes; `access`: what a client of ours
    needs to be let in; `nameserver`: of somebody else, which the broker registers with in place of one of its
    own.
    """

    broker_class = "org.apache.rocketmq.broker.BrokerStartup"
    """What is started as the broker."""

    def __init__(
        self,
        class_path: str,
        home: Path,
        *,
        conf: str = "",
        flags: Sequence[str] = (),
        access: Mapping[str, Any] | None = None,
        nameserver: str | None = None,
    ) -> None:
        self._own_names = nameserver is None
        self._class_path = class_path
        self._conf = conf
        self._flags = flags
        self._access = access or {}
        self.home = home
        self._broker: subprocess.Popen[bytes] | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        # Brokers take the port above theirs and the second below as well.
        name_port, port = lasting_port(), lasting_port(1, -2)
        self.servers = Servers(
            nameserver or f"127.0.0.1:{name_port}", f"127.0.0.1:{port}", "apache-a", "ApacheCluster"
        )

    def start_names(self) -> None:
        """Start the name server alone; `stop` it."""
        nameserver = self.servers.nameserver
        write_logs(self.home)
        conf = self.home / "ns.conf"
        conf.write_text(f"listenPort={port_of(nameserver)}\nbindAddress=127.0.0.1\n")
        names = self._run("-Xmx96m", "org.apache.rocketmq.namesrv.NamesrvStartup", conf)
        self._until_listening(nameserver, names)

    def __enter__(self) -> Apache:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def write_conf(self) -> Path:
        """The broker's file."""
        conf = self.home / "broker.conf"
        port = port_of(self.servers.broker)
        conf.write_text(
            BROKER_CONF.format(port=port, ha_port=port + 1, home=self.home, **self.servers._asdict())
            + self._conf
        )
        return conf

    def _start(self) -> None:
        write_logs(self.home)
        if self._own_names:
            self.start_names()
        self._start_broker()

    def _start_broker(self) -> None:
        broker = self.servers.broker
        self._broker = self._run("-Xmx384m", self.broker_class, self.write_conf())
        self._until_listening(broker, self._broker)
        end = time.monotonic() + STARTED_SECONDS_MAX
        patient = ClientSettings(request_timeout_seconds=STARTED_SECONDS_MAX)
        with Admin(nameserver=self.servers.nameserver, client=patient, **self._access) as admin:
            # A change of its permission makes the broker register now; else it does so after ten seconds.
            admin.brokers.update_config(broker, {"brokerPermission": "6"})
            while not self._registered(admin):
                if time.monotonic() > end:
                    pytest.fail("Apache's broker did not register in time")
                time.sleep(0.05)

    def restart_broker(self, *, orderly: bool = False) -> None:
        """Kill the broker, or have it end in good order, and start it again where it was."""
        assert self._broker is not None
        if orderly:
            self.end_broker()
        else:
            self._broker.kill()
            self._broker.wait()
        self._start_broker()

    def _registered(self, admin: Admin) -> bool:
        try:
            return admin.cluster.masters().get(self.servers.broker_name) == self.servers.broker
        except MqframeError:
            return False

    def _run(self, heap: str, main: str, conf: Path) -> subprocess.Popen[bytes]:
        # Fixed sizes keep the two light.
        memory = [heap, "-XX:MaxDirectMemorySize=512m", *java_flags(self._class_path)]
        command = [
            "java",
            *OPENS,
            *memory,
            *self._flags,
            f"-Duser.home={self.home}",
            "-cp",
            self._class_path,
            main,
        ]
        with (self.home / f"{conf.stem}.out").open("wb") as output:
            process = subprocess.Popen(
                [*command, "-c", str(conf)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROCKETMQ_HOME": str(self.home), "NAMESRV_ADDR": self.servers.nameserver},
            )
        self._processes.append(process)
        return process

    def _until_listening(self, address: str, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + STARTED_SECONDS_MAX
        while time.monotonic() < end:
            if process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port_of(address)), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        said = "".join(path.read_text(errors="replace")[-1500:] for path in self.home.glob("*.out"))
        pytest.fail(f"Apache's server at {address} did not start: {said}")

    def end_broker(self) -> None:
        """Have the broker end in good order, which takes it ten seconds."""
        assert self._broker is not None
        self._broker.terminate()
        self._broker.wait(STARTED_SECONDS_MAX)

    def stop(self) -> None:
        """End what was started."""
        # Nothing of it is read again, and an orderly end takes the broker ten seconds.
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
