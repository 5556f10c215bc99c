"""Frames over sockets: a server, an asyncio and a blocking client, the clock they obey."""
