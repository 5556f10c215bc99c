"""Frames over sockets: a server, a client with an asyncio and a blocking face, the clock they obey."""
