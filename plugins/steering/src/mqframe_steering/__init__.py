"""What applications say and hear about the queues and topics of their consumers.

Nothing is imported here: consumers find their parts by themselves.
"""
