"""The rules of quotas, without clock, loop or broker: time is handed in, seconds that never go back."""
