"""What happens on the device, in the order in which a launch needs it:

launch.py      a built kernel with its arguments, and the bytes that it touches
prepared.py    a launch that was checked once, to run over other memory
command.py     commands and streams
chosen.py      which stream a thread has chosen
streams.py     in-order queues, and the order between them
completion.py  what has completed and what has failed
hazards.py     which commands a command must come after
failures.py    what failed first
pool.py        memory handed out again
blocks.py      its pages, blocks and free list
host_memory.py arrays of the host
storage.py     memory that somebody holds
transfer.py    host to device and back
staging.py     large transfers in pieces
steps.py       the nodes of a schedule, ready to be enqueued
replay.py      a schedule made ready to run again and again
eager.py       a schedule run command by command
mapped.py      memory of the device that the host reads in place
sharing.py     memory that PyOpenCL uses too
borrowed.py    a user's buffer as a storage of ours
foreign.py     PyOpenCL's own objects
driver.py      the seam to OpenCL
log.py         what streams and memory do, for who asks
engine.py      one device at work: all of the above, and every kernel that was built for it
"""
