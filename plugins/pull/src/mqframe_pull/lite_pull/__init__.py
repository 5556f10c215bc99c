"""The lite pull consumer: the application polls, and seeks in its queues."""
