//! One sentence as a statement: its content words in order, its values, and how it is meant.

use super::lexicon::{Bound, Lexicon, Opens, Role, Tense, lexicon};
use super::quantity::{self, DAY, MARK_ANCHOR, MARK_END, MARK_SINCE, MARK_START, Value};
use super::words::{Sentence, Word};
use super::{Features, hash24, hash64};
use crate::text::Analyser;

/// Content words of a statement; what is longer is no single statement and is compared no more.
const TOKENS_MAX: usize = 60;
/// Values of a statement.
const VALUES_MAX: usize = 12;

/// Asks, supposes, quotes: claims nothing.
pub(super) const NO_CLAIM: u16 = 1;
pub(super) const PAST: u16 = 2;
pub(super) const PERFECT: u16 = 4;
pub(super) const FUTURE: u16 = 8;
/// Tells of something that can happen again.
pub(super) const EVENT: u16 = 16;
/// Says when something is, rather than what was at a time.
pub(super) const DATED: u16 = 32;
/// Speaks of some, not of all.
pub(super) const PARTIAL: u16 = 64;
/// An odd number of denials.
pub(super) const DENIED: u16 = 128;
/// Denies by "no": none of it.
pub(super) const NONE: u16 = 256;
/// Its start lies after its end.
pub(super) const IMPOSSIBLE: u16 = 512;
/// Any denial at all.
pub(super) const HAS_DENIAL: u16 = 1024;
/// The one value stands behind a definite article.
pub(super) const DEFINITE: u16 = 2048;
/// Nothing but a value or a few words: no sentence of its own.
pub(super) const BARE: u16 = 4096;

/// Happens again and again.
pub(super) const PERIODIC: u16 = 8192;

/// An opposite is denied: neither side is claimed.
pub(super) const DENIED_SIDE: u16 = 16_384;

/// A content word: 24 bits of hash, 3 of kind, 5 of side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub(super) struct Token(#[n(0)] u32);

/// What sort of word a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Name,
    Axis,
    State,
    Order,
    Other,
}

impl Token {
    fn new(hash: u32, kind: Kind, side: u8) -> Self {
        Self((hash & 0x00ff_ffff) << 8 | (kind as u32) << 5 | u32::from(side & 31))
    }

    /// A token that is no word of the text.
    pub(super) fn other(hash: u32) -> Self {
        Self::new(hash, Kind::Other, 0)
    }

    pub(super) fn hash(self) -> u32 {
        self.0 >> 8
    }

    pub(super) fn kind(self) -> Kind {
        match self.0 >> 5 & 7 {
            0 => Kind::Plain,
            1 => Kind::Name,
            2 => Kind::Axis,
            3 => Kind::State,
            4 => Kind::Order,
            _ => Kind::Other,
        }
    }

    pub(super) fn side(self) -> u8 {
        (self.0 & 31) as u8
    }
}

/// The place of the one value of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Slot {
    /// Which sort of place: 0 is none.
    #[n(0)]
    pub(super) sort: u8,
    #[n(1)]
    pub(super) start: u8,
    #[n(2)]
    pub(super) end: u8,
}

/// After a verb and its preposition.
pub(super) const SLOT_PLACE: u8 = 1;
/// After "is in": a place, or a state that is no place.
pub(super) const SLOT_WHERE: u8 = 4;
/// The value of a noun that has one.
pub(super) const SLOT_ANY: u8 = 2;
/// The name that a noun has.
pub(super) const SLOT_NAME: u8 = 3;

/// Stands after "by": who did it, which does not change.
pub(super) const SLOT_BY: u8 = 5;

/// An opposite before its noun, ahead of the verb: it tells which thing is meant.
pub(super) const SIDE_WHICH: u8 = 16;
/// An opposite before its noun.
pub(super) const SIDE_OF_NOUN: u8 = 8;

/// One sentence, taken apart.
#[derive(Debug, Clone, PartialEq, Default, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub(super) struct Statement {
    /// Of all its words in order.
    #[n(0)]
    pub(super) form: u64,
    #[n(1)]
    pub(super) flags: u16,
    #[n(2)]
    pub(super) slot: Slot,
    #[n(3)]
    pub(super) tokens: Vec<Token>,
    #[n(4)]
    pub(super) values: Vec<Value>,
}

impl Statement {
    pub(super) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Puts words into the one place, at the end.
    pub(super) fn fill_with(&mut self, words: impl Iterator<Item = u32>) {
        let start = self.tokens.len() as u8;
        self.tokens.extend(words.take(TOKENS_MAX).map(Token::other));
        self.slot = Slot { sort: SLOT_ANY, start, end: self.tokens.len() as u8 };
    }

    /// What fills the one place.
    pub(super) fn fill(&self) -> &[Token] {
        self.tokens.get(usize::from(self.slot.start)..usize::from(self.slot.end)).unwrap_or_default()
    }
}

/// Takes a sentence apart; `lead` is said of it first: the topic that it answers.
pub(super) fn statement(
    sentence: &Sentence,
    lead: &[Word],
    analyser: &mut Analyser,
    features: &mut Features,
) -> Statement {
    let mut words = lead.to_vec();
    if let (Some(last), false) = (words.last_mut(), sentence.words.is_empty()) {
        last.stop = false;
        words.push(Word { text: "is".to_owned(), ..Word::default() });
    }
    words.extend_from_slice(&sentence.words);
    let mut reader = Reader::new(&words, analyser, features);
    reader.read();
    reader.finish(sentence)
}

/// Whether a text is a bare value: no verb, few words.
pub(super) fn is_bare(sentence: &Sentence) -> bool {
    let lexicon = lexicon();
    let verb =
        |word: &Word| matches!(lexicon.surface(&word.text), Some(Role::Be(_) | Role::Have(_) | Role::Aux(_)));
    sentence.words.len() <= 5 && !sentence.words.iter().any(verb)
}

struct Reader<'a> {
    words: &'a [Word],
    at: usize,
    lexicon: &'static Lexicon,
    analyser: &'a mut Analyser,
    features: &'a mut Features,
    out: Statement,
    form: u64,
    denials: u32,
    bound: Option<Bound>,
    order: Option<bool>,
    tense_known: bool,
    /// The word before, as it was written.
    before: Option<String>,
    /// What a verb or noun seen so far opens.
    pending: Option<Opens>,
    /// The noun with one value that was seen, with its sort.
    noun: u8,
    /// A copula was the last verb, and where its phrase began.
    copula: Option<usize>,
    open: bool,
    said: bool,
    /// "has been doing": no single event.
    lasting: bool,
    /// Before which token the last denial stands.
    denied_at: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(words: &'a [Word], analyser: &'a mut Analyser, features: &'a mut Features) -> Self {
        Self {
            words,
            at: 0,
            lexicon: lexicon(),
            analyser,
            features,
            out: Statement::default(),
            form: 0,
            denials: 0,
            bound: None,
            order: None,
            tense_known: false,
            before: None,
            pending: None,
            noun: 0,
            copula: None,
            open: false,
            said: false,
            lasting: false,
            denied_at: None,
        }
    }

    fn read(&mut self) {
        while self.at < self.words.len() && self.out.tokens.len() < TOKENS_MAX {
            let start = self.at;
            if !self.phrase() && !self.value() {
                self.word();
            }
            let last = self.words.get(start..self.at).and_then(<[Word]>::last);
            self.before = last.map(|word| word.text.clone());
            if last.is_some_and(|word| word.stop) {
                self.close();
            }
        }
        self.close();
    }

    fn phrase(&mut self) -> bool {
        let Some(first) = self.words.get(self.at) else { return false };
        let rest = |i: usize| self.words.get(self.at + i).map(|word| word.text.clone());
        let Some((word, taken)) = self.lexicon.phrase(&first.text, rest) else { return false };
        let capital = first.capital && self.at > 0;
        self.at += taken;
        self.mix(word);
        self.meaning(word, capital);
        true
    }

    fn value(&mut self) -> bool {
        let Some(rest) = self.words.get(self.at..) else { return false };
        let before = self.before.clone();
        let before = before.as_deref();
        let Some((mut value, taken)) = quantity::value(rest, before) else { return false };
        if value.dim == quantity::COUNT && self.bound.is_none() && self.names_a_thing() {
            return false;
        }
        if matches!(before, Some("since")) {
            value.mark |= MARK_SINCE;
        }
        if let Some(bound) = self.bound.take() {
            value = value.bounded(bound);
        }
        match (value.is_time(), self.order, before) {
            (true, _, Some("from")) => value.mark |= MARK_START,
            (true, _, Some("to" | "until" | "till" | "through")) if self.starts() => value.mark |= MARK_END,
            (true, Some(end), _) => value.mark |= if end { MARK_END } else { MARK_START },
            _ => {}
        }
        if value.is_time() && self.out.tokens.is_empty() && self.order.is_none() && self.copula.is_none() {
            value.mark |= MARK_ANCHOR;
        }
        if value.is_time() && self.copula == Some(self.out.tokens.len()) {
            self.out.flags |= DATED;
        }
        let bits = value.bits();
        self.form = bits.iter().fold(self.form, |form, bit| hash64(form, &bit.to_le_bytes()));
        self.features.value(&value);
        if self.out.values.len() < VALUES_MAX {
            self.out.values.push(value);
        }
        self.at += taken;
        true
    }

    /// "Room 12": the number is part of a name.
    fn names_a_thing(&mut self) -> bool {
        let Some(before) = self.before.clone() else { return false };
        let stem = self.stem(&before);
        self.lexicon.is_numbered(&stem)
    }

    fn starts(&self) -> bool {
        self.out.values.iter().any(|value| value.mark & MARK_START != 0)
    }

    fn word(&mut self) {
        let Some(word) = self.words.get(self.at) else { return };
        let capital = word.capital && self.at > 0;
        let last = word.stop || self.at + 1 == self.words.len();
        self.at += 1;
        let text = match word.text.as_str() {
            particle @ ("on" | "off" | "up" | "down" | "in" | "out") if last => format!("+{particle}"),
            "off" => "+off".to_owned(),
            "offline" => "offline".to_owned(),
            other => other.to_owned(),
        };
        if word.owner {
            self.mix("'s");
        }
        self.mix(&text);
        self.meaning(&text, capital);
    }

    /// Adds a word to the form, which holds all that is said.
    fn mix(&mut self, word: &str) {
        if !matches!(word, "a" | "an" | "the") {
            self.form = hash64(self.form, word.as_bytes());
        }
    }

    fn meaning(&mut self, text: &str, capital: bool) {
        if self.stopped(text) {
            return self.deny();
        }
        self.present(text);
        if self.lexicon.is_periodic(text) {
            self.out.flags |= PERIODIC;
        }
        if text == ":" && self.noun == SLOT_NAME {
            self.noun = SLOT_ANY;
        }
        let known = self.lexicon.surface(text).filter(|role| !capital || !matches!(role, Role::Hedge));
        match known {
            Some(role) => self.apply(role, text, capital),
            None => self.content(text, capital),
        }
    }

    /// A verb in -s right after a name is in the present, whatever participles follow.
    fn present(&mut self, text: &str) {
        let after_name = self.at == 2 && self.words.first().is_some_and(|word| word.capital && !word.owner);
        let verb = text.ends_with('s') && !text.ends_with("ss") && self.lexicon.surface(text).is_none();
        if after_name && verb && self.words.get(1).is_some_and(|word| !word.capital) {
            self.tense(Tense::Present);
        }
    }

    /// "stopped smoking": the same as not to smoke.
    fn stopped(&self, text: &str) -> bool {
        let next = self.words.get(self.at).map_or("", |word| word.text.as_str());
        matches!(text, "stopped" | "stops" | "quit" | "ceased") && next.ends_with("ing")
    }

    fn deny(&mut self) {
        self.denied_at = Some(self.out.tokens.len());
        self.denials += 1;
        self.out.flags |= HAS_DENIAL;
    }

    fn apply(&mut self, role: Role, text: &str, capital: bool) {
        match role {
            Role::Filler => self.filler(text),
            Role::Function => self.features.function(text),
            Role::Link | Role::Conjunction => self.link(text),
            Role::Preposition => self.preposition(text),
            Role::Pronoun => self.push(text, Kind::Other, 0),
            Role::Negator => self.deny(),
            Role::No => {
                self.deny();
                self.out.flags |= NONE;
            }
            Role::Hedge => self.out.flags |= NO_CLAIM,
            // Once the verb is known, it is in a clause of its own.
            Role::Modal if !self.tense_known => self.out.flags |= NO_CLAIM,
            Role::Modal => {}
            Role::Be(tense) => self.be(tense),
            Role::Have(tense) => self.have(tense),
            Role::Aux(tense) => self.tense(tense),
            Role::Partial => {
                // What is said of some leaves the others open; whom it is said to does not matter.
                if self.out.tokens.is_empty() && !self.tense_known {
                    self.out.flags |= PARTIAL;
                }
                self.push(text, Kind::Other, 0);
            }
            Role::Bound(bound) => self.bound = Some(bound),
            Role::Axis { .. } | Role::State { .. } | Role::Order { .. } => self.opposite(role, text, capital),
        }
    }

    fn filler(&mut self, text: &str) {
        if matches!(text, "a" | "an") && self.at == 1 {
            self.out.flags |= PARTIAL;
        }
        if self.open && text == "the" {
            self.out.flags |= DEFINITE;
        }
    }

    fn link(&mut self, text: &str) {
        self.features.function(text);
        let opens = match self.pending {
            Some(Opens::After(after)) if after.contains(&text) && text == "by" => SLOT_BY,
            Some(Opens::After(after)) if after.contains(&text) => SLOT_PLACE,
            _ if self.copula == Some(self.out.tokens.len()) && matches!(text, "in" | "at") => SLOT_WHERE,
            _ => 0,
        };
        self.close();
        if opens != 0 && self.out.slot.sort == 0 {
            self.open_slot(opens);
        }
        self.pending = None;
        self.bound = None;
    }

    fn preposition(&mut self, text: &str) {
        self.push(text, Kind::Other, 0);
        self.link(text);
    }

    fn open_slot(&mut self, sort: u8) {
        let at = self.out.tokens.len() as u8;
        self.out.slot = Slot { sort, start: at, end: at };
        self.open = true;
    }

    fn close(&mut self) {
        if self.open {
            self.open = false;
            self.out.slot.end = self.out.tokens.len() as u8;
            if self.out.slot.end == self.out.slot.start {
                self.out.slot = Slot::default();
            }
        }
    }

    fn be(&mut self, tense: Tense) {
        self.features.function("be");
        self.tense(tense);
        let next = self.words.get(self.at).map_or("", |word| word.text.as_str());
        let passive = next.ends_with("ed") || self.lexicon.irregular(next).is_some_and(|(_, past)| past);
        self.lasting |= tense == Tense::Perfect && !passive;
        self.close();
        self.copula = Some(self.out.tokens.len());
        if self.noun != 0 && self.out.slot.sort == 0 {
            self.open_slot(self.noun);
        }
    }

    fn have(&mut self, tense: Tense) {
        self.features.function("have");
        let next = self.words.get(self.at).map_or("", |word| word.text.as_str());
        let perfect = next.ends_with("ed")
            || self.lexicon.irregular(next).is_some_and(|(_, past)| past)
            || matches!(next, "been" | "not" | "never" | "had" | "recently" | "just");
        self.tense(if perfect && tense == Tense::Present { Tense::Perfect } else { tense });
    }

    fn tense(&mut self, tense: Tense) {
        // "will be" is future, "has been" is perfect: the first verb says it.
        if self.tense_known {
            return;
        }
        self.tense_known = true;
        self.out.flags |= match tense {
            Tense::Present => 0,
            Tense::Past => PAST,
            Tense::Perfect => PERFECT,
            Tense::Future => FUTURE,
        };
    }

    fn opposite(&mut self, role: Role, text: &str, capital: bool) {
        let (salt, number, kind, side) = match role {
            Role::Axis { axis, side } => ("axis", axis, Kind::Axis, side),
            Role::State { set, side } => ("state", set, Kind::State, side),
            Role::Order { family, end } => ("order", family, Kind::Order, u8::from(end)),
            Role::Function
            | Role::Filler
            | Role::Negator
            | Role::No
            | Role::Hedge
            | Role::Modal
            | Role::Be(_)
            | Role::Aux(_)
            | Role::Have(_)
            | Role::Partial
            | Role::Bound(_)
            | Role::Preposition
            | Role::Link
            | Role::Conjunction
            | Role::Pronoun => return,
        };
        if capital && kind != Kind::Order {
            return self.push(text, Kind::Name, 0);
        }
        if kind == Kind::Order {
            self.order = Some(side == 1);
        }
        let before_noun = self.before_noun();
        if before_noun && self.lexicon.tells_which(text) {
            return self.push(text, Kind::Plain, 0);
        }
        let before_noun = before_noun && self.after_article();
        let place = match (before_noun, self.tense_known || self.copula.is_some()) {
            (true, false) if kind != Kind::Order => SIDE_WHICH | SIDE_OF_NOUN,
            (true, true) if kind != Kind::Order => SIDE_OF_NOUN,
            _ => 0,
        };
        if self.denied_at == Some(self.out.tokens.len()) {
            self.out.flags |= DENIED_SIDE;
        }
        self.features.opposite(salt, number, side);
        let side = side | place;
        self.out.tokens.push(Token::new(hash24(&format!("{salt}{number}")), kind, side));
    }

    /// Whether an article or a possessive stands before, or nothing: then this is no verb.
    fn after_article(&self) -> bool {
        let articles = ["the", "a", "an", "my", "your", "his", "her", "our", "their", "its", "this", "that"];
        self.before.as_deref().is_none_or(|before| articles.contains(&before))
    }

    /// Whether a content word follows at once, in the same phrase.
    fn before_noun(&self) -> bool {
        let here = self.at.checked_sub(1).and_then(|at| self.words.get(at));
        let next = self.words.get(self.at).map(|word| word.text.as_str());
        let noun = |word: &str| self.lexicon.surface(word).is_none() && !word.ends_with("ing");
        here.is_some_and(|word| !word.stop) && next.is_some_and(noun)
    }

    fn content(&mut self, text: &str, capital: bool) {
        let (plain, past) = self.lexicon.irregular(text).unwrap_or((text, false));
        let denied = self.lexicon.denied(plain).filter(|_| !capital);
        let stem = self.stem(denied.unwrap_or(plain));
        if denied.is_some() {
            self.denials += 1;
            self.out.flags |= HAS_DENIAL;
        }
        let same = self.lexicon.same(&stem).to_owned();
        self.note(&same, past || (text.ends_with("ed") && !text.contains('-')));
        let name = if capital { Kind::Name } else { Kind::Plain };
        match self.lexicon.of_stem(&stem) {
            Some(role) => self.opposite(role, text, capital),
            None if same == "in" => {}
            None => self.push(&same, name, 0),
        }
        if !capital {
            self.open_after(text, &same);
        }
    }

    /// What a verb or a noun says of the statement as a whole.
    fn note(&mut self, stem: &str, past: bool) {
        if past && !self.tense_known && self.copula.is_none() {
            self.tense(Tense::Past);
        }
        if self.lexicon.is_event(stem) {
            self.out.flags |= EVENT;
        }
        if self.lexicon.is_dated(stem) {
            self.out.flags |= DATED;
        }
        self.said |= self.lexicon.is_speech(stem);
    }

    fn open_after(&mut self, text: &str, stem: &str) {
        let free = self.out.slot.sort == 0 && !self.open;
        match self.lexicon.noun(text).or_else(|| self.lexicon.opens(stem)) {
            Some(Opens::After([""])) if free => self.open_slot(SLOT_PLACE),
            Some(after @ Opens::After(_)) => self.pending = Some(after),
            Some(Opens::Any) => self.named(SLOT_ANY),
            Some(Opens::Name) => self.named(SLOT_NAME),
            None => self.pending = None,
        }
    }

    /// A noun with one value: the value follows, or, after "X is the", has gone before.
    fn named(&mut self, sort: u8) {
        if self.noun == 0 {
            self.noun = sort;
        }
        let Some(at) = self.copula.filter(|at| *at > 0) else { return };
        let definite = self.before.as_deref() == Some("the");
        if definite && self.out.slot.sort == 0 {
            self.out.slot = Slot { sort, start: 0, end: at as u8 };
            self.open = false;
        }
    }

    fn stem(&mut self, word: &str) -> String {
        if word.starts_with('+') || word.contains(['-', '_', '.', '@', '/']) {
            return word.to_owned();
        }
        let found = self.analyser.terms(word).words.into_iter().next();
        found.map_or_else(|| word.to_owned(), |(stem, _)| stem)
    }

    fn push(&mut self, word: &str, kind: Kind, side: u8) {
        self.bound = None;
        let hash = hash24(word);
        if kind == Kind::Other {
            self.features.function(word);
        } else {
            self.features.content(hash);
        }
        self.out.tokens.push(Token::new(hash, kind, side));
    }

    fn finish(mut self, sentence: &Sentence) -> Statement {
        let quoted = sentence.words.iter().filter(|word| word.quoted).count();
        if sentence.asks || (quoted >= 3 && self.said) || self.at < self.words.len() {
            self.out.flags |= NO_CLAIM;
        }
        if self.lasting {
            self.out.flags &= !EVENT;
        }
        if self.denials % 2 == 1 {
            self.out.flags |= DENIED;
        }
        if self.is_reversed() {
            self.out.flags |= IMPOSSIBLE;
        }
        self.out.form = hash64(self.form, &[u8::from(sentence.asks)]);
        self.out.tokens.shrink_to_fit();
        self.out.values.shrink_to_fit();
        self.out
    }

    fn is_reversed(&self) -> bool {
        let marked =
            |mark: u8| self.out.values.iter().find(|value| value.mark & mark != 0 && value.dim == DAY);
        match (marked(MARK_START), marked(MARK_END)) {
            (Some(start), Some(end)) => start.low > end.high,
            _ => false,
        }
    }
}
