"""What happens on the device, in the order in which a launch needs it:

log.py         what streams and memory do, for who asks
driver.py      the seam to OpenCL
streams/       in-order queues, and the order between them
memory/        memory handed out again
launch.py      a built kernel with its arguments, and the bytes that it touches
transfers/     host to device and back
sharing/       memory that PyOpenCL uses too
engine.py      one device at work: all of the above, and every kernel that was built for it
replay/        a schedule made ready to run again and again
"""
