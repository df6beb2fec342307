## A whole program with one kernel.
<%namespace name="statements" file="statements.cl.mako"/>\
% if note:
/* ${note} */
% endif
% for extension in extensions:
#pragma OPENCL EXTENSION ${extension} : enable
% endfor
#pragma OPENCL FP_CONTRACT OFF
% if macros:

% endif
% for macro in macros:
#define ${macro}
% endfor
% for helper in helper_functions:

${helper}
% endfor

% if attributes:
__kernel ${" ".join(f"__attribute__(({one}))" for one in attributes)}
void ${name}(${(",\n" + " " * (len(name) + 6)).join(params)})
% else:
__kernel void ${name}(${(",\n" + " " * (len(name) + 15)).join(params)})
% endif
{
% for pointer in pointers:
    ${pointer};
% endfor
% for declaration in declarations:
    ${declaration};
% endfor
${statements.block(body, "    ")}\
}
