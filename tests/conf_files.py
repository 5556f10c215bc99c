"""Files of RocketMQ's brokers, as settings are read from them: the command line does that."""

from __future__ import annotations

from mqframe_cli.settings.properties_file import broker_conf as broker_conf
