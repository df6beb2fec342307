## One def per kind of statement; ocl_runtime/codegen/statements.py decides every text that stands in them.
## Each line of a statement begins with `pad`, the indentation of the block that it stands in.
<%def name="block(nodes, pad)">\
% for node in nodes:
${mark(node)}${getattr(local, node.template)(node, pad)}\
% endfor
</%def>\
\
<%def name="declare(s, pad)">\
${pad}${s.type} ${s.name} = ${s.value};
</%def>\
\
<%def name="declare_only(s, pad)">\
${pad}${s.type} ${s.name};
</%def>\
\
<%def name="assign(s, pad)">\
${pad}${s.name} = ${s.value};
</%def>\
\
<%def name="call(s, pad)">\
${pad}${s.call};
</%def>\
\
<%def name="branch(s, pad)">\
${pad}if (${s.condition}) {
${block(s.body, pad + "    ")}\
% if s.orelse:
${pad}} else {
${block(s.orelse, pad + "    ")}\
% endif
${pad}}
</%def>\
\
<%def name="for_loop(s, pad)">\
% if s.ordered:
${pad}#pragma clang loop vectorize(disable)
% endif
% if s.unroll:
${pad}#pragma unroll ${s.unroll}
% endif
${pad}for (${s.type} ${s.name} = ${s.start}; ${s.condition}; ${s.advance}) {
${block(s.body, pad + "    ")}\
${pad}}
</%def>\
\
<%def name="while_loop(s, pad)">\
% if s.ordered:
${pad}#pragma clang loop vectorize(disable)
% endif
${pad}while (${s.condition}) {
${block(s.body, pad + "    ")}\
${pad}}
</%def>\
\
<%def name="leave_unless(s, pad)">\
${pad}if (!${s.condition})
${pad}    break;
</%def>\
\
<%def name="several_statements(s, pad)">\
% for line in s.lines:
${pad}${line}
% endfor
</%def>\
