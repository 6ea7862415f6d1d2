//! How is a question answered by several agents? What the coordinator may say, how long it goes on, whom it may choose
//! (SHARE-23 to 25).
//!
//! What a coordinator or an agent says is an output of a model: it is read with limits, believed in nothing, and counts
//! whole or not at all. Nothing here knows who runs an agent, where a memory is, or what a model is.

mod documents;
mod progress;
mod protocol;
mod route;

pub use documents::{Document, Documents, NotDocuments, Passage};
pub use progress::{History, Line, Next, Progress, Stopped};
pub use protocol::{Move, Step, read_move, read_step};
pub use route::{covers, likeness, ordered};

/// Rounds of one question; each output of the coordinator is one, whatever it says.
pub const ROUNDS_MAX: usize = 8;
/// Outputs one after the other that cannot be read, after which nothing more is asked for.
pub const INVALID_MAX: usize = 2;
/// The characters of a question, and of each part of it that an agent is asked.
pub const QUERY_CHARS_MAX: usize = 2_000;
/// The characters of an answer.
pub const ANSWER_CHARS_MAX: usize = 8_000;
/// The answer where there is none.
pub const NO_ANSWER: &str = "No agents were able to process the query.";

/// The answer to a question, of what agents answered to its parts, in order: an aggregator without a model.
#[must_use]
pub fn joined<'a>(answers: impl Iterator<Item = &'a str>) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for answer in answers.map(str::trim).filter(|answer| !answer.is_empty()) {
        if !parts.contains(&answer) {
            parts.push(answer);
        }
    }
    if parts.is_empty() {
        return NO_ANSWER.to_owned();
    }
    cut(&parts.join("\n\n"), ANSWER_CHARS_MAX).to_owned()
}

/// The beginning of a text, of so many characters at most.
#[must_use]
pub fn cut(text: &str, chars_max: usize) -> &str {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-24: without a model the answers stand one after the other, each once; without any, one sentence says so.
    #[test]
    fn answers_are_joined_in_order() {
        assert_eq!(joined(["b", " a ", "b", ""].into_iter()), "b\n\na");
        assert_eq!(joined(["", "  "].into_iter()), NO_ANSWER);
        assert_eq!(joined([].into_iter()), NO_ANSWER);
        assert_eq!(
            joined(["é".repeat(ANSWER_CHARS_MAX + 5).as_str()].into_iter()).chars().count(),
            ANSWER_CHARS_MAX
        );
    }
}
