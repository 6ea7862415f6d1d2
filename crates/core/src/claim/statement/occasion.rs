//! How a sentence names an occasion: one of several, a line of a log, on certain days of the week.

use super::{AT_HOUR, RANKS, RECORD, SEVERAL, SPENDING, WEEKLY};
use crate::claim::gist;
use crate::claim::lexicon::{Role, lexicon};
use crate::claim::quantity::{self, CLOCK, COUNT, Value, WEEKDAY};
use crate::claim::words::Word;

/// Go several times a day.
const TRANSPORT: [&str; 10] =
    ["train", "bus", "ferry", "tram", "boat", "shuttle", "coach", "metro", "subway", "trains"];
/// Say which one of those that go several times a day is meant.
const ONE_A_DAY: [&str; 12] =
    ["last", "first", "next", "only", "my", "our", "his", "her", "their", "each", "every", "daily"];
/// Stand behind "a" and are no thing.
const UNITS: [&str; 8] = ["day", "week", "month", "year", "night", "hour", "minute", "time"];
/// An hour that is written as a number.
const HOURS_MAX: f64 = 24.0;

/// The flags of a sentence that tell its occasion.
pub(super) fn flags(words: &[Word]) -> u32 {
    let (hour, weekdays) = times(words);
    let noted = !has_verb(words) && words.iter().any(is_content);
    let spent = noted && values(words).any(|(_, value)| value.is_price());
    let mut flags = if hour { AT_HOUR } else { 0 };
    flags |= if weekdays { WEEKLY } else { 0 };
    flags |= if noted { RECORD } else { 0 };
    flags |= if spent { SPENDING } else { 0 };
    flags |= if is_one_of_several(words) { SEVERAL } else { 0 };
    flags | if ranks(words) { RANKS } else { 0 }
}

/// The values of a sentence, each with the place at which it begins.
fn values(words: &[Word]) -> impl Iterator<Item = (usize, Value)> + '_ {
    (0..words.len()).filter_map(|at| {
        let before = text(words, at.checked_sub(1)?);
        Some((at, quantity::value(words.get(at..)?, Some(before))?.0))
    })
}

/// Whether a time of day stands behind "at" or leads, and whether days of the week are those of every week or lead.
fn times(words: &[Word]) -> (bool, bool) {
    let mut found = (false, false);
    let verb = (0..words.len()).find(|at| is_verb(words, *at)).unwrap_or(words.len());
    let leading = quantity::value(words, None).filter(|(value, _)| value.is_time());
    found.0 = leading.is_some();
    for (at, value) in values(words) {
        let behind_at = at.checked_sub(1).is_some_and(|before| matches!(text(words, before), "at" | "@"));
        let alone = words.get(at).is_some_and(|word| word.stop) || !words.get(at + 1).is_some_and(is_content);
        let hour = value.dim == COUNT && value.high <= HOURS_MAX && alone;
        found.0 |= behind_at && (value.dim == CLOCK || hour);
        found.1 |= value.dim == WEEKDAY && (text(words, at).ends_with("days") || at < verb);
    }
    found
}

/// "has a meeting", "there is a bus", "the train to Graz": there may be another at another time.
fn is_one_of_several(words: &[Word]) -> bool {
    let thing = |word: &Word| is_content(word) && !UNITS.contains(&word.text.as_str());
    let indefinite = words.windows(2).any(|pair| {
        matches!(pair, [article, noun] if matches!(article.text.as_str(), "a" | "an" | "another") && thing(noun))
    });
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.text.as_str()));
    let goes = words.iter().position(|word| TRANSPORT.contains(&word.text.as_str()));
    let place = |at: usize| {
        let to = words
            .get(at + 1..)?
            .iter()
            .position(|word| matches!(word.text.as_str(), "to" | "from" | "for"))?;
        words.get(at + to + 2).filter(|word| to <= 1 && (word.capital || word.text == "the"))
    };
    indefinite || (goes.and_then(place).is_some() && !any(&ONE_A_DAY))
}

/// "prefers tea over coffee": the order of the two is what is said.
fn ranks(words: &[Word]) -> bool {
    let prefers = words.iter().position(|word| word.text.starts_with("prefer"));
    let over = |word: &Word| matches!(word.text.as_str(), "over" | "to" | "than");
    prefers.is_some_and(|at| words.iter().skip(at + 2).any(over))
}

/// Whether a clause has a verb behind its subject: what begins with one is a request or a line of a log.
fn has_verb(words: &[Word]) -> bool {
    (1..words.len()).any(|at| is_verb(words, at))
}

/// Whether a verb may stand here, known or by its form.
fn is_verb(words: &[Word], at: usize) -> bool {
    let text = text(words, at);
    let behind_noun = at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(is_content);
    let third = text.ends_with('s') && !text.ends_with("ss") && text.len() > 3;
    let formed = (third && behind_noun) || text.ends_with("ed");
    gist::is_verb(words, at)
        || (words.get(at).is_some_and(|word| is_content(word) && !word.capital) && formed)
        || lexicon().irregular(text).is_some_and(|(_, past)| past)
}

/// Whether a word is one that counts.
fn is_content(word: &Word) -> bool {
    let known = lexicon().surface(&word.text);
    word.text.starts_with(char::is_alphabetic)
        && (known.is_none()
            || matches!(known, Some(Role::Axis { .. } | Role::State { .. } | Role::Order { .. })))
}

fn text(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.text.as_str())
}
