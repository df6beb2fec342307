## A kernel that runs a user's statement for each i.
${preamble}

__kernel void ${name}(${(",\n" + " " * (len(name) + 15)).join(params)})
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0)) {
        ${operation};
    }
}
