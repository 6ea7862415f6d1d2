//! Reads a sentence word by word.
//!
//! Each word is looked up once; what it does to the statement is decided by its role and by what stands around it.

use super::{
    AT_HOUR, CONTINUES, DATED, DEFINITE, DENIED, DENIED_SIDE, EVENT, FUTURE, HAS_DENIAL, IMPOSSIBLE, Kind,
    LIMITS, NEVER, NO_CLAIM, NONE, NOTE, NUMBERS, ONCE, PARTIAL, PAST, PERFECT, PERIODIC, QUALIFIES, READING,
    RECORD, SIDE_OF_NOUN, SIDE_WHICH, SLOT_ANY, SLOT_BY, SLOT_CHOICE, SLOT_NAME, SLOT_PLACE, SLOT_WHERE,
    SPENDING, Slot, Statement, TOKENS_MAX, Token, VALUES_MAX, occasion,
};
use crate::claim::label::{self, Place};
use crate::claim::lexicon::{Bound, Lexicon, Opens, Role, Tense, lexicon};
use crate::claim::quantity::{self, DAY, MARK_ANCHOR, MARK_END, MARK_SINCE, MARK_START, TEMPERATURE};
use crate::claim::words::{Sentence, Word};
use crate::claim::{Features, hash24, hash64};
use crate::text::Analyser;

/// A longer noun with a capital is a name.
const ACRONYM_BYTES_MAX: usize = 3;

pub(super) struct Reader<'a> {
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
    /// A place follows the copula: "is on", "is in".
    stands: bool,
    open: bool,
    said: bool,
    /// Names something that is measured, and changes by itself.
    measured: bool,
    /// Names a limit or a target, which does not.
    limited: bool,
    /// A colon stands for the verb.
    noted: Option<usize>,
    /// "has been doing": no single event.
    lasting: bool,
    /// Before which token the last denial stands.
    denied_at: Option<usize>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(words: &'a [Word], analyser: &'a mut Analyser, features: &'a mut Features) -> Self {
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
            stands: false,
            open: false,
            said: false,
            measured: false,
            limited: false,
            noted: None,
            lasting: false,
            denied_at: None,
        }
    }

    pub(super) fn read(&mut self) {
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
        // The words themselves: two phrases that are read alike may still differ.
        for at in self.at..self.at + taken {
            self.mix_word(at);
        }
        self.at += taken;
        self.meaning(word, capital);
        true
    }

    fn value(&mut self) -> bool {
        let Some(rest) = self.words.get(self.at..) else { return false };
        let before = self.before.clone();
        let before = before.as_deref();
        let Some((mut value, taken)) = quantity::value(rest, before) else { return false };
        if self.bound.is_none() && self.is_label(&value, taken) {
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
        self.mix_written(taken);
        self.features.value(&value);
        if self.out.values.len() < VALUES_MAX {
            self.out.values.push(value);
        }
        self.at += taken;
        true
    }

    fn is_label(&mut self, value: &quantity::Value, taken: usize) -> bool {
        let before = self.before.clone();
        let stem = before.as_deref().map(|before| self.stem(before)).unwrap_or_default();
        let place = Place {
            before: before.as_deref().map(|before| (before, stem.as_str())),
            after: self.words.get(self.at + taken..).unwrap_or_default(),
            after_verb: self.tense_known || self.copula.is_some(),
            apart: self.at.checked_sub(1).and_then(|at| self.words.get(at)).is_some_and(|word| word.stop),
        };
        label::is_label(value, &place)
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
        self.mix_word(self.at - 1);
        if label::is_letter_label(word, self.before.as_deref()) {
            return self.push(&text, Kind::Plain, 0);
        }
        self.meaning(&text, capital);
    }

    /// Adds a word to the form, which holds all that is said.
    fn mix_word(&mut self, at: usize) {
        let Some(word) = self.words.get(at) else { return };
        if !matches!(word.text.as_str(), "a" | "an" | "the") {
            // "US" is not "us", nor "May" "may".
            let name = at > 0 && word.capital && self.lexicon.surface(&word.text).is_some();
            self.form = hash64(self.form, &[u8::from(word.owner), u8::from(name)]);
            self.form = hash64(self.form, word.text.as_bytes());
        }
    }

    /// Adds a value as it is written where it can be read in two ways: 3.10 as a version, 5/7 as a day.
    fn mix_written(&mut self, taken: usize) {
        // A time to the second is read to the minute, or to the day.
        let timestamp = |text: &str| text.matches(':').count() > usize::from(!text.contains('-'));
        let doubtful = |word: &&Word| word.text.contains(['.', '/']) || timestamp(&word.text);
        let words = self.words.get(self.at..self.at + taken).unwrap_or_default();
        for word in words.iter().filter(doubtful) {
            self.form = hash64(self.form, word.text.as_bytes());
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
        if text == ":" {
            self.noted = Some(self.out.values.len());
            if self.noun == SLOT_NAME {
                self.noun = SLOT_ANY;
            }
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
            Role::Pronoun => {
                self.push(text, Kind::Other, 0);
                // "Call me Priya".
                let named = self.words.get(self.at).is_some_and(|next| next.capital);
                if text == "me" && named && matches!(self.before.as_deref(), Some("call" | "calls")) {
                    self.open_slot(SLOT_NAME);
                }
            }
            Role::Negator => {
                self.out.flags |= if text == "never" { NEVER } else { 0 };
                self.deny();
            }
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
        self.stands = matches!(next, "on" | "in" | "at" | "under" | "with");
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
        let given = matches!(text, "called" | "named") && self.copula == Some(self.out.tokens.len());
        let same = if given { "name".to_owned() } else { self.lexicon.same(&stem).to_owned() };
        self.note(&same, past || (text.ends_with("ed") && !text.contains('-')));
        let name = if capital { Kind::Name } else { Kind::Plain };
        match self.lexicon.of_stem(&stem).filter(|_| !given) {
            Some(role) => self.opposite(role, text, capital),
            None if same == "in" => {}
            None => self.push(&same, name, 0),
        }
        // "My GP", "the CEO": an acronym is no name.
        let acronym = text.len() <= ACRONYM_BYTES_MAX && self.lexicon.noun(text).is_some();
        if !capital || acronym {
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
        if self.lexicon.is_once(stem) {
            self.out.flags |= ONCE;
        }
        self.measured |= self.lexicon.is_measured(stem);
        self.limited |= self.lexicon.is_limit(stem);
        self.said |= self.lexicon.is_speech(stem);
    }

    fn open_after(&mut self, text: &str, stem: &str) {
        let free = self.out.slot.sort == 0 && !self.open;
        match self.lexicon.noun(text).or_else(|| self.lexicon.opens(stem)) {
            Some(Opens::After([""])) if free => {
                self.open_slot(if stem == "prefer" { SLOT_CHOICE } else { SLOT_PLACE });
            }
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
        // "X is on the plan" says where X stands, and others may stand there too.
        if definite && !self.stands && self.out.slot.sort == 0 {
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
        let side = if kind == Kind::Axis { side } else { self.tells_apart(word) };
        self.out.tokens.push(Token::new(hash, kind, side));
    }

    /// How the word just read tells its noun from others of the kind, if it does.
    fn tells_apart(&self, word: &str) -> u8 {
        let written =
            self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or(word, |word| &word.text);
        let behind_noun = self.before.as_deref().is_some_and(|before| self.lexicon.surface(before).is_none());
        let leads = !self.tense_known && self.copula.is_none();
        let definite = self.copula.is_some() && self.before.as_deref() == Some("the");
        if self.lexicon.qualifies(written) && (leads || definite) && self.before_noun() {
            QUALIFIES
        } else if self.lexicon.reserves(written) && behind_noun {
            LIMITS
        } else if written.starts_with(|c: char| c.is_ascii_digit()) {
            NUMBERS
        } else {
            0
        }
    }

    pub(super) fn finish(mut self, sentence: &Sentence) -> Statement {
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
        // "It is -3 degrees outside": the unit says that it was measured.
        let warm = self.out.values.iter().any(|value| value.dim == TEMPERATURE);
        let rated = self.words.iter().any(|word| is_rating(&word.text));
        if (self.measured || warm) && !self.limited && (rated || !self.out.values.is_empty()) {
            self.out.flags |= READING;
        }
        let value_behind_colon = self.noted.is_some_and(|before| self.out.values.len() > before);
        self.out.flags |= occasion::flags(&sentence.words);
        let single = self.noun != 0;
        let spent = self.out.is(SPENDING) && !self.limited;
        let at_hour = self.out.is(RECORD) && self.out.is(AT_HOUR);
        if ((value_behind_colon && !self.limited) || spent || at_hour) && !single {
            self.out.flags |= NOTE;
        }
        if single {
            self.out.flags &= !RECORD;
        }
        if sentence.continues {
            self.out.flags |= CONTINUES;
        }
        if self.is_reversed() {
            self.out.flags |= IMPOSSIBLE;
        }
        for at in self.at..self.words.len() {
            self.mix_word(at);
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

/// Whether a word is so many of so many: "7/10".
fn is_rating(word: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    word.split_once('/').is_some_and(|(points, of)| number(points) && number(of))
}
