//! A text as detectors see it: the digits, spaces and hyphens of other alphabets as ASCII, invisible characters gone.
//!
//! Invariant (way back): every byte of the folded text knows which character of the original it came from, so what is
//! found here is cut out there, on character boundaries.

use super::stand_in::StandIns;
use std::ops::Range;

/// What a stand-in of an earlier step becomes: no letter, no digit, no separator.
const STAND_IN: char = '\u{1}';

/// A folded text and the way back.
pub(super) struct Folded {
    text: String,
    /// For each byte of `text`, where its character begins in the original; one more for the end.
    at: Vec<usize>,
}

impl Folded {
    /// Folds a text; stand-ins become one character that no detector takes.
    pub(super) fn new(original: &str, stand_ins: &StandIns) -> Self {
        let mut folded =
            Self { text: String::with_capacity(original.len()), at: Vec::with_capacity(original.len() + 1) };
        let mut done = 0;
        for token in stand_ins.tokens(original) {
            folded.push_all(original, done..token.start);
            folded.push(STAND_IN, token.start);
            done = token.end;
        }
        folded.push_all(original, done..original.len());
        folded.at.push(original.len());
        folded
    }

    fn push_all(&mut self, original: &str, range: Range<usize>) {
        let start = range.start;
        for (offset, c) in original.get(range).unwrap_or_default().char_indices() {
            if let Some(plain) = plain(c) {
                self.push(plain, start + offset);
            }
        }
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.at.extend(std::iter::repeat_n(at, c.len_utf8()));
    }

    /// The folded text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where a range of the folded text lies in the original.
    pub(super) fn back(&self, range: &Range<usize>) -> Range<usize> {
        let place = |index: usize| self.at.get(index).or(self.at.last()).copied().unwrap_or(0);
        place(range.start)..place(range.end)
    }
}

/// Characters that nobody sees: they would only hide a number from its detector.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// First digits of the alphabets whose digits are read.
const ZEROS: [u32; 8] = [0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xe50, 0x1040, 0xff10];

/// The ASCII character that means the same; nothing for an invisible one.
fn plain(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    if is_invisible(c) {
        return None;
    }
    let code = u32::from(c);
    if let Some(zero) = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code)) {
        return char::from_digit(code - zero, 10);
    }
    Some(match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(code - 0xfee0).unwrap_or(c),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-17: other digits, spaces and hyphens are read, invisible characters are not, and places lead back.
    #[test]
    fn what_is_found_is_cut_out_of_the_original() {
        let original = "n\u{ff12}\u{661}\u{200b}3\u{2011}4 é";
        let folded = Folded::new(original, &StandIns::default());
        assert_eq!(folded.text(), "n213-4 é");
        let digits = folded.back(&(1..4));
        assert_eq!(&original[digits], "\u{ff12}\u{661}\u{200b}3");
        assert_eq!(folded.back(&(0..folded.text().len())), 0..original.len());
    }

    /// SHARE-17: what an earlier step put in is nothing to the detectors.
    #[test]
    fn stand_ins_are_one_character() {
        let text = "a [REDACTED:email] b";
        assert_eq!(Folded::new(text, &StandIns::default()).text(), "a \u{1} b");
    }
}
