"""Attention in one kernel, for devices with matrix instructions of warpgroups:

attention_kernel.py  the kernel
launches.py          its launches
"""
