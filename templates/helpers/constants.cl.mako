## What helper functions have in common. Generated kernels call helpers: each def of the other files here makes one OpenCL C
## 1.2 function for one type, named after the def.
##
## `t` describes the type: T its C name, I and U the signed and unsigned integer types of its width and lanes, suffix
## what tells the vector functions apart ("" or "_4"), lanes, bits of one lane, and for memory the address space. Scalar
## and vector functions do the same operations in the same order, and no lane's result depends on another lane.
##
## A constant operand of ?:, where a scalar does not become a vector by itself.
<%def name="splat(t, constant)" buffered="True">\
${constant if t.lanes == 1 else f"({t.U if constant.endswith('u') else t.T})({constant})"}\
</%def>
