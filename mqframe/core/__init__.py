"""The vocabulary and the rules: values in, values out.

Nothing here opens a file or a socket, reads a clock or draws a random number. What a rule needs of the
outside is handed in, so that each can be tested without a loop, a disk or a sleep.
"""
