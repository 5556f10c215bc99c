"""The message filter `SQL92`."""
