//! What would be lost of a known claim if a newer one took its place, and which texts are records of a day of their own.

use super::words::{Sentence, Word};
use super::{Claim, STATEMENTS_MAX, Statement, compare, gist};

/// Content words by which a sentence of several clauses may be longer than the text that answers it.
const LONGER_MAX: usize = 2;

/// The most clauses with a verb of their own in one sentence of a text: "Ana lives in Berlin and is allergic to nuts" has two.
pub(super) fn clauses(sentences: &[Sentence]) -> u8 {
    let count = |sentence: &Sentence| gist::verbs_apart(&sentence.words, begins_clause);
    sentences.iter().map(count).max().map_or(0, |most| u8::try_from(most).unwrap_or(u8::MAX))
}

fn begins_clause(word: &Word) -> bool {
    matches!(word.text.as_str(), "and" | "but" | "while" | "whereas" | "whose" | "who" | "which")
}

impl Claim {
    /// Whether the claim says something that a newer one neither repeats nor contradicts: it would be lost with it.
    #[must_use]
    pub fn says_more_than(&self, newer: &Self) -> bool {
        let said = |statement: &&Statement| !(statement.tokens.is_empty() && statement.values.is_empty());
        let alone = self.statements.iter().filter(said).count() <= 1;
        let words = newer.statements.iter().map(|statement| statement.tokens.len()).sum::<usize>();
        let fits = |statement: &Statement| {
            self.clauses.unwrap_or_default() <= 1 || statement.tokens.len() <= words + LONGER_MAX
        };
        let is_answered = |(at, statement): (usize, &Statement)| {
            let literal = newer
                .statements
                .iter()
                .any(|other| other.form == statement.form || compare::judge(statement, other).is_some());
            literal || (fits(statement) && (alone || self.is_answered_in_other_words(at, newer)))
        };
        self.statements.len() >= STATEMENTS_MAX
            || !self.statements.iter().enumerate().filter(|(_, one)| said(one)).all(is_answered)
    }

    /// Whether a newer claim contradicts this sentence in other words; known only where sentences are read one by one.
    fn is_answered_in_other_words(&self, at: usize, newer: &Self) -> bool {
        let Some(old) = self.gists.get(at).filter(|_| self.gists.len() > 1) else { return false };
        let similarity = self.similarity(newer);
        newer.gists.iter().any(|new| gist::weigh(old, new, similarity).is_some())
    }

    /// Whether the very same words, said at another time, are a record of their own: an event, a reading or a note of another day,
    /// or words such as "tomorrow" that mean another day by now.
    #[must_use]
    pub fn is_record_of_another_day(&self, other: &Self) -> bool {
        let episodic = self.made.episodic && other.made.episodic;
        // Of the same words, only what relative times are resolved to makes the forms differ.
        episodic && (self.tells_another_event(other) || self.form != other.form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserId;
    use crate::item::{Content, Layer};
    use crate::text::Analyser;
    use crate::time::Timestamp;

    fn said(text: &str, time: &str) -> Claim {
        let at = time.parse::<Timestamp>().expect("a moment");
        let claim = Claim::of(&Content::plain("note", text), &mut Analyser::default());
        claim.stored(UserId::from_bytes([1; 16]), at, Layer::Episodic)
    }

    /// AM-3: what a change does not answer is not lost with what it answers.
    #[test]
    fn note_says_more_than_the_sentence_that_changes() {
        let more = |known: &str, new: &str| {
            said(known, "2050-01-01T00:00:00Z").says_more_than(&said(new, "2050-02-01T00:00:00Z"))
        };
        let note = "Ana lives in Berlin. She is allergic to penicillin. Her sister is called Eva.";
        assert!(more(note, "Ana lives in Paris."));
        assert!(more(
            "Ana lives in Berlin, is allergic to penicillin and her sister is called Eva.",
            "Ana lives in Paris."
        ));
        assert!(!more("Ana lives in Berlin.", "Ana lives in Paris."));
        assert!(!more("Ana lives in Berlin.", "I think so. Ana lives in Paris."));
        assert!(!more(note, "Ana lives in Paris. She is allergic to penicillin. Her sister is called Eva."));
        assert!(!more("The port is 8080. The door is open.", "The port is 9090. The door is closed."));
        assert!(more("The port is 8080. The door is open.", "The port is 9090."));
        assert!(!more("Jonas works at Siemens", "Jonas left Siemens in May"));
    }

    /// AM-2: the same words on another day are another event, reading or note; a state that lasts is the same state.
    #[test]
    fn record_of_another_day_is_no_repetition() {
        let (monday, later, wednesday) =
            ("2050-01-03T08:00:00Z", "2050-01-03T19:00:00Z", "2050-01-05T08:00:00Z");
        for text in [
            "The deploy failed.",
            "Backup completed",
            "Weight 81 kg",
            "Ben slept 8 hours last night.",
            "Disk usage of db-1 is 71%.",
            "Mood: 7/10",
            "Dentist tomorrow at 9.",
            "Ana visited Rome.",
        ] {
            assert!(said(text, monday).is_record_of_another_day(&said(text, wednesday)), "{text}");
            assert!(!said(text, monday).is_record_of_another_day(&said(text, later)), "{text}");
        }
        for text in
            ["Ana lives in Berlin.", "The port is 8080.", "Ben was born in Rome.", "The API receives JSON"]
        {
            assert!(!said(text, monday).is_record_of_another_day(&said(text, wednesday)), "{text}");
        }
    }
}
