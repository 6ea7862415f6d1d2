"""The tests' own canonical form, against the examples of RFC 8785."""

import canonical


def test_canonical_form_follows_the_rfc():
    """The numbers, escapes and order of RFC 8785, sections 3.2.2 and 3.2.3 and appendix B."""
    numbers = [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27, 1e21, 1e20, 0.000001, 1e-7, -0.0, 9007199254740993, 5e-324, -1.5]
    assert [canonical.number(float(value)) for value in numbers] == [
        "333333333.3333333", "1e+30", "4.5", "0.002", "1e-27", "1e+21", "100000000000000000000", "0.000001", "1e-7", "0",
        "9007199254740992", "5e-324", "-1.5",
    ]  # fmt: skip
    unordered = {"\u20ac": 1, "\r": 2, "\uffee": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7}
    assert canonical.text_of(unordered) == '{"\\r":2,"1":4,"\x80":6,"\xf6":7,"\u20ac":1,"\U0001f600":5,"\uffee":3}'
    assert canonical.text_of('\u20ac$\x0f\nA\'B"\\"/') == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\"/"'
