//! Payment cards: a number of an issuer's length whose check digit is right (Luhn).

use super::groups::Groups;
use std::ops::Range;

/// Groups that a printed number has at most.
const GROUPS_MAX: usize = 6;
const DIGITS_MIN: usize = 13;
const DIGITS_MAX: usize = 19;

pub(super) fn find(groups: &Groups<'_>) -> Vec<Range<usize>> {
    (0..groups.count()).filter_map(|first| starting_at(groups, first)).collect()
}

/// The longest card number that begins with this group.
fn starting_at(groups: &Groups<'_>, first: usize) -> Option<Range<usize>> {
    if is_fraction(groups, first) {
        return None;
    }
    let mut digits: Vec<u8> = Vec::with_capacity(DIGITS_MAX);
    let mut longest = None;
    for last in first..first + GROUPS_MAX {
        if digits.len() + groups.length(last) > DIGITS_MAX {
            break;
        }
        digits.extend(groups.digits(last).iter().map(|byte| byte - b'0'));
        if is_card(&digits) && groups.stand_alone(first, last) {
            longest = Some(groups.place(first).start..groups.place(last).end);
        }
        if !continues(groups, first, last) {
            break;
        }
    }
    longest
}

/// Whether the next group can belong to it: one space or hyphen, the same all along, groups of three digits or more.
fn continues(groups: &Groups<'_>, first: usize, last: usize) -> bool {
    let separator = groups.separator(last);
    matches!(separator, Some([b' ' | b'-']))
        && separator == groups.separator(first)
        && groups.length(last) >= 3
}

/// Behind a decimal point: digits of a number, not a number of a card.
fn is_fraction(groups: &Groups<'_>, first: usize) -> bool {
    groups.joined_before(first, b".,")
}

fn is_card(digits: &[u8]) -> bool {
    (DIGITS_MIN..=DIGITS_MAX).contains(&digits.len()) && has_issuer(digits) && luhn(digits)
}

/// Whether an issuer has numbers that begin so and are so long. No issuer's begin as moments in milliseconds do.
fn has_issuer(digits: &[u8]) -> bool {
    let length = digits.len();
    let start = digits.iter().take(4).fold(0u32, |number, digit| number * 10 + u32::from(*digit));
    match start {
        4000..=4999 => matches!(length, 13 | 16 | 18 | 19),
        5100..=5599 | 2221..=2720 => length == 16,
        3400..=3499 | 3700..=3799 => length == 15,
        3000..=3099 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&length),
        3500..=3599 | 2200..=2204 | 8100..=8299 => (16..=19).contains(&length),
        2014 | 2149 => length == 15,
        5000..=5099 | 5600..=5899 | 6000..=6999 => true,
        _ => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(*digit) << (place % 2);
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}
