//! How does one text differ from another, word by word?
//!
//! Bounded: texts that differ in too many words are shown as one taken away and one put in its place.

/// Cells of the table in which words are compared: two texts of 1,400 differing words each.
const CELLS_MAX: usize = 1 << 21;
/// Characters of an unchanged stretch that are shown on the side of a change.
const AROUND: usize = 120;

/// A stretch of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// In both.
    Same(String),
    /// In the old text only.
    Gone(String),
    /// In the new text only.
    New(String),
    /// So many characters that are in both and not shown.
    Skipped(usize),
}

/// Compares two texts.
#[must_use]
pub fn compare(old: &str, new: &str) -> Vec<Piece> {
    let (old, new) = (words(old), words(new));
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (same, old) = old.split_at(before);
    let (_, new) = new.split_at(before);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, end) = old.split_at(old.len() - after);
    let (new, _) = new.split_at(new.len() - after);

    let mut steps: Vec<Step<'_>> = same.iter().map(|word| Step::Same(word)).collect();
    steps.extend(middle(old, new));
    steps.extend(end.iter().map(|word| Step::Same(word)));
    folded(joined(&steps))
}

/// A word and where it stands.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// Words, the room between them, and every other character by itself.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = sort(first);
        let end = if kind == Sort::Sign {
            first.len_utf8()
        } else {
            rest.find(|c| sort(c) != kind).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Word,
    Room,
    Sign,
}

fn sort(c: char) -> Sort {
    if c.is_alphanumeric() || c == '_' {
        Sort::Word
    } else if c.is_whitespace() {
        Sort::Room
    } else {
        Sort::Sign
    }
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    if old.len().saturating_mul(new.len()) > CELLS_MAX {
        let gone = old.iter().map(|word| Step::Gone(word));
        return gone.chain(new.iter().map(|word| Step::New(word))).collect();
    }
    let lengths = Lengths::of(old, new);
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                steps.push(Step::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), other) if other.is_none() || lengths.at(i + 1, j) >= lengths.at(i, j + 1) => {
                steps.push(Step::Gone(a));
                i += 1;
            }
            (_, Some(b)) => {
                steps.push(Step::New(b));
                j += 1;
            }
            (_, None) => return steps,
        }
    }
}

/// How many words the ends of two texts have in common, by where the ends begin.
struct Lengths {
    cells: Vec<u16>,
    width: usize,
}

impl Lengths {
    fn of(old: &[&str], new: &[&str]) -> Self {
        let width = new.len() + 1;
        // Rows from the last word to the first: a row needs only the one made before it.
        let mut rows = vec![vec![0_u16; width]];
        for word in old.iter().rev() {
            let mut row = vec![0_u16; width];
            let below = rows.last().map(Vec::as_slice).unwrap_or_default();
            let mut right = 0;
            for (j, other) in new.iter().enumerate().rev() {
                let here = |j: usize| below.get(j).copied().unwrap_or(0);
                right = if word == other { here(j + 1).saturating_add(1) } else { right.max(here(j)) };
                if let Some(cell) = row.get_mut(j) {
                    *cell = right;
                }
            }
            rows.push(row);
        }
        Self { cells: rows.into_iter().rev().flatten().collect(), width }
    }

    fn at(&self, i: usize, j: usize) -> u16 {
        self.cells.get(i * self.width + j).copied().unwrap_or(0)
    }
}

/// Steps as stretches. Room between two changes belongs to both: a sentence put anew reads as one change.
fn joined(steps: &[Step<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut same, mut gone, mut new) = (String::new(), String::new(), String::new());
    let mut steps = steps.iter().peekable();
    while let Some(step) = steps.next() {
        match *step {
            Step::Gone(word) => gone.push_str(word),
            Step::New(word) => new.push_str(word),
            Step::Same(word) => {
                let changed = !gone.is_empty() && !new.is_empty();
                let changes_again = matches!(steps.peek(), Some(Step::Gone(_) | Step::New(_)));
                if changed && changes_again && word.trim().is_empty() {
                    gone.push_str(word);
                    new.push_str(word);
                    continue;
                }
                flush(&mut pieces, &mut gone, &mut new);
                same.push_str(word);
                if steps.peek().is_some_and(|next| matches!(next, Step::Same(_))) {
                    continue;
                }
                pieces.push(Piece::Same(std::mem::take(&mut same)));
            }
        }
    }
    flush(&mut pieces, &mut gone, &mut new);
    pieces
}

fn flush(pieces: &mut Vec<Piece>, gone: &mut String, new: &mut String) {
    if !gone.is_empty() {
        pieces.push(Piece::Gone(std::mem::take(gone)));
    }
    if !new.is_empty() {
        pieces.push(Piece::New(std::mem::take(new)));
    }
}

/// Stretches with long unchanged ones cut to what is near a change.
fn folded(pieces: Vec<Piece>) -> Vec<Piece> {
    let last = pieces.len().saturating_sub(1);
    let fold = |(place, piece): (usize, Piece)| match piece {
        Piece::Same(text) => cut(text, place > 0, place < last),
        Piece::Gone(_) | Piece::New(_) | Piece::Skipped(_) => vec![piece],
    };
    pieces.into_iter().enumerate().flat_map(fold).collect()
}

/// An unchanged stretch, with so much of it as the changes before and after it need.
fn cut(text: String, after_change: bool, before_change: bool) -> Vec<Piece> {
    let count = text.chars().count();
    let (head, tail) = (if after_change { AROUND } else { 0 }, if before_change { AROUND } else { 0 });
    if count <= head + tail + AROUND || (!after_change && !before_change) {
        return vec![Piece::Same(text)];
    }
    let place = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (start, _) = text.split_at(place(head));
    let (_, end) = text.split_at(place(count - tail));
    let mut pieces = Vec::new();
    if !start.is_empty() {
        pieces.push(Piece::Same(start.to_owned()));
    }
    pieces.push(Piece::Skipped(count - head - tail));
    if !end.is_empty() {
        pieces.push(Piece::Same(end.to_owned()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(pieces: &[Piece]) -> String {
        let mark = |piece: &Piece| match piece {
            Piece::Same(text) => text.clone(),
            Piece::Gone(text) => format!("[{text}]"),
            Piece::New(text) => format!("{{{text}}}"),
            Piece::Skipped(count) => format!("…{count}…"),
        };
        pieces.iter().map(mark).collect()
    }

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(marked(&compare(old, new)), expected, "{old:?} against {new:?}");
    }

    /// GOV-6.4: a reviewer sees which words would change.
    #[test]
    fn words_that_change_stand_out() {
        check("Port 8080 serves the API", "Port 9090 serves the API", "Port [8080]{9090} serves the API");
        check("a b c", "a b c", "a b c");
        check("", "new", "{new}");
        check("old", "", "[old]");
        check("", "", "");
        check("a, b", "a, b, c", "a, b{, c}");
        check("the old red door", "the new blue door", "the [old red]{new blue} door");
        check("x port", "x port now", "x port{ now}");
        check("né à Paris", "née à Lyon", "[né]{née} à [Paris]{Lyon}");
    }

    /// Both texts can be read back from the stretches, whatever they are.
    #[test]
    fn nothing_is_lost() {
        let texts =
            ["", "a", " a  b ", "b a\nb, c!", "c c c c", "a b c d e f g", "ß∂ƒ ©\u{301}", "a b x d e y g"];
        for old in texts {
            for new in texts {
                let pieces = compare(old, new);
                let side = |of_new: bool| -> String {
                    let text = |piece: &Piece| match piece {
                        Piece::Same(text) => Some(text.clone()),
                        Piece::Gone(text) => (!of_new).then(|| text.clone()),
                        Piece::New(text) => of_new.then(|| text.clone()),
                        Piece::Skipped(_) => None,
                    };
                    pieces.iter().filter_map(text).collect()
                };
                assert_eq!((side(false), side(true)), (old.to_owned(), new.to_owned()), "{pieces:?}");
            }
        }
    }

    #[test]
    fn long_texts_are_bounded() {
        let words = |first: usize| (first..first + 12_000).map(|n| format!("w{n} ")).collect::<String>();
        let (old, new) = (words(0), words(1_000_000));
        assert_eq!(compare(&old, &new).len(), 3, "another text, but for the room at its end");
        let changed = old.replacen("w6000 ", "six thousand ", 1);
        let pieces = compare(&old, &changed);
        assert_eq!(pieces.len(), 6, "{pieces:?}");
        assert!(
            matches!(pieces.first(), Some(Piece::Skipped(_)))
                && matches!(pieces.last(), Some(Piece::Skipped(_)))
        );
    }
}
