//! What texts claim, and whether two claims can both hold.
//!
//! A claim is a text taken apart once, so that comparing two costs about a microsecond and needs no text. The detector is
//! deterministic and knows no model: it looks for denials, opposites, values, properties with one value, and times out of
//! order. It prefers to miss a contradiction over making one up: what differs in more than one thing is two statements.
//! It refuses to know who may see a claim and what follows from a contradiction.

mod assurance;
mod compare;
mod contradiction;
mod coverage;
mod distinct;
mod gist;
mod knowledge;
mod label;
mod lexicon;
mod moment;
mod paraphrase;
mod places;
mod quantity;
mod statement;
mod triple;
mod view;
mod words;

pub use contradiction::{Contradiction, Method, contradiction, signals};
pub use knowledge::{Knowledge, NotKnowledge, Testimony};
pub use paraphrase::may_be_paraphrase;
pub use view::{ClaimsView, REWORDED_FLOOR};

use crate::canonical::Hash;
use crate::id::UserId;
use crate::item::{Content, Layer};
use crate::text::Analyser;
use crate::time::Timestamp;
use gist::Gist;
use moment::Made;
use quantity::Value;
use serde_json::Value as Json;
use statement::{BARE, OF_SELF, Statement, Token};
use triple::Said;
use words::{Sentence, Word};

/// GOV-2.7: how near two topics are before a difference between them matters.
pub const SIGMA_TOPIC: f64 = 0.5;
/// Sentences of a text that are compared.
const STATEMENTS_MAX: usize = 24;
/// Words that make the topic of a text.
const FEATURES_MAX: usize = 512;
/// Fields of a content that are looked at.
const FIELDS_MAX: usize = 16;

/// What a text claims, taken apart so that two can be compared.
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Claim {
    /// What the text is about: hashes in order, each with its weight in the two lowest bits.
    #[n(0)]
    topic: Vec<u32>,
    #[n(1)]
    statements: Vec<Statement>,
    /// Of all that is said, in order.
    #[n(2)]
    form: u64,
    /// Of the topic that the content names; 0 without.
    #[n(3)]
    key: u64,
    #[n(4)]
    said: Option<Box<Said>>,
    /// From when to when it holds, as its fields say.
    #[n(5)]
    span: Option<Box<Value>>,
    /// Whether it is a relation: two of those differ by nature in what they tie.
    #[n(6)]
    relation: bool,
    /// When it was made: what relative times are resolved against.
    #[n(7)]
    made: Made,
    /// What it says, for a comparison with statements in other words.
    #[n(8)]
    gists: Vec<Gist>,
    /// The hash of who stored it; 0 if nobody did.
    #[n(9)]
    owner: u64,
    /// The most clauses with a verb of their own in one sentence.
    #[n(10)]
    clauses: Option<u8>,
}

impl Claim {
    /// Takes a content apart.
    #[must_use]
    pub fn of(content: &Content, analyser: &mut Analyser) -> Self {
        let mut features = Features::default();
        let sentences = words::sentences(&content.text);
        let key: Vec<Word> =
            content.key.iter().flat_map(|key| words::sentences(key)).flat_map(|s| s.words).collect();
        let mut claim = Self { key: key_hash(&key), ..Self::default() };
        let bare = matches!(sentences.as_slice(), [only] if statement::is_bare(only));
        if !bare && !key.is_empty() {
            let topic = Sentence { words: key.clone(), ..Sentence::default() };
            statement::statement(&topic, &[], analyser, &mut features);
        }
        for sentence in &sentences {
            let lead: &[Word] = if bare { &key } else { &[] };
            let mut read = statement::statement(sentence, lead, analyser, &mut features);
            claim.form = hash64(claim.form, &read.form.to_le_bytes());
            if claim.statements.len() < STATEMENTS_MAX {
                by_speaker(&mut read, sentence, content);
                read.flags |= if of_self(sentence, content) { OF_SELF } else { 0 };
                read.flags |= if bare && key.is_empty() { BARE } else { 0 };
                claim.statements.push(read);
                statement::tie_to_lead(&mut claim.statements);
            }
        }
        if content.text.len() > LONG_TEXT_BYTES {
            claim.form = hash64(claim.form, content.text.as_bytes());
        }
        claim.take_fields(content, &mut features);
        claim.clauses = Some(coverage::clauses(&sentences));
        claim.made = Made::of_field(content);
        // Who says "I" is the speaker; what was said in a conversation is a record of it.
        if !content.fields.contains_key("speaker") && content.relation().is_none() {
            claim.gists = gist::gists(&sentences, analyser);
            for (gist, sentences) in claim.gists.iter_mut().zip(gist::chunks(&sentences)) {
                if sentences.iter().any(|sentence| of_self(sentence, content)) {
                    gist.cues |= gist::OF_SELF;
                }
            }
        }
        claim.relation = content.relation().is_some();
        claim.said = content.triple.as_ref().map(|triple| Box::new(Said::of(triple)));
        claim.topic = features.done();
        claim.statements.shrink_to_fit();
        claim
    }

    /// The claim with its owner and the moment at which it was stored. A content that names a `time` speaks of that instead.
    ///
    /// Of what is EPISODIC only claims about a lasting state contradict each other; what owners say of themselves ("I live in
    /// Berlin", "The user prefers tea") contradicts nothing that other owners say.
    #[must_use]
    pub fn stored(mut self, owner: UserId, at: Timestamp, layer: Layer) -> Self {
        self.owner = hash64(0, owner.as_bytes());
        self.made.stored(at, layer == Layer::Episodic);
        // "Slept well last night", said on two days, is two statements.
        let times = self.statements.iter().filter_map(|statement| match self.made.by_field {
            true => moment::speaks_of(statement, self.made),
            false => moment::resolved_time(statement, self.made),
        });
        let mix = |form, (from, to): (f64, f64)| hash64(hash64(form, &from.to_le_bytes()), &to.to_le_bytes());
        self.form = times.fold(self.form, mix);
        self
    }

    /// Whether the claim speaks of an earlier time than another one: by the `time` that either of them names, else by which of
    /// them was said first. A `time` that was still to come says when something happens, not when it was said.
    #[must_use]
    pub fn is_older_than(&self, other: &Self, was_said_first: bool) -> bool {
        match self.made.by_field || other.made.by_field {
            true => self.made.is_before(other.made),
            false => was_said_first,
        }
    }

    /// How near the topics of the two are, 0 to 1: the cosine over hashed stems.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        let (own, theirs) = (f64::from(self.norm()), f64::from(other.norm()));
        if own == 0.0 || theirs == 0.0 {
            return 0.0;
        }
        let (mut a, mut b) = (self.topic.iter().peekable(), other.topic.iter().peekable());
        let mut shared = 0;
        while let (Some(mine), Some(its)) = (a.peek(), b.peek()) {
            match mine.cmp(its) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    shared += Features::weight(**mine);
                    a.next();
                    b.next();
                }
            }
        }
        (f64::from(shared) / (own * theirs).sqrt()).min(1.0)
    }

    /// Whether the two say the same about the same: word for word but for how it is written.
    ///
    /// Two paraphrases may be told apart; two different facts are never taken for one.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        let keys = self.key == other.key
            || ((self.key == 0 || other.key == 0) && !self.is_bare() && !other.is_bare());
        let triples = match (&self.said, &other.said) {
            (Some(mine), Some(theirs)) => mine.whole == theirs.whole,
            _ => true,
        };
        let of_self = |claim: &Self| claim.statements.iter().any(|statement| statement.is(OF_SELF));
        let of_others = self.is_of_another_owner(other) && of_self(self);
        !self.topic.is_empty()
            && keys
            && triples
            && self.form == other.form
            && !of_others
            && !self.tells_another_event(other)
    }

    /// Whether the two tell, in whatever words, of what happened on different days: "ran 5 km" on two days.
    #[must_use]
    pub fn tells_another_event(&self, other: &Self) -> bool {
        let told = |(mine, its)| moment::are_two_events((mine, self.made), (its, other.made));
        self.statements.iter().zip(&other.statements).any(told)
    }

    /// What to look neighbours up by.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        self.topic.iter().copied()
    }

    /// GOV-3.3: the fingerprint of subject, predicate and normalised object; none without a triple.
    #[must_use]
    pub fn fingerprint(content: &Content) -> Option<Hash> {
        match content.relation() {
            Some(relation) => Some(triple::relation_fingerprint(relation)),
            None => content.triple.as_ref().map(triple::fingerprint),
        }
    }

    /// Whether something starts after its end within this very claim.
    #[must_use]
    pub fn is_impossible(&self) -> bool {
        let reversed = |statement: &Statement| statement.is(statement::IMPOSSIBLE);
        self.statements.iter().any(reversed) || self.span.as_ref().is_some_and(|span| span.low > span.high)
    }

    /// Whether nothing is claimed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.topic.is_empty() && self.said.is_none()
    }

    /// Whether the two were stored by two owners.
    fn is_of_another_owner(&self, other: &Self) -> bool {
        self.owner != 0 && other.owner != 0 && self.owner != other.owner
    }

    /// Whether it is but a value, which says nothing without the key that it answers.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.statements.iter().any(|statement| statement.is(BARE))
    }

    /// The squared length of the topic.
    fn norm(&self) -> u32 {
        self.topic.iter().map(|key| Features::weight(*key)).sum()
    }

    fn take_fields(&mut self, content: &Content, features: &mut Features) {
        self.span = span(content).map(Box::new);
        if self.key == 0 || content.triple.is_some() {
            return;
        }
        for (name, value) in content.fields.iter().take(FIELDS_MAX) {
            if triple::is_functional(name)
                && let Some(statement) = field(self.key, name, value)
            {
                features.content(hash24(name));
                self.statements.push(statement);
            }
        }
    }
}

/// Longer texts are the same only to the byte: not all of their words are looked at.
const LONG_TEXT_BYTES: usize = 8_192;

fn key_hash(key: &[Word]) -> u64 {
    key.iter().fold(0, |form, word| hash64(form, word.text.as_bytes()))
}

/// "I have two cats" is about who says it.
fn by_speaker(read: &mut Statement, sentence: &Sentence, content: &Content) {
    let first_person = |word: &Word| matches!(word.text.as_str(), "i" | "me" | "my" | "we" | "our" | "us");
    if let Some(Json::String(speaker)) = content.fields.get("speaker")
        && sentence.words.iter().any(first_person)
    {
        read.tokens.push(Token::other(hash24(&speaker.to_lowercase())));
    }
}

/// Whether a sentence is about whoever stores it: it says "I", or begins with "the user". In a record of a conversation "I" is
/// the speaker.
fn of_self(sentence: &Sentence, content: &Content) -> bool {
    let words = &sentence.words;
    let first_person = |word: &Word| matches!(word.text.as_str(), "i" | "me" | "my" | "mine" | "myself");
    let is_user = |at: usize| words.get(at).is_some_and(|word| word.text == "user");
    let begins = is_user(0)
        || (is_user(1)
            && words.first().is_some_and(|word| matches!(word.text.as_str(), "the" | "this" | "our" | ":")));
    !content.fields.contains_key("speaker") && (begins || words.iter().any(first_person))
}

/// From when to when a content holds, as its fields say.
fn span(content: &Content) -> Option<Value> {
    const STARTS: [&str; 7] =
        ["start", "starts_at", "valid_from", "start_date", "start_time", "from", "begins_at"];
    const ENDS: [&str; 8] =
        ["end", "ends_at", "valid_to", "valid_until", "end_date", "end_time", "until", "to"];
    let read = |names: &[&str]| names.iter().find_map(|name| moment(content.fields.get(*name)?));
    let (start, end) = (read(&STARTS), read(&ENDS));
    let dim = start.or(end)?.dim;
    let fits = |value: Option<Value>| value.filter(|value| value.dim == dim);
    let low = fits(start).map_or(f64::MIN, |value| value.low);
    let high = fits(end).map_or(f64::MAX, |value| value.high);
    Some(Value { dim, mark: 0, low, high })
}

fn moment(value: &Json) -> Option<Value> {
    match value {
        Json::String(text) => quantity::time_of_field(text),
        Json::Number(number) => number.as_f64().map(quantity::plain),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// A named value as a statement about the topic.
fn field(key: u64, name: &str, value: &Json) -> Option<Statement> {
    let about = [Token::other(hash24(name)), Token::other((key >> 8) as u32)];
    let form = hash64(hash64(key, name.as_bytes()), value.to_string().as_bytes());
    let mut read = Statement { form, tokens: about.to_vec(), ..Statement::default() };
    match value {
        Json::Number(number) => read.values.push(quantity::plain(number.as_f64()?)),
        Json::String(text) if text.len() <= 256 => {
            let words: Vec<Word> = words::sentences(text).into_iter().flat_map(|s| s.words).collect();
            match triple::value_of_words(&words) {
                Some(value) => read.values.push(value),
                None => read.fill_with(words.iter().map(|word| hash24(&word.text))),
            }
        }
        Json::Bool(_) | Json::Null | Json::Array(_) | Json::Object(_) | Json::String(_) => return None,
    }
    Some(read)
}

/// The topic of a text while it is read.
#[derive(Default)]
struct Features {
    keys: Vec<u32>,
}

impl Features {
    fn function(&mut self, word: &str) {
        self.add(hash24(word), 0);
    }

    fn content(&mut self, hash: u32) {
        self.add(hash, 3);
    }

    fn opposite(&mut self, salt: &str, number: u16, side: u8) {
        self.add(hash24(&format!("{salt}{number}")), 2);
        self.add(hash24(&format!("{salt}{number}/{side}")), 0);
    }

    /// That there is a value of a sort weighs more than which.
    fn value(&mut self, value: &Value) {
        self.add(hash24("value") ^ u32::from(value.family()), 1);
        let bits = value.bits().iter().fold(7, |form, bit| hash64(form, &bit.to_le_bytes()));
        self.add((bits >> 40) as u32, 0);
    }

    fn add(&mut self, hash: u32, class: u32) {
        // Four times the limit, because many come again.
        if self.keys.len() < FEATURES_MAX * 4 {
            self.keys.push((hash & 0x00ff_ffff) << 2 | class);
        }
    }

    fn done(mut self) -> Vec<u32> {
        self.keys.sort_unstable();
        self.keys.dedup();
        self.keys.truncate(FEATURES_MAX);
        self.keys.shrink_to_fit();
        self.keys
    }

    /// What a shared key adds to a product.
    fn weight(key: u32) -> u32 {
        match key & 3 {
            0 => 1,
            1 => 3,
            2 => 4,
            _ => 5,
        }
    }
}

/// 24 bits of hash: enough to tell the words of a language apart.
fn hash24(word: &str) -> u32 {
    (hash64(0, word.as_bytes()) >> 40) as u32
}

/// FNV-1a, started from what was hashed before, and stirred at the end.
fn hash64(before: u64, bytes: &[u8]) -> u64 {
    let start = before ^ 0xcbf2_9ce4_8422_2325;
    let fnv = bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let stirred = (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    stirred ^ (stirred >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Triple;

    fn content(text: &str) -> Content {
        Content::plain("fact", text)
    }

    fn claim(content: &Content) -> Claim {
        Claim::of(content, &mut Analyser::default())
    }

    fn check(a: &Content, b: &Content, expected: Option<Method>) {
        let (known, new) = (claim(a), claim(b));
        let found = contradiction(&known, &new, SIGMA_TOPIC);
        let similarity = known.similarity(&new);
        assert_eq!(found.map(|found| found.method), expected, "{} / {} ({similarity})", a.text, b.text);
        assert!(contradiction(&known, &known, SIGMA_TOPIC).is_none(), "{}", a.text);
    }

    /// GOV-2 acceptance: without a model these are flagged, unrelated facts are not.
    #[test]
    fn the_promised_contradictions_are_found() {
        let check = |a: &str, b: &str, expected| check(&content(a), &content(b), expected);
        check("port is 8080", "port is 9090", Some(Method::Number));
        check("X is on", "X is not on", Some(Method::Negation));
        check("The door is open", "The door is closed", Some(Method::Antonym));
        check("The office is in Berlin", "The office is in Munich", Some(Method::Predicate));
        check("Melanie has two kids", "Melanie has three kids", Some(Method::Number));
        check("The project starts on 5 May 2024", "The project ends on 3 May 2024", Some(Method::Order));
        check("The deadline is 5 May", "The deadline is 7 May", Some(Method::Date));
        check("Alice has 2 cats", "Bob has 3 cats", None);
        check("Alice has 2 cats", "Alice has 3 dogs", None);
        check("The API listens on port 8080", "The metrics listen on port 9090", None);
        check("In 2019 he lived in Rome", "In 2021 he lived in Oslo", None);
        check("Is the port 8080?", "The port is 9090", None);
        check("The door is open", "It is a fact that the door is closed", Some(Method::Antonym));
        check("The door is open", "The door is closed. Everybody agrees on that.", Some(Method::Antonym));
    }

    /// D6: a property with one value needs no near topic.
    #[test]
    fn triples_need_no_near_topic() {
        let with = |text: &str, predicate: &str, object: &str| {
            let triple =
                Triple { subject: "Acme".into(), predicate: predicate.into(), object: object.into() };
            Content { triple: Some(triple), ..content(text) }
        };
        let expected = Some(Method::Predicate);
        check(
            &with("we moved", "headquarters", "Berlin"),
            &with("new rooms", "Headquarters", "Munich"),
            expected,
        );
        check(&with("one", "likes", "tea"), &with("two", "likes", "coffee"), None);
        check(&with("one", "length", "5 km"), &with("two", "length", "5000 m"), None);
        check(&with("one", "headquarters", "Berlin"), &with("two", "headquarters", "Berlin, Mitte"), None);
    }

    /// GOV-2.7: the key is the topic that a text answers; fields say from when to when.
    #[test]
    fn keys_and_fields_count() {
        let keyed = |key: &str, text: &str| Content { key: Some(key.into()), ..content(text) };
        check(&keyed("API port", "8080"), &keyed("API port", "9090"), Some(Method::Number));
        check(&keyed("API port", "8080"), &keyed("metrics port", "9090"), None);
        let spanned = |text: &str, name: &str, value: &str| {
            let fields = [(name.to_owned(), Json::from(value))].into_iter().collect();
            Content { fields, ..content(text) }
        };
        let (start, end) =
            (spanned("the audit", "start", "2024-05-05"), spanned("the audit", "end", "2024-05-03"));
        check(&start, &end, Some(Method::Order));
        let both: serde_json::Map<String, Json> =
            start.fields.clone().into_iter().chain(end.fields.clone()).collect();
        assert!(claim(&Content { fields: both, ..content("the audit") }).is_impossible());
        assert!(claim(&content("The fair runs from 10 May 2024 to 3 May 2024.")).is_impossible());
        assert!(!claim(&content("The fair runs from 1 May 2024 to 3 May 2024.")).is_impossible());
    }

    /// GOV-3.4: what comes late in a long sentence, or in a long word, counts as well.
    #[test]
    fn the_end_of_something_long_counts() {
        let same = |a: &str, b: &str| claim(&content(a)).says_the_same(&claim(&content(b)));
        for long in ["blip ".repeat(90), "x".repeat(200), "Fine. ".repeat(40)] {
            assert!(same(&format!("{long}on"), &format!("{long}on")));
            assert!(!same(&format!("{long}on"), &format!("{long}off")));
        }
    }

    /// GOV-3.4: what differs in anything that counts is no duplicate.
    #[test]
    fn only_the_same_is_the_same() {
        let same = |a: &str, b: &str| claim(&content(a)).says_the_same(&claim(&content(b)));
        assert!(same("The API isn't on.", "the api is not on"));
        assert!(same("The trail is 5 km long", "the trail is 5000 m long"));
        for (a, b) in [
            ("Alice manages Bob", "Bob manages Alice"),
            ("Alice manages Bob", "Alice is managed by Bob"),
            ("The API is on", "The API is not on"),
            ("Alice has a cat", "Alice has cats"),
            ("Alice works at Acme", "Alice worked at Acme"),
            ("Ship on May 5", "Ship on May 6"),
            ("Python 3.10 is installed", "Python 3.1 is installed"),
            ("Bob has at least 5 cars", "Bob has more than 5 cars"),
            ("The account is 12345678901", "The account is 12345678902"),
            ("The code is 007", "The code is 7"),
            ("Call Ada at 555-123-4567", "Call Ada at 555-123-9999"),
            ("It is a 3-bedroom", "It is a 3-door"),
            ("They love the US", "They love us"),
            ("", ""),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }
}
