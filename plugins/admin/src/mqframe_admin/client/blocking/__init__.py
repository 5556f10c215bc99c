"""The administration for plain threads, generated from the asyncio one."""
