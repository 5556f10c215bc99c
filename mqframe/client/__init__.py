"""Producers, consumers and administration; each with an asyncio and a blocking face."""
