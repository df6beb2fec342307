"""What happens on the device, in the order in which a launch needs it:

storage.py    memory on the device
transfer.py   host to device and back
launch.py     a built kernel, its arguments, and the command that runs it
engine.py     one context and queue, with everything that it built
"""
