"""What happens on the device, in the order in which a launch needs it:

launch.py     a built kernel with its arguments, and the bytes that it touches
command.py    commands and streams
streams.py    in-order queues, and the order between them
completion.py what has completed and what has failed
hazards.py    which commands a command must come after
failures.py   what failed first
pool.py       memory handed out again
storage.py    memory that somebody holds
transfer.py   host to device and back
mapped.py     memory of the device that the host reads in place
driver.py     the seam to OpenCL
log.py        what streams and memory do, for who asks
engine.py     one device at work: all of the above, and every kernel that was built for it
"""
