## A whole program with one kernel.
<%namespace name="statements" file="statements.cl.mako"/>\
<%namespace name="helpers" file="helpers.cl.mako"/>\
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
% for helper, types in helper_functions:

${capture(getattr(helpers, helper), types).strip()}
% endfor

% if group_size:
__kernel __attribute__((reqd_work_group_size(${group_size})))
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
