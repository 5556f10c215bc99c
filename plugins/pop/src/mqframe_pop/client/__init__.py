"""The simple consumer: messages are received and acknowledged one by one (POP)."""
