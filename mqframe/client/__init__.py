"""Producers, consumers and administration; each with an asyncio and a sync API."""
