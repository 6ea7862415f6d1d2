//! Who has which names: the people and agents of a directory, found in a text in time that does not grow with it.

use super::stand_in::{StandIns, joins};
use super::words::{PHRASE_WORDS_MAX, Phrases, Word, phrase, words};
use crate::item::words as word_enum;
use std::ops::Range;

/// Aliases of one person that count.
const ALIASES_MAX: usize = 32;

word_enum! {
    /// What sort of name it is.
    NameClass {
        /// A person's.
        0 User = "user",
        /// A program's.
        1 Agent = "agent",
    }
}

/// Somebody with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Person or program.
    pub class: NameClass,
    /// The name.
    pub name: String,
    /// Other names, and ids.
    pub aliases: Vec<String>,
}

/// Names, ready to be found. A name of a single letter is not looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    phrases: Phrases<Known>,
}

/// Whose a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) class: NameClass,
    /// The main name, folded; for a name that several have, that name itself.
    pub(super) name: String,
}

/// A name in a text.
pub(super) struct Named<'a> {
    pub(super) range: Range<usize>,
    pub(super) known: &'a Known,
}

impl Names {
    /// The names of these.
    #[must_use]
    pub fn of<'a>(people: impl IntoIterator<Item = &'a Person>) -> Self {
        let mut names = Self::default();
        people.into_iter().for_each(|person| names.add(person));
        names
    }

    fn add(&mut self, person: &Person) {
        let Some(main) = phrase(&person.name) else { return };
        let aliases = person.aliases.iter().take(ALIASES_MAX).filter_map(|alias| phrase(alias));
        for name in std::iter::once(main.clone()).chain(aliases).filter(|name| is_telling(name)) {
            let shared = self.phrases.get(&name).is_some_and(|known| known.name != main);
            let whose = if shared { name.clone() } else { main.clone() };
            self.phrases.insert(name, Known { class: person.class, name: whose });
        }
    }
}

/// More than one letter, unless one letter is a word of its own.
fn is_telling(name: &str) -> bool {
    name.len() > 1 && !(name.chars().nth(1).is_none() && name.chars().all(|c| u32::from(c) < 0x0e00))
}

/// Every name in a text, in order and without overlap; what an earlier step put in is none.
pub(super) fn named<'a>(text: &str, books: &[&'a Names], stand_ins: &StandIns) -> Vec<Named<'a>> {
    let words = words(text);
    let protected = stand_ins.all(text);
    let mut protected = protected.iter().peekable();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let start = word.range.start;
        while protected.next_if(|place| place.end <= start).is_some() {}
        let free = protected.peek().map_or(text.len(), |place| place.start);
        let rest = words.get(at..).unwrap_or_default();
        let rest = rest.get(..before(rest, free)).unwrap_or_default();
        at += 1;
        if let Some((count, known)) = longest(rest, books) {
            let end = rest.get(count - 1).map_or(start, |last| last.range.end);
            found.push(Named { range: start..end, known });
            at += count - 1;
        }
    }
    found
}

/// How many of the next words end before a place; more than a phrase has do not matter.
fn before(words: &[Word], place: usize) -> usize {
    words.iter().take(PHRASE_WORDS_MAX).take_while(|word| word.range.end <= place).count()
}

fn longest<'a>(words: &[Word], books: &[&'a Names]) -> Option<(usize, &'a Known)> {
    books
        .iter()
        .filter_map(|book| book.phrases.at(words))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// A text with every place replaced by what stands for it, a word of its own.
pub(super) fn replaced(text: &str, places: &[Named<'_>], stands_for: impl Fn(&Known) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in places {
        push_apart(&mut out, text.get(done..place.range.start).unwrap_or_default());
        push_apart(&mut out, &stands_for(place.known));
        done = place.range.end;
    }
    push_apart(&mut out, text.get(done..).unwrap_or_default());
    out
}

/// Adds a text, with a space where it would make one word with what is there.
fn push_apart(out: &mut String, text: &str) {
    if out.chars().next_back().is_some_and(joins) && text.chars().next().is_some_and(joins) {
        out.push(' ');
    }
    out.push_str(text);
}
