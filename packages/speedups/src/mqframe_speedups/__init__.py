"""The native leaf: what costs a broker most, laid out by compiled code under the same Python.

`service`: the broker service `speedups`; `sends`: ordinary messages of producers; `log_reading`: records of
the log at starts.
"""
