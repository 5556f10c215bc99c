"""Settings of a name server."""

from __future__ import annotations

from pathlib import Path

from mqframe.core.cluster.registration_body import PLAIN_BYTES_MAX
from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.errors import SettingError
from mqframe.core.storage.file_modes import bad_mode


@settings("nameserver")
class NameServerSettings:
    """Where a name server listens, what it keeps and what it answers."""

    host: str = setting("127.0.0.1", doc="address to listen on", conf="bindAddress")
    port: int = setting(
        9876, doc="port to listen on; 0: any free one", check=within(0, 65535), conf="listenPort"
    )
    operator_port: int | None = setting(
        None,
        doc="port where operators are served: the other refuses then what they alone do, such as "
        "configuring; 0: any free one; none: one port serves all",
        check=lambda port: None if port is None else within(0, 65535)(port),
    )
    directory: Path | None = setting(
        None,
        doc="folder that keeps key-value configuration and the settings that were changed while it ran; "
        "without it both are lost at the end",
    )
    file_mode: str = setting(
        "600", doc="permissions of the files that the name server keeps, octal", check=bad_mode
    )
    order_message_enable: bool = setting(
        False,
        doc="put the fixed queue list of a topic that is marked as ordered into its route",
        conf="orderMessageEnable",
        live=True,
    )
    return_order_topic_config_to_broker: bool = setting(
        True,
        doc="give brokers the order configuration when they register",
        conf="returnOrderTopicConfigToBroker",
        live=True,
    )
    support_acting_master: bool = setting(
        False,
        doc="show the lowest slave of a broker without master as its master",
        conf="supportActingMaster",
    )
    delete_topic_with_broker_registration: bool = setting(
        False,
        doc="a registration removes the broker's topics that it does not name",
        conf="deleteTopicWithBrokerRegistration",
    )
    enable_all_topic_list: bool = setting(
        True, doc="answer the list of all topics", conf="enableAllTopicList", live=True
    )
    enable_topic_list: bool = setting(
        True, doc="answer the lists of topics by cluster and unit", conf="enableTopicList", live=True
    )
    need_wait_for_service: bool = setting(
        False,
        doc="refuse routes at first, until brokers had time to register",
        conf="needWaitForService",
        live=True,
    )
    wait_seconds_for_service: float = setting(
        45.0, doc="for how long, s", check=at_least(0), conf="waitSecondsForService", live=True
    )
    scan_milliseconds: int = setting(
        5000,
        doc="how often silent brokers are looked for, ms",
        check=at_least(1),
        conf="scanNotActiveBrokerInterval",
    )
    brokers_max: int = setting(10_000, doc="most brokers that are registered at once", check=at_least(1))
    route_entries_max: int = setting(
        1_000_000,
        doc="most topics, each counted once for each broker name that has it; beyond it what a broker "
        "registers is refused as busy",
        check=at_least(64),
    )
    registration_bytes_max: int = setting(
        PLAIN_BYTES_MAX,
        doc="longest registration of a broker that compresses it, unpacked, bytes; 20,000 topics with names "
        "of 40 letters take 1.3 MB. What is not compressed has `net.frame_bytes_max`",
        check=within(64 * 1024, 1 << 30),
    )
    values_max: int = setting(
        100_000, doc="most values of key-value configuration, in all namespaces", check=at_least(64)
    )
    rpc_hooks: tuple[str, ...] = setting((), doc="RPC hook plugins around every request", plugin="rpc_hook")

    def __attrs_post_init__(self) -> None:
        if self.operator_port and self.operator_port == self.port:
            raise SettingError(
                f"nameserver.operator_port = {self.operator_port} is nameserver.port as well: choose another"
                " port for operators"
            )
