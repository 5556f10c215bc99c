"""The push consumer: listeners are called with the messages of their topics."""
