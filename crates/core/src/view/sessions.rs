//! Where a text stands in its conversation: the session, the texts before and after it, who said it, on which day.
//!
//! Three fields of a content say so: `session`, `speaker` and `time`. None of them is required.

use super::items::{ItemsView, Row, Version};
use super::lexical::Scope;
use crate::access::Predicate;
use crate::id::{UserId, VersionId};
use crate::item::Content;
use crate::policy::{Classes, classes_of};
use crate::text::words;
use crate::time::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a content says of its place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    session: Option<String>,
    speaker: Option<String>,
    day: Option<i32>,
    asks: Asks,
}

/// Whether a text asks something: an answer often stands in the text after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(index_only)]
pub enum Asks {
    /// It asks nothing.
    #[default]
    #[n(0)]
    Nothing,
    /// It asks something, and goes on.
    #[n(1)]
    Something,
    /// A question is its end.
    #[n(2)]
    AtTheEnd,
}

impl Said {
    /// What a content says.
    #[must_use]
    pub fn of(content: &Content) -> Self {
        let word = |name: &str| match content.fields.get(name) {
            Some(Value::String(word)) if !word.is_empty() => Some(word.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let asks = match content.text.trim_end() {
            text if text.ends_with('?') => Asks::AtTheEnd,
            text if text.contains('?') => Asks::Something,
            _ => Asks::Nothing,
        };
        Self {
            session: word("session"),
            speaker: word("speaker"),
            day: word("time").and_then(|time| day_of_text(&time)),
            asks,
        }
    }
}

/// The day of a moment, counted from 1970.
#[must_use]
pub fn day_of(time: Timestamp) -> i32 {
    i32::try_from(time.as_micros() / 86_400_000_000).unwrap_or(i32::MAX)
}

/// The day of a time or a date, as text.
fn day_of_text(text: &str) -> Option<i32> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(day_of(time));
    }
    let date: jiff::civil::Date = text.parse().ok()?;
    Some(crate::rank::day(date))
}

/// A text in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Mark {
    #[n(0)]
    session: Option<u32>,
    #[n(1)]
    place: u32,
    #[n(2)]
    speaker: Option<u32>,
    #[n(3)]
    day: i32,
    #[n(4)]
    asks: Asks,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
struct Speaker {
    /// The words of the name.
    #[n(0)]
    words: Vec<String>,
    /// What detectors find in it: a name may be an address (SHARE-21).
    #[n(1)]
    classes: Classes,
}

/// The places of a session in order, each with the versions that stand there.
type Places = Vec<(u32, Row)>;

/// Every text in its conversation.
#[derive(Debug, Clone, Default, PartialEq, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct SessionsView {
    #[n(0)]
    marks: Vec<Mark>,
    #[n(1)]
    sessions: Vec<Places>,
    /// Sessions by owner, namespace and word.
    #[n(2)]
    named: BTreeMap<(UserId, String, String), u32>,
    #[n(3)]
    speakers: Vec<Speaker>,
    #[n(4)]
    speakers_named: BTreeMap<(UserId, String), u32>,
    /// The texts of each day, by owner.
    #[n(5)]
    days: BTreeMap<(UserId, i32), Vec<Row>>,
    /// The classes of the texts in which each speaker speaks: a name that is only in texts that are hidden is none.
    #[n(6)]
    speak_in: Vec<BTreeSet<u32>>,
}

impl SessionsView {
    pub(super) fn write(
        &mut self,
        whose: (UserId, &str),
        said: &Said,
        written: (Timestamp, &[VersionId]),
        items: &ItemsView,
    ) {
        let row = self.marks.len() as Row;
        let (owner, namespace) = whose;
        let session = said.session.as_ref().map(|name| self.session(owner, namespace, name));
        let before = written.1.iter().find_map(|parent| self.marks.get(items.row_of(*parent)? as usize));
        let place = match before {
            Some(before) if before.session == session => before.place,
            _ => session.and_then(|session| self.last_place(session)).map_or(0, |last| last + 1),
        };
        if let Some(places) = session.and_then(|session| self.sessions.get_mut(session as usize)) {
            let at = places.partition_point(|known| *known <= (place, row));
            places.insert(at, (place, row));
        }
        let speaker = said.speaker.as_ref().map(|name| self.speaker(owner, name));
        let class = items.version(row).map(Version::class);
        if let Some(classes) = speaker.and_then(|speaker| self.speak_in.get_mut(speaker as usize)) {
            classes.extend(class);
        }
        let day = said.day.unwrap_or_else(|| day_of(written.0));
        self.days.entry((owner, day)).or_default().push(row);
        self.marks.push(Mark { session, place, speaker, day, asks: said.asks });
    }

    fn last_place(&self, session: u32) -> Option<u32> {
        self.sessions.get(session as usize)?.last().map(|(place, _)| *place)
    }

    fn session(&mut self, owner: UserId, namespace: &str, name: &str) -> u32 {
        let key = (owner, namespace.to_owned(), name.to_owned());
        *self.named.entry(key).or_insert_with(|| {
            self.sessions.push(Vec::new());
            (self.sessions.len() - 1) as u32
        })
    }

    fn speaker(&mut self, owner: UserId, name: &str) -> u32 {
        *self.speakers_named.entry((owner, name.to_owned())).or_insert_with(|| {
            self.speakers.push(Speaker { words: words(name), classes: classes_of(name) });
            self.speak_in.push(BTreeSet::new());
            (self.speakers.len() - 1) as u32
        })
    }

    /// The session that a text stands in.
    #[must_use]
    pub fn session_of(&self, row: Row) -> Option<u32> {
        self.marks.get(row as usize)?.session
    }

    /// The day that a text is of.
    #[must_use]
    pub fn day(&self, row: Row) -> Option<i32> {
        self.marks.get(row as usize).map(|mark| mark.day)
    }

    /// The first and the last year that a caller's own texts are of, and one more on either side.
    #[must_use]
    pub fn years(&self, items: &ItemsView, predicate: &Predicate) -> (i16, i16) {
        let owner = predicate.owner();
        let seen = |row: &Row| items.version(*row).is_some_and(|version| predicate.admits(version));
        let days = self.days.range((owner, i32::MIN)..=(owner, i32::MAX));
        let mut days = days.filter(|(_, rows)| rows.iter().any(seen)).map(|((_, day), _)| *day);
        let first = days.next().unwrap_or_default();
        let last = days.next_back().unwrap_or(first);
        let year = |day: i32| i16::try_from(1970 + day / 365).unwrap_or(1970);
        (year(first).saturating_sub(1), year(last).saturating_add(1))
    }

    /// An owner's texts of these days, newest first.
    pub fn on(&self, owner: UserId, days: (i32, i32)) -> impl Iterator<Item = Row> + '_ {
        // A range must not end before it begins.
        let last = days.1.max(days.0);
        self.days
            .range((owner, days.0)..=(owner, last))
            .rev()
            .flat_map(|(_, rows)| rows.iter().rev().copied())
    }

    /// Whether a text asks something.
    #[must_use]
    pub fn asks(&self, row: Row) -> Asks {
        self.marks.get(row as usize).map_or(Asks::Nothing, |mark| mark.asks)
    }

    /// The words of the name of who said it; none if it is redacted.
    #[must_use]
    pub fn speaker_of(&self, row: Row, redacted: Classes) -> &[String] {
        let speaker = self.marks.get(row as usize).and_then(|mark| mark.speaker);
        let speaker = speaker.and_then(|speaker| self.speakers.get(speaker as usize));
        speaker.filter(|one| !one.classes.meets(redacted)).map_or(&[], |one| one.words.as_slice())
    }

    /// Those who speak in a caller's own texts, by name, unless it is redacted.
    fn speakers_of<'a>(
        &'a self,
        predicate: &'a Predicate,
        redacted: Classes,
    ) -> impl Iterator<Item = (&'a str, &'a Speaker)> {
        let owner = predicate.owner();
        let seen = |speaker: u32| {
            let classes = self.speak_in.get(speaker as usize);
            classes.is_some_and(|classes| classes.iter().any(|class| predicate.classes().contains(*class)))
        };
        let named = self.speakers_named.range((owner, String::new())..);
        let named = named.take_while(move |((of, _), _)| *of == owner).filter(move |(_, at)| seen(**at));
        let known =
            named.filter_map(|((_, name), at)| Some((name.as_str(), self.speakers.get(*at as usize)?)));
        known.filter(move |(_, speaker)| !speaker.classes.meets(redacted))
    }

    /// Whether this is a word of the name of someone who speaks in a caller's own texts.
    #[must_use]
    pub fn is_speaker(&self, predicate: &Predicate, word: &str, redacted: Classes) -> bool {
        let mut speakers = self.speakers_of(predicate, redacted);
        speakers.any(|(_, speaker)| speaker.words.iter().any(|known| known == word))
    }

    /// A question without the names of those who speak in a caller's own texts. The name of who is asked about says little of
    /// what is asked, and lies nearest to texts that greet that person.
    #[must_use]
    pub fn without_names(&self, predicate: &Predicate, question: &str, redacted: Classes) -> String {
        let names = self.speakers_of(predicate, redacted);
        let names: Vec<&str> = names.flat_map(|(name, _)| name.split_whitespace()).collect();
        let mut bare = String::with_capacity(question.len());
        for run in question.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let word = run.trim_end_matches(|c: char| !c.is_alphanumeric());
            bare.push_str(if names.contains(&word) { run.get(word.len()..).unwrap_or("") } else { run });
        }
        let bare: Vec<&str> = bare.split_whitespace().collect();
        let bare = bare.join(" ");
        if bare.contains(char::is_alphanumeric) { bare } else { question.to_owned() }
    }

    /// Up to `reach` texts before this one and up to `reach` after it, nearest first, among those in the scope.
    #[must_use]
    pub fn around(&self, row: Row, reach: usize, items: &ItemsView, scope: &Scope<'_>) -> [Vec<Row>; 2] {
        let Some(mark) = self.marks.get(row as usize) else { return [Vec::new(), Vec::new()] };
        let places = mark.session.and_then(|session| self.sessions.get(session as usize));
        let places = places.map_or(&[] as &[(u32, Row)], Vec::as_slice);
        let at = places.partition_point(|(place, _)| *place < mark.place);
        let (before, rest) = places.split_at(at);
        let after = rest.iter().filter(|(place, _)| *place > mark.place);
        let seen = |(_, row): &&(u32, Row)| scope.admits_row(items, *row);
        let before = before.iter().rev().filter(seen).take(reach).map(|(_, row)| *row).collect();
        let after = after.filter(seen).take(reach).map(|(_, row)| *row).collect();
        [before, after]
    }
}
