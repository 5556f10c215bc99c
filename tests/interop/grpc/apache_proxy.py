"""Apache's proxy with its broker inside, as a child process: what our door is compared with."""

from __future__ import annotations

import json
from pathlib import Path

from mqframe_testing.ports import lasting_port

from interop.apache import Apache
from interop.grpc.doors import INVISIBLE_MIN_MS, POLLING_MS, Door
from interop.grpc.programs import build_java

CONF = """\
enableMixedMessageType=true
recallMessageEnable=true
timerPrecisionMs=1000
"""
"""Lines of the broker's file that Apache's own does not have, and these tests need."""


class ApacheProxy(Apache):
    """Apache's name server, and one process that is proxy and broker. Use it in a with block.

    `home`: for its files.
    """

    broker_class = "LoopbackProxy"

    def __init__(self, home: Path) -> None:
        super().__init__(build_java("proxy"), home, conf=CONF)
        self._port = lasting_port()
        settings = {
            "rocketMQClusterName": self.servers.cluster,
            "grpcServerPort": self._port,
            # Each pool of threads would be made for a machine of many processors.
            "grpcThreadPoolNums": 16,
            "enableGrpcEpoll": False,
            "grpcClientConsumerMinLongPollingTimeoutMillis": POLLING_MS[0],
            "grpcClientConsumerMaxLongPollingTimeoutMillis": POLLING_MS[1],
            "minInvisibleTimeMillsForRecv": INVISIBLE_MIN_MS,
        }
        (home / "rmq-proxy.json").write_text(json.dumps(settings))

    def write_conf(self) -> Path:
        self._flags = ["-Xmx512m"]
        return super().write_conf()

    @property
    def door(self) -> Door:
        """Where clients knock."""
        endpoint = f"127.0.0.1:{self._port}"
        self._until_listening(endpoint, self._processes[-1])
        return Door(endpoint, self.servers.nameserver, apache=True)
