"""Host to device and back.

mapped.py    memory of the device that the host reads in place
staging.py   large transfers in pieces
transfer.py  all transfers
"""
