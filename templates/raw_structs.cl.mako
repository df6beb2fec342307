## Structs that NumPy's dtypes have the layout of, in front of a user's text. What that text declares itself is compared.
% for struct in declared:
typedef struct {
% for name, type in struct.fields:
    ${memory_type(type)} ${name};
% endfor
} ${struct.name};
% endfor
${preamble}\
% for struct in compared:

typedef char _${struct.name}_is_of_${struct.size}_bytes[sizeof(${struct.name}) == ${struct.size} ? 1 : -1];
% endfor
