//! One sentence as a statement: its content words in order, its values, and how it is meant.

mod occasion;
mod reader;

use super::lexicon::{Role, lexicon};
use super::quantity::Value;
use super::words::{Sentence, Word};
use super::{Features, hash64};
use crate::text::Analyser;
use reader::Reader;

/// Content words of a statement; what is longer is no single statement and is compared no more.
const TOKENS_MAX: usize = 60;
/// Values of a statement.
const VALUES_MAX: usize = 12;

/// Asks, supposes, quotes: claims nothing.
pub(super) const NO_CLAIM: u32 = 1;
pub(super) const PAST: u32 = 2;
pub(super) const PERFECT: u32 = 4;
pub(super) const FUTURE: u32 = 8;
/// Tells of something that can happen again.
pub(super) const EVENT: u32 = 16;
/// Says when something is, rather than what was at a time.
pub(super) const DATED: u32 = 32;
/// Speaks of some, not of all.
pub(super) const PARTIAL: u32 = 64;
/// An odd number of denials.
pub(super) const DENIED: u32 = 128;
/// Denies by "no": none of it.
pub(super) const NONE: u32 = 256;
/// Its start lies after its end.
pub(super) const IMPOSSIBLE: u32 = 512;
/// Any denial at all.
pub(super) const HAS_DENIAL: u32 = 1024;
/// The one value stands behind a definite article.
pub(super) const DEFINITE: u32 = 2048;
/// Nothing but a value or a few words: no sentence of its own.
pub(super) const BARE: u32 = 4096;

/// Happens again and again.
pub(super) const PERIODIC: u32 = 8192;

/// An opposite is denied: neither side is claimed.
pub(super) const DENIED_SIDE: u32 = 16_384;

/// Tells of something that happens once and stays so: a birth, a founding.
pub(super) const ONCE: u32 = 32_768;

/// Says "never": of all times up to now.
pub(super) const NEVER: u32 = 65_536;

/// Gives a reading, which changes by itself: a temperature, a load, a weight.
pub(super) const READING: u32 = 131_072;

/// A note of a value behind a colon, without a verb: a record where records are kept.
pub(super) const NOTE: u32 = 262_144;

/// Is about whoever stores it: "I live in Berlin", "The user prefers tea".
pub(super) const OF_SELF: u32 = 524_288;

/// Names days of the week that come again, or names them before its verb: "on Mondays".
pub(super) const WEEKLY: u32 = 1 << 20;

/// Is about one of several: "has a meeting", "the train to Graz".
pub(super) const SEVERAL: u32 = 1 << 21;

/// Has no verb: "Call with Acme at 10:00".
pub(super) const RECORD: u32 = 1 << 22;

/// Says which of two is preferred to the other.
pub(super) const RANKS: u32 = 1 << 23;

/// Names an hour behind "at", or begins with a time.
pub(super) const AT_HOUR: u32 = 1 << 24;

/// Has no verb, and names an amount of money.
pub(super) const SPENDING: u32 = 1 << 25;

/// Goes on behind a semicolon.
pub(super) const CONTINUES: u32 = 1 << 26;

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

/// Marks a word that tells its noun from another one of the kind: the deputy manager.
pub(super) const QUALIFIES: u8 = 1;
/// Marks a word behind its noun that names a limit of it: the memory limit.
pub(super) const LIMITS: u8 = 2;
/// Marks a number that is a label.
pub(super) const NUMBERS: u8 = 4;

/// What somebody prefers.
pub(super) const SLOT_CHOICE: u8 = 6;

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
    pub(super) flags: u32,
    #[n(2)]
    pub(super) slot: Slot,
    #[n(3)]
    pub(super) tokens: Vec<Token>,
    #[n(4)]
    pub(super) values: Vec<Value>,
}

impl Statement {
    pub(super) fn is(&self, flag: u32) -> bool {
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

/// What goes on behind a semicolon without a verb is about what the sentence before it is about: "depth at B: 20 m; peak 54 m".
pub(super) fn tie_to_lead(statements: &mut [Statement]) {
    let Some((last, before)) = statements.split_last_mut() else { return };
    let Some(lead) = before.iter().rfind(|one| !one.is(CONTINUES)) else { return };
    if last.is(CONTINUES) && last.is(RECORD) {
        let words = lead.tokens.iter().map(|token| u64::from(token.hash()));
        let times = lead.values.iter().filter(|value| value.is_time()).flat_map(Value::bits);
        let about = words.chain(times).fold(0, |form, part| hash64(form, &part.to_le_bytes()));
        last.tokens.push(Token::other((about >> 40) as u32));
    }
}

/// Whether a text is a bare value: no verb, few words.
pub(super) fn is_bare(sentence: &Sentence) -> bool {
    let lexicon = lexicon();
    let verb =
        |word: &Word| matches!(lexicon.surface(&word.text), Some(Role::Be(_) | Role::Have(_) | Role::Aux(_)));
    // "api 2.31 deployed to staging" tells what happened.
    let happened = sentence.words.windows(3).any(|three| {
        matches!(three, [thing, done, to] if lexicon.surface(&thing.text).is_none() && done.text.ends_with("ed")
            && matches!(lexicon.surface(&to.text), Some(Role::Link | Role::Preposition)))
    });
    sentence.words.len() <= 5 && !happened && !sentence.words.iter().any(verb)
}
