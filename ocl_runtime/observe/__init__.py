"""Seeing what happens. Nothing below calls this package except through `ocl_runtime.executor.Recorder`.

svg.py              pictures as text
pictures.py         the streams of a host program, and the waits between them
memory_picture.py   where its scratch memory lies, and when
fusion.py           how an expression was put into groups, and these into kernels, as text
stages.py           every stage of a kernel, and every view of a host program, as text, by name
dump.py             a recorder that writes them to a folder
profile.py          where the time went: a table
timeline.py         when commands ran: for a browser, and for Perfetto
commands.py         a driver that records every command that passes through it
order.py            the proof, from such a record, that no two conflicting accesses can run at once
"""
