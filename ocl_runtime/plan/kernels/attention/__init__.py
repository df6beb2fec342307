"""Attention and its gradients in one kernel each, for devices with matrix instructions of warpgroups:

parts.py             what the kernels have in common
attention_kernel.py  attention
gradients_kernel.py  its gradients, by queries, keys and values
statistics_kernel.py what these need of each query
maps.py              the launch that describes matrices of which boxes are copied
launches.py          the launches of each
"""
