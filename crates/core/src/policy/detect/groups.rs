//! Groups of digits and what stands between them: the ground on which numbers are found.

use std::ops::Range;

/// The longest separator that still joins two groups, in bytes.
const SEPARATOR_MAX: usize = 3;
/// How far before a number a word may stand that says what it is, in bytes.
const LABEL_BYTES_MAX: usize = 24;

/// The groups of digits of a text.
pub(super) struct Groups<'a> {
    bytes: &'a [u8],
    groups: Vec<Range<usize>>,
}

impl<'a> Groups<'a> {
    /// Every unbroken run of digits.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
            match groups.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        Self { bytes, groups }
    }

    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) const fn count(&self) -> usize {
        self.groups.len()
    }

    /// Where a group stands; an empty place past the end where there is none.
    pub(super) fn place(&self, index: usize) -> Range<usize> {
        self.groups.get(index).cloned().unwrap_or(self.bytes.len()..self.bytes.len())
    }

    /// How many digits a group has; none where there is no group.
    pub(super) fn length(&self, index: usize) -> usize {
        self.place(index).len()
    }

    /// The digits of a group.
    pub(super) fn digits(&self, index: usize) -> &'a [u8] {
        self.bytes.get(self.place(index)).unwrap_or_default()
    }

    /// What stands between a group and the next one, if they are close.
    pub(super) fn separator(&self, index: usize) -> Option<&'a [u8]> {
        self.groups.get(index + 1)?;
        let between = self.bytes.get(self.place(index).end..self.place(index + 1).start)?;
        (between.len() <= SEPARATOR_MAX).then_some(between)
    }

    /// The byte before a group.
    pub(super) fn before(&self, index: usize) -> Option<u8> {
        self.place(index).start.checked_sub(1).and_then(|at| self.bytes.get(at)).copied()
    }

    /// The byte after a group.
    pub(super) fn after(&self, index: usize) -> Option<u8> {
        self.bytes.get(self.place(index).end).copied()
    }

    /// Whether the group before is joined to this one by one of these characters.
    pub(super) fn joined_before(&self, index: usize, by: &[u8]) -> bool {
        let before = index.checked_sub(1).and_then(|previous| self.separator(previous));
        matches!(before, Some([one]) if by.contains(one))
    }

    /// Whether the next group is joined to this one by one of these characters.
    pub(super) fn joined_after(&self, index: usize, by: &[u8]) -> bool {
        matches!(self.separator(index), Some([one]) if by.contains(one))
    }

    /// Whether no letter touches the groups from `first` to `last`.
    pub(super) fn stand_alone(&self, first: usize, last: usize) -> bool {
        !self.before(first).is_some_and(|byte| byte.is_ascii_alphabetic())
            && !self.after(last).is_some_and(|byte| byte.is_ascii_alphabetic())
    }

    /// Whether the words before a place end in one of these; spaces and `:.#=-` between do not matter.
    pub(super) fn labelled(&self, at: usize, labels: &[&str]) -> bool {
        let start = at.saturating_sub(LABEL_BYTES_MAX);
        let before = self.bytes.get(start..at).unwrap_or_default().to_ascii_lowercase();
        let end = before.iter().rposition(|byte| !b" :.#=-(".contains(byte)).map_or(0, |last| last + 1);
        let before = before.get(..end).unwrap_or_default();
        labels.iter().any(|label| {
            before
                .strip_suffix(label.as_bytes())
                .is_some_and(|rest| !rest.last().is_some_and(u8::is_ascii_alphabetic))
        })
    }
}
