"""Messages for a given time at the broker: the timer, and recalls."""
