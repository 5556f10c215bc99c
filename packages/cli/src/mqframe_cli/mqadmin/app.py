"""`mqframe mqadmin`: RocketMQ's operators' commands for those who know them, and for their scripts."""

from __future__ import annotations

from mqframe_cli.commands import new_app
from mqframe_cli.mqadmin import brokers, groups, messages, topics

app = new_app(help="Commands by the names and options of RocketMQ's mqadmin; they do not ask.")
for _room in (topics, groups, messages, brokers):
    _room.register(app)
