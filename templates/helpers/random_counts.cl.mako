## Poisson and binomial numbers from words of 64 bits. constants.cl.mako says what `t` is. The meaning is in
## ir/ocl_ir/random_counts.py, which has the same constants and operations in the same order.
##
## Each function is made of others, which are defined inside of it: a helper stands alone.
<%!
def deeper(text):
    """The lines of a loop's body."""
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
%>\
<%namespace name="candidates" file="random_candidates.cl.mako"/>\
<%namespace name="random" file="random.cl.mako"/>\
<%def name="double_of(t)" buffered="True">${"double" if t.lanes == 1 else f"double{t.lanes}"}</%def>
<%def name="logarithm(t, x, name)" buffered="True">\
<% f = double_of(t) %>\
    const ${f} ${name}_positive = ${x} > 0.0 ? ${x} : (${f})(1.0);
${candidates.parts(t, f, f"{name}_positive", name)}\
${candidates.logarithm(t, f, f"{name}_exponent", f"{name}_fraction", name)}\
</%def>
## x log(x / mean) + mean - x
<%def name="distance(t, x, mean, name)" buffered="True">\
<% f = double_of(t) %>\
    const ${f} ${name}_t = (${mean} - ${x}) / ${x};
    const ${f} ${name}_ratio = ${mean} / ${x};
    const ${f} ${name}_positive = ${name}_ratio > 0.0 ? ${name}_ratio : (${f})(1.0);
${candidates.parts(t, f, f"{name}_positive", name)}\
    const ${t.I} ${name}_is_near = ${"-" if t.lanes == 1 else ""}(${name}_t > -0.29 & ${name}_t < 0.41);
    const ${f} ${name}_k = ${name}_is_near ? (${f})(0.0) : ${name}_exponent;
    const ${f} ${name}_r = ${name}_is_near ? ${name}_t : ${name}_fraction;
${candidates.logarithm(t, f, f"{name}_k", f"{name}_r", name)}\
    const ${f} ${name}_distance = ${x} * (${name}_t - ${name}_log);
</%def>
## How much log(x!) is more than Stirling's formula says.
<%def name="error(t, x, name)" buffered="True">\
<% f = double_of(t) %>\
    const ${f} ${name}_squared = ${x} * ${x};
    ${f} ${name}_error = (0.08333333333333333 - (0.002777777777777778 - (7.936507936507937e-4
        - 5.952380952380953e-4 / ${name}_squared) / ${name}_squared) / ${name}_squared) / ${x};
% for number, exact in enumerate(("0.08106146679532726", "0.04134069595540929", "0.02767792568499834", "0.02079067210376509", "0.01664469118982119"), 1):
    ${name}_error = ${x} == ${number}.0 ? (${f})(${exact}) : ${name}_error;
% endfor
</%def>
## exp(x) for x from -16 to 0.
<%def name="exponential(t, x, name)" buffered="True">\
<% f = double_of(t) %>\
    const ${f} ${name}_sixteenth = ${x} / 16.0;
    ${f} ${name} = 1.0;
    for (int term = 14; term > 0; --term) {
        ${name} = 1.0 + ${name}_sixteenth * ${name} / term;
    }
    for (int square = 0; square < 4; ++square) {
        ${name} = ${name} * ${name};
    }
</%def>
## The candidates of numbers, each from two words, until none is rejected; `expected` if all of one are.
<%def name="turns_begin(t)" buffered="True">\
<% f = double_of(t) %>\
    ${f} found = -1.0;
    for (int turn = 0; turn < 20; ++turn) {
${random.candidate_words(t)}\
        const ${f} u = convert_${f}(first) * 0x1p-64 + 0x1p-65 - 0.5;
        const ${f} v = convert_${f}(second) * 0x1p-64 + 0x1p-65;
        const ${f} room = 0.5 - fabs(u);
</%def>
<%def name="turns_end(t)" buffered="True">\
<% f = double_of(t) %>\
        found = found >= 0.0 ? found : (is_taken & k >= 0.0) ? k : (${f})(-1.0);
        if (${"found >= 0.0" if t.lanes == 1 else "all(found >= 0.0)"}) {
            break;
        }
    }
    const ${f} whole = expected > 0.0 ? floor(expected) : (${f})(0.0);
    return as_${t.T}(found >= 0.0 ? found : whole);
</%def>
##
<%def name="poisson_small(t)">\
<% f = double_of(t) %>\
/* The bits of a Poisson number of a mean below 10: how many sums of probabilities a uniform number is above. */
static inline ${t.T} poisson_small_${t.T}(const ${t.T} word, const ${t.T} mean_bits)
{
    const ${f} u = convert_${f}(word >> 11) * 0x1p-53, mean = as_${f}(mean_bits);
${exponential(t, "-mean", "probability")}\
    ${f} upto = probability, count = 0.0;
    for (int number = 1; number <= 48; ++number) {
        count = u >= upto ? count + 1.0 : count;
        probability = probability * mean / number;
        upto = upto + probability;
    }
    return as_${t.T}(count);
}
</%def>
##
<%def name="poisson_large(t)">\
<% f = double_of(t) %>\
/* The bits of Poisson numbers of a mean of 10 or more: algorithm PTRS of Hoermann, The transformed rejection method for
   generating Poisson random variables (1993). */
static inline ${t.T} poisson_large_${t.T}(const ${t.T} number, const ${t.T} c1, const ${t.T} draw_low,
        const ${t.T} draw_high, const ${t.T} k0, const ${t.T} k1, const ${t.T} mean_bits)
{
    const ${f} mean = as_${f}(mean_bits), expected = mean;
    const ${f} b = 0.931 + 2.53 * sqrt(mean);
    const ${f} a = -0.059 + 0.02483 * b;
    const ${f} inside = 0.9277 - 3.6224 / (b - 2.0), scale = 1.1239 + 1.1328 / (b - 3.4);
${turns_begin(t)}\
        const ${f} k = floor((2.0 * a / room + b) * u + mean + 0.43);
        const ${f} x = k > 1.0 ? k : (${f})(1.0);
        /* The logarithm of the probability: Loader, Fast and accurate computation of binomial probabilities (2000). */
${distance(t, "x", "mean", "from_mean") | deeper}\
${error(t, "x", "stirling") | deeper}\
        const ${f} circle = 6.283185307179586 * x;
${logarithm(t, "circle", "circle") | deeper}\
        const ${f} most = k == 0.0 ? -mean : -from_mean_distance - stirling_error - 0.5 * circle_log;
        const ${f} share = v * scale / (a / (room * room) + b);
${logarithm(t, "share", "share") | deeper}\
        const ${t.I} is_inside = ${"-" if t.lanes == 1 else ""}(room >= 0.07 & v <= inside);
        const ${t.I} is_outside = ${"-" if t.lanes == 1 else ""}(k < 0.0 | (room < 0.013 & v > room));
        const ${t.I} is_below = ${"-" if t.lanes == 1 else ""}(share_log <= most);
        const ${t.I} is_taken = is_inside | (~is_outside & is_below);
${turns_end(t)}\
}
</%def>
##
<%def name="binomial_small(t)">\
<% f = double_of(t) %>\
/* The bits of a binomial number of n trials, of a mean below 10: how many sums of probabilities a uniform number is above. */
static inline ${t.T} binomial_small_${t.T}(const ${t.T} word, const ${t.T} n_bits, const ${t.T} p_bits)
{
    const ${f} u = convert_${f}(word >> 11) * 0x1p-53, n = as_${f}(n_bits), p = as_${f}(p_bits);
    const ${f} q = 1.0 - p;
${logarithm(t, "q", "failure")}\
    const ${f} power = n * failure_log;
${exponential(t, "power", "probability")}\
    const ${f} odds = p / q;
    ${f} upto = probability, count = 0.0;
    for (int number = 1; number <= 48; ++number) {
        count = (u >= upto & count < n) ? count + 1.0 : count;
        probability = probability * odds * (n + 1.0 - number) / number;
        upto = upto + probability;
    }
    return as_${t.T}(count);
}
</%def>
##
## The logarithm of the probability of a count, without what all counts have.
<%def name="log_probability(t, k, name)" buffered="True">\
<% f = double_of(t) %>\
    const ${f} ${name}_behind = n - ${k};
    const ${f} ${name}_x = ${k} > 1.0 ? ${k} : (${f})(1.0);
    const ${f} ${name}_y = ${name}_behind > 1.0 ? ${name}_behind : (${f})(1.0);
${error(t, f"{name}_x", f"{name}_x")}\
${error(t, f"{name}_y", f"{name}_y")}\
${distance(t, f"{name}_x", "mean", f"{name}_x")}\
${distance(t, f"{name}_y", "rest", f"{name}_y")}\
    const ${f} ${name}_both = ${name}_x * ${name}_y;
${logarithm(t, f"{name}_both", f"{name}_both")}\
    const ${f} ${name}_inner = -${name}_x_error - ${name}_y_error - ${name}_x_distance - ${name}_y_distance
        - 0.5 * ${name}_both_log;
    const ${f} ${name}_ends = (${k} == 0.0 ? n * failure_log : n * success_log) - shared;
    const ${f} ${name}_probability = (${k} == 0.0 | ${k} == n) ? ${name}_ends : ${name}_inner;
</%def>
<%def name="binomial_large(t)">\
<% f = double_of(t) %>\
/* The bits of binomial numbers of n trials, of a mean of 10 or more: algorithm BTRS of Hoermann, The generation of
   binomial random variates (1993). */
static inline ${t.T} binomial_large_${t.T}(const ${t.T} number, const ${t.T} c1, const ${t.T} draw_low,
        const ${t.T} draw_high, const ${t.T} k0, const ${t.T} k1, const ${t.T} n_bits, const ${t.T} p_bits)
{
    const ${f} n = as_${f}(n_bits), p = as_${f}(p_bits);
    const ${f} q = 1.0 - p, mean = n * p, rest = n * q, expected = mean;
    const ${f} spread = sqrt(mean * q);
    const ${f} b = 1.15 + 2.53 * spread;
    const ${f} a = -0.0873 + 0.0248 * b + 0.01 * p;
    const ${f} inside = 0.92 - 4.2 / b, scale = 2.83 + 5.1 / b;
    /* Logarithms of probabilities: Loader, Fast and accurate computation of binomial probabilities (2000). */
    const ${f} trials = n * 0.15915494309189535;
${logarithm(t, "trials", "trials")}\
${logarithm(t, "q", "failure")}\
${logarithm(t, "p", "success")}\
${error(t, "n", "n")}\
    const ${f} shared = n_error + 0.5 * trials_log;
    const ${f} middle = floor((n + 1.0) * p);
${log_probability(t, "middle", "middle")}\
${turns_begin(t)}\
        const ${f} k = floor((2.0 * a / room + b) * u + mean + 0.5);
        const ${t.I} is_outside = ${"-" if t.lanes == 1 else ""}(k < 0.0 | k > n);
        const ${f} count = is_outside ? middle : k;
${log_probability(t, "count", "count") | deeper}\
        const ${f} most = count_probability - middle_probability;
        const ${f} share = v * scale * spread / (a / (room * room) + b);
${logarithm(t, "share", "share") | deeper}\
        const ${t.I} is_inside = ${"-" if t.lanes == 1 else ""}(room >= 0.07 & v <= inside);
        const ${t.I} is_below = ${"-" if t.lanes == 1 else ""}(share_log <= most);
        const ${t.I} is_taken = ~is_outside & (is_inside | is_below);
${turns_end(t)}\
}
</%def>
