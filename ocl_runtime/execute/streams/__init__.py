"""In-order queues, and the order between them.

failures.py    what failed first
command.py     commands and streams
footprints.py  which bytes the elements of a layout are
hazards.py     which commands a command must come after
chosen.py      which stream a thread has chosen
completion.py  what has completed and what has failed
streams.py     the streams of a device: each command is given with the fewest waits
program.py     the steps of a program, given together
"""
