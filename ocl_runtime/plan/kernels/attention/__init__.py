"""Attention and its gradients in kernels that store no scores, for devices with matrix instructions of warpgroups:

parts.py             what the kernels have in common
attention_kernel.py  attention
statistics_kernel.py what gradients need of each query
gradients.py         what the kernels of gradients have in common
by_queries.py        the gradient by queries
by_keys.py           the gradients by keys and by values
gradients_kernel.py  the kernel of each gradient
maps.py              the launch that describes matrices of which boxes are copied
launches.py          the launches of each
"""
