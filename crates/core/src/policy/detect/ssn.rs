//! American social security numbers: three, two and four digits that can have been issued.

use super::groups::Groups;
use std::ops::Range;

const LABELS: [&str; 5] = ["ssn", "social security", "social security number", "social security no", "ss"];

pub(super) fn find(groups: &Groups<'_>) -> Vec<Range<usize>> {
    (0..groups.count())
        .filter_map(|first| grouped(groups, first).or_else(|| unbroken(groups, first)))
        .collect()
}

/// `123-45-6789` or `123 45 6789`, and no further group.
fn grouped(groups: &Groups<'_>, first: usize) -> Option<Range<usize>> {
    let last = first + 2;
    let lengths = [groups.length(first), groups.length(first + 1), groups.length(last)];
    let separator = groups.separator(first)?;
    let shaped = lengths == [3, 2, 4]
        && matches!(separator, [b' ' | b'-'])
        && groups.separator(first + 1) == Some(separator)
        && groups.stand_alone(first, last)
        && !groups.joined_before(first, b"-.")
        && !groups.joined_after(last, b"-.");
    let digits = [groups.digits(first), groups.digits(first + 1), groups.digits(last)].concat();
    (shaped && can_be_issued(&digits)).then(|| groups.place(first).start..groups.place(last).end)
}

/// Nine digits behind a word that says what they are.
fn unbroken(groups: &Groups<'_>, index: usize) -> Option<Range<usize>> {
    let place = groups.place(index);
    let named = place.len() == 9 && groups.labelled(place.start, &LABELS) && groups.stand_alone(index, index);
    (named && can_be_issued(groups.digits(index))).then_some(place)
}

fn can_be_issued(digits: &[u8]) -> bool {
    let part = |range: Range<usize>| digits.get(range).unwrap_or_default();
    let area = part(0..3);
    area != b"000"
        && area != b"666"
        && area.first() != Some(&b'9')
        && part(3..5) != b"00"
        && part(5..9) != b"0000"
}
