//! Whether two texts whose vectors lie close together say the same.
//!
//! A vector hardly sees who does what to whom, which number it is, or a "not". So a near vector proves nothing until the
//! words agree: the same ones in the same order, but for articles, words that add nothing, words that stand for each other,
//! and a plain passive. What is in doubt is no paraphrase: two facts are never taken for one.

mod alike;

use super::lexicon::{Role, lexicon};
use super::words::{self, Sentence, Word};
use super::{Claim, LONG_TEXT_BYTES, SIGMA_TOPIC, contradiction};
use crate::item::Content;
use crate::text::Analyser;
use alike::{every, is_light, stands_for};

/// Words of each side of a passive that is turned round.
const SIDE_WORDS_MAX: usize = 6;

/// GOV-3.4: whether nothing differs between two contents that a vector does not see.
#[must_use]
pub fn may_be_paraphrase(known: &Content, new: &Content) -> bool {
    let short = |content: &Content| content.text.len() <= LONG_TEXT_BYTES;
    let speaker = |content: &Content| content.fields.get("speaker").cloned();
    let same_frame = known.key == new.key
        && speaker(known) == speaker(new)
        && known.triple.is_some() == new.triple.is_some()
        && Claim::fingerprint(known) == Claim::fingerprint(new);
    same_frame
        && short(known)
        && short(new)
        && marks(&known.text) == marks(&new.text)
        && same_sentences(&known.text, &new.text)
        && !contradict(known, new)
}

/// Signs that are more than punctuation, in order.
fn marks(text: &str) -> Vec<char> {
    const PLAIN: &str = ".,;:!?'’‘\"“”()[]—–-";
    text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && !PLAIN.contains(*c)).collect()
}

fn same_sentences(known: &str, new: &str) -> bool {
    let (a, b) = (words::sentences(known), words::sentences(new));
    let same = |(a, b): (&Sentence, &Sentence)| a.asks == b.asks && same_words(&a.words, &b.words);
    !a.is_empty() && a.len() == b.len() && a.iter().zip(&b).all(same)
}

fn contradict(known: &Content, new: &Content) -> bool {
    let mut analyser = Analyser::default();
    let (a, b) = (Claim::of(known, &mut analyser), Claim::of(new, &mut analyser));
    contradiction(&a, &b, SIGMA_TOPIC).is_some() || contradiction(&b, &a, SIGMA_TOPIC).is_some()
}

fn same_words(a: &[Word], b: &[Word]) -> bool {
    let (a, b) = (pieces(a), pieces(b));
    !a.is_empty() && (agree(&a, &b) || agree(&active(&a), &active(&b)))
}

fn agree(a: &[Piece], b: &[Piece]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.agrees(b))
}

/// A word that counts.
#[derive(Debug, Clone)]
struct Piece {
    text: String,
    /// Whether it is capitalised; unknown at the start of a sentence.
    capital: Option<bool>,
    owner: bool,
    quoted: bool,
}

impl Piece {
    fn agrees(&self, other: &Self) -> bool {
        let capitals = match (self.capital, other.capital) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        capitals && self.text == other.text && self.owner == other.owner && self.quoted == other.quoted
    }

    fn role(&self) -> Option<Role> {
        lexicon().surface(&self.text)
    }
}

/// The words of a sentence that count, each as the one that stands for it. Names and quotations stand for themselves.
fn pieces(words: &[Word]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1);
        let literal = word.quoted || (word.capital && at > 0);
        let phrase =
            next.filter(|next| !literal && !word.stop && !next.capital && !next.quoted && !next.owner);
        let period = phrase.and_then(|next| every(&word.text, &next.text));
        let capital = (at > 0).then_some(word.capital);
        let piece =
            |text: &str| Piece { text: text.to_owned(), capital, owner: word.owner, quoted: word.quoted };
        match period {
            Some(period) => pieces.push(piece(period)),
            None if literal => pieces.push(piece(&word.text)),
            None if is_light(&word.text) && leads(word, next) => {}
            None => pieces.push(piece(stands_for(&word.text))),
        }
        at += 1 + usize::from(period.is_some());
    }
    pieces
}

/// Whether a word stands before what it belongs to: the letter in "plan a is on" is no article.
fn leads(word: &Word, next: Option<&Word>) -> bool {
    let role = |next: &Word| lexicon().surface(&next.text);
    let open = |next: &&Word| {
        !matches!(
            role(next),
            Some(
                Role::Be(_)
                    | Role::Have(_)
                    | Role::Aux(_)
                    | Role::Link
                    | Role::Preposition
                    | Role::Conjunction
                    | Role::Modal
            )
        )
    };
    !word.stop && !word.owner && next.filter(open).is_some()
}

/// "Bob was hired by Alice" as "Alice hired Bob"; anything else as it is.
fn active(pieces: &[Piece]) -> Vec<Piece> {
    turned(pieces).unwrap_or_else(|| pieces.to_vec())
}

fn turned(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let by = pieces.iter().position(|piece| piece.text == "by" && !piece.quoted)?;
    let (done_to, verb) = pieces.get(..by)?.split_at_checked(by.checked_sub(2)?)?;
    let [be, verb] = verb else { return None };
    let doer = pieces.get(by + 1..)?;
    let passive = matches!(be.text.as_str(), "was" | "were") && verb.text.ends_with("ed");
    // Who and whom are a few plain words: no clause, nothing denied, nobody who is only pointed at.
    let plain = |side: &[Piece]| {
        (1..=SIDE_WORDS_MAX).contains(&side.len()) && side.iter().all(|piece| piece.role().is_none())
    };
    if !passive || verb.quoted || verb.capital != Some(false) || !plain(done_to) || !plain(doer) {
        return None;
    }
    Some(doer.iter().chain([verb]).chain(done_to).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Triple;
    use proptest::prelude::*;

    fn content(text: &str) -> Content {
        Content::plain("fact", text)
    }

    fn same(a: &str, b: &str) -> bool {
        let (a, b) = (content(a), content(b));
        let found = may_be_paraphrase(&a, &b);
        assert_eq!(found, may_be_paraphrase(&b, &a), "{} / {}", a.text, b.text);
        found
    }

    /// GOV-3.4: other words for the same, articles, words that add nothing, and a plain passive.
    #[test]
    fn the_same_in_other_words_may_be_a_paraphrase() {
        for (a, b) in [
            ("The staging database is backed up every night", "The staging database is backed up nightly."),
            ("Alice purchased a large house in Oslo", "Alice bought a big house in Oslo"),
            ("The team frequently utilises the cache", "The team often uses the cache"),
            ("Maria hired the new designer", "The new designer was hired by Maria"),
            ("Bob begins work at 9:00", "Bob starts work at 9:00"),
            ("Alice has two cats", "Alice has 2 cats"),
            ("The API isn't on", "The API is not on"),
            ("The car is very fast", "The automobile is quick"),
        ] {
            assert!(same(a, b), "{a} / {b}");
        }
    }

    /// GOV-3.4: numbers, dates, denials, names, roles, tenses, quotations and opposites tell two facts apart.
    #[test]
    fn what_a_vector_does_not_see_tells_two_facts_apart() {
        for (a, b) in [
            ("The API listens on port 8080", "The API listens on port 8081"),
            ("Bob runs five km daily", "Bob runs six km daily"),
            ("The audit starts on 5 May 2024", "The audit begins on 6 May 2024"),
            ("The release ships on Monday", "The release ships on Tuesday"),
            ("Backups run every night", "Backups run every week"),
            ("The big car is on", "The large car is not on"),
            ("Alice never eats meat", "Alice always eats meat"),
            ("Alice manages Bob", "Bob manages Alice"),
            ("Alice hired Bob", "Alice was hired by Bob"),
            ("The dog chased the cat", "The cat chased the dog"),
            ("Alice bought a house", "Bob purchased a house"),
            ("The service runs in Berlin", "The service runs in Munich"),
            ("Alice works at Acme", "Alice worked at Acme"),
            ("Alice has a cat", "Alice has cats"),
            ("Alice must buy it", "Alice should purchase it"),
            ("The door is open", "The door is closed"),
            ("The mode is \"big\"", "The mode is \"large\""),
            ("They love the US", "They love us"),
            ("Ana moved to the big city", "Ana moved from the large city"),
            ("Ana likes tea and coffee", "Ana likes tea or coffee"),
            ("Ana's dog is big", "Ana dog is large"),
            ("Plan a is on", "Plan is on"),
            ("Delete *.log", "Delete .log"),
            ("Is the port open?", "The port is open"),
            ("It is done. Ana left.", "It is done."),
            ("The report was finished by Friday", "The report was finished on Friday"),
            ("He was hired by Alice", "Alice hired he"),
            ("", ""),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }

    /// GOV-3.4: another topic, speaker or triple makes another fact, whatever the text.
    #[test]
    fn what_stands_around_the_text_counts() {
        let plain = content("the large one");
        let keyed = |key: &str| Content { key: Some(key.into()), ..content("the big one") };
        assert!(!may_be_paraphrase(&plain, &keyed("house")));
        assert!(!may_be_paraphrase(&keyed("car"), &keyed("house")));
        let said = |speaker: &str| {
            let fields = [("speaker".to_owned(), speaker.into())].into_iter().collect();
            Content { fields, ..content("I bought a big car") }
        };
        assert!(
            may_be_paraphrase(&said("Ana"), &said("Ana")) && !may_be_paraphrase(&said("Ana"), &said("Ben"))
        );
        let with = |object: &str| {
            let (subject, predicate) = ("Ana".into(), "size".into());
            Content { triple: Some(Triple { subject, predicate, object: object.into() }), ..content("it is") }
        };
        assert!(
            may_be_paraphrase(&with("big"), &with("Big")) && !may_be_paraphrase(&with("big"), &with("small"))
        );
        let long = "blip ".repeat(2_000);
        assert!(!same(&long, &long));
    }

    proptest! {
        /// GOV-3.4: the order does not matter, and one word for another that no table knows is never the same.
        #[test]
        fn a_strange_word_is_another_fact(
            words in prop::collection::vec("[a-z]{2,6}|[A-Z][a-z]{2,5}|[0-9]{1,3}|not|by|was|hired|big", 1..9),
            place in any::<prop::sample::Index>(),
        ) {
            let text = words.join(" ");
            let counts = |one: &Sentence| !pieces(&one.words).is_empty();
            prop_assert_eq!(same(&text, &text), words::sentences(&text).iter().all(counts));
            let other = place.index(words.len());
            let changed = |(at, word): (usize, &String)| if at == other { "qzxjqw".to_owned() } else { word.clone() };
            let changed: Vec<String> = words.iter().enumerate().map(changed).collect();
            prop_assert!(!same(&text, &changed.join(" ")));
        }
    }
}
