## Integers to integer powers. constants.cl.mako says what `t` is.
##
<%def name="integer_power(t)">\
<%
    signed = t.T == t.I
    vector = t.lanes > 1
    # C would widen a narrow scalar to int, where the product of two ushort can overflow.
    wide = t.U if vector or t.bits >= 32 else "uint"
    unsigned = (lambda name: f"as_{t.U}({name})") if signed else (lambda name: name)
%>\
/* x to the power y modulo 2^${t.bits}, by squaring (Knuth, The Art of Computer Programming, volume 2, 4.6.3).\
% if signed:
 A negative
   exponent gives 1/x, truncated toward zero. */
% else:
 */
% endif
static inline ${t.T} integer_power_${t.T}(const ${t.T} x, const ${t.T} y)
{
    /* Unsigned, because a product that overflows wraps there. */
% if vector:
    const ${t.U} zero = (${t.U})(0), one = (${t.U})(1);
    ${t.U} product = one;
    ${t.U} square = ${unsigned("x")};
    ${t.U} left = ${f"as_{t.U}(max(y, ({t.T})(0)))" if signed else "y"};
    while (any(left != zero)) {
        product = (left & one) != zero ? product * square : product;
        square = square * square;
        left = left >> one;
    }
% else:
    ${wide} product = 1;
    ${wide} square = ${unsigned("x")};
    ${wide} left = ${f"y < 0 ? 0 : as_{t.U}(y)" if signed else "y"};
    while (left != 0) {
        product = (left & 1) != 0 ? product * square : product;
        square = square * square;
        left = left >> 1;
    }
% endif
% if not signed:
    return ${"product" if wide == t.U else f"({t.T})product"};
% elif vector:
    /* 1/x is x for 1 and -1, of which -1 stays for odd powers; it is 0 for all others. */
    const ${t.T} none = (${t.T})(0), plus = (${t.T})(1);
    const ${t.T} inverse = x == plus || x == -plus ? ((y & plus) != none ? x : plus) : none;
    return y < none ? inverse : as_${t.T}(product);
% else:
    /* 1/x is x for 1 and -1, of which -1 stays for odd powers; it is 0 for all others. */
    const ${t.T} inverse = x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0;
    return y < 0 ? inverse : (${t.T})product;
% endif
}
</%def>
