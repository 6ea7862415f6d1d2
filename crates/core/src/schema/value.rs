//! JSON numbers as schemas compare them, and JSON values as they are equal: 1 and 1.0 are one number.

use crate::canonical::canonical;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Which of two numbers is larger. Whole numbers are compared exactly.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => real(left).total_cmp(&real(right)),
    }
}

/// Whether a number has no fraction, however it is written.
pub(super) fn is_whole(number: &Number) -> bool {
    number.as_i128().is_some() || real(number).fract() == 0.0
}

/// Whether a number is a multiple of a step that is more than zero.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (number.as_i128(), step.as_i128()) {
        return number.checked_rem(step) == Some(0);
    }
    // 19.99 / 0.01 is not quite 1999: decimal steps need the room of a few last places.
    let times = real(number) / real(step);
    (times - times.round()).abs() <= 4.0 * f64::EPSILON * times.abs().max(1.0)
}

fn real(number: &Number) -> f64 {
    // A sum with zero turns -0.0 into 0.0, so that the total order is that of numbers.
    number.as_f64().unwrap_or(f64::NAN) + 0.0
}

/// The bytes that two values share exactly if they are equal.
pub(super) fn identity(value: &Value) -> Vec<u8> {
    canonical(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// Whether two values are equal.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    left == right || identity(left) == identity(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(value: &Value) -> Number {
        value.as_number().unwrap().clone()
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let check = |left: Value, right: Value, expected: Ordering| {
            assert_eq!(compare(&number(&left), &number(&right)), expected, "{left} {right}");
        };
        check(json!(1), json!(1.0), Ordering::Equal);
        check(json!(-0.0), json!(0), Ordering::Equal);
        check(json!(u64::MAX), json!(i64::MIN), Ordering::Greater);
        check(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), Ordering::Greater);
        check(json!(-1.5), json!(-1), Ordering::Less);
        assert!(is_whole(&number(&json!(2.0))) && !is_whole(&number(&json!(2.5))));
    }

    #[test]
    fn multiples_of_decimals_hold() {
        let check = |value: Value, step: Value, expected: bool| {
            assert_eq!(is_multiple(&number(&value), &number(&step)), expected, "{value} {step}");
        };
        check(json!(19.99), json!(0.01), true);
        check(json!(19.995), json!(0.01), false);
        check(json!(7), json!(7), true);
        check(json!(8), json!(7), false);
        check(json!(1e300), json!(1e-300), false);
        check(json!(0), json!(0.5), true);
    }

    #[test]
    fn equal_values_are_the_same() {
        assert!(same(&json!({"a": [1, "e\u{301}"]}), &json!({"a": [1.0, "\u{e9}"]})));
        assert!(!same(&json!("1"), &json!(1)));
        assert!(!same(&json!([1, 2]), &json!([2, 1])));
    }
}
