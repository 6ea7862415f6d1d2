//! How is a text shown that someone else wrote?
//!
//! So that its reader sees all of it and nothing happens to the reader: what would steer a terminal, turn the order of
//! letters around or take no room at all is shown by its name instead.

/// A text of several lines; line breaks and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

/// A text that has one line to itself: a line break in it is shown too, so it cannot pass for the line below.
#[must_use]
pub fn visible_line(text: &str) -> String {
    shown(text, |_| false)
}

fn shown(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Signs for control characters exist, but few fonts have them.
        if is_unseen(c) && !stays(c) {
            out.push_str(&format!("<U+{:04X}>", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character shows nothing by itself, or changes how others are shown. Joiners and variation selectors of emoji are
/// among them: whoever decides on a text should see what is really there.
fn is_unseen(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x1f | 0x7f..=0x9f   // control characters
        | 0xad | 0x34f | 0x61c      // soft hyphen, joiner, mark of direction
        | 0x115f | 0x1160 | 0x17b4 | 0x17b5
        | 0x180b..=0x180f
        | 0x200b..=0x200f           // of no width, and marks of direction
        | 0x2028..=0x202e           // other line breaks, changes of direction
        | 0x2060..=0x206f
        | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
        | 0xfff0..=0xfffb
        | 0x1_bca0..=0x1_bca3 | 0x1_d173..=0x1_d17a
        | 0xe_0000..=0xe_0fff) // tags, further selectors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-6.4: whoever reviews a write sees all of it.
    #[test]
    fn nothing_hides_and_nothing_steers() {
        assert_eq!(visible("a\x1b[2Jb\r\nc\td\u{7f}"), "a<U+001B>[2Jb<U+000D>\nc\td<U+007F>");
        assert_eq!(visible("\u{9b}31m\u{202e}abc\u{2066}\u{200b}"), "<U+009B>31m<U+202E>abc<U+2066><U+200B>");
        assert_eq!(visible("ok\u{e0041}\u{e0100}\u{fe0f}"), "ok<U+E0041><U+E0100><U+FE0F>");
        assert_eq!(visible("Привет, 世界 — naïve\u{a0}🦀"), "Привет, 世界 — naïve\u{a0}🦀");
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(
            visible_line("key\nstate  approved\t\u{2028}"),
            "key<U+000A>state  approved<U+0009><U+2028>"
        );
    }
}
