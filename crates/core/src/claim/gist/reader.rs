//! Reads a text into its gist, sentence by sentence.

mod links;
mod opposites;

pub(super) use links::{BESIDE, LINKS, PLACED};

use super::clause::{
    clause_end, clause_start, denied_adjective, ends_apart, is_aside, is_attributive, is_person, is_verb,
    opens_with_name, opens_with_verb, parts, phrase_is, subject_start,
};
use super::facets;
use super::vocabulary::{WORDS, phrase_at, stem_of};
use super::{
    ADDS_TO, AGAIN, ALL, ALL_PAST, Amount, CHANGE, DENIED, ENDED, FIRST_PERSON, Gist, HEDGE, KIND, LEAD_MAX,
    LIMIT, MEASURED, MOMENT, NAME, NOTE_SUBJECT, ON_A_DAY, ONE_OF, ONLY, REACH, RELATIONS_MAX, REPLACES,
    SCOPE, SOME, SUBJECT, TIME, Term, VALUES_MAX, WEAK, WORDS_MAX, relations,
};
use crate::claim::label::{self, Place};
use crate::claim::lexicon::{Bound, Role, lexicon};
use crate::claim::quantity::{self, COUNT};
use crate::claim::words::{Sentence, Word};
use crate::claim::{hash24, hash64};
use crate::text::Analyser;
use jiff::civil::Date;

pub(super) fn read(sentences: &[Sentence], analyser: &mut Analyser) -> Gist {
    let mut reader = Reader { gist: Gist::default(), analyser, past: 0, present: 0, timed: Vec::new() };
    for sentence in sentences.iter().filter(|sentence| !sentence.asks) {
        reader.sentence(&sentence.words);
    }
    reader.gist.cues |= if reader.past > 0 && reader.present == 0 { ALL_PAST } else { 0 };
    reader.gist
}

struct Reader<'a> {
    gist: Gist,
    analyser: &'a mut Analyser,
    past: u32,
    present: u32,
    /// Places of days and months that became terms.
    timed: Vec<usize>,
}

impl Reader<'_> {
    fn sentence(&mut self, words: &[Word]) {
        let first = self.gist.terms.len();
        let opening = words.first().map_or("", |word| word.text.as_str());
        // "A friend of mine": one of several.
        self.gist.cues |=
            if first == 0 && matches!(opening, "a" | "an") && is_person(words) { ONE_OF } else { 0 };
        // Where each content word stands among the words of the sentence.
        let mut places: Vec<usize> = Vec::new();
        let mut verb = None;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if verb.is_none() && (is_verb(words, at) || (at == 0 && opens_with_verb(words))) {
                verb = Some(at);
            }
            self.cue(words, at);
            let taken = self.value(words, at);
            if taken > 0 {
                places.append(&mut self.timed);
                at += taken;
                continue;
            }
            let kinds = WORDS.kinds.get(word.text.as_str()).into_iter().flatten();
            let abstains = WORDS.abstains.get(word.text.as_str()).into_iter().flatten();
            for (hash, denied) in kinds.map(|hash| (*hash, false)).chain(abstains.map(|hash| (*hash, true))) {
                if self.gist.terms.len() < WORDS_MAX {
                    if denied {
                        let place = self.gist.terms.len() as u8;
                        self.gist.denials.push((place, place + 1));
                    }
                    self.gist.terms.push(Term::new(hash, KIND | if denied { DENIED } else { 0 }));
                    places.push(at);
                }
            }
            for part in parts(&word.text) {
                let part = Word { text: part.to_owned(), ..word.clone() };
                if self.gist.terms.len() < WORDS_MAX
                    && let Some(term) = self.term(&part, words, at)
                {
                    self.gist.terms.push(term);
                    places.push(at);
                }
            }
            at += 1;
        }
        // A note without a verb is about its first words.
        let verb = verb.unwrap_or_else(|| places.get(NOTE_SUBJECT).copied().unwrap_or(words.len()));
        if first == 0 {
            let start = subject_start(words, verb);
            let verb = if start > verb {
                (start..words.len()).find(|at| is_verb(words, *at)).unwrap_or(verb)
            } else {
                verb
            };
            let any = places.iter().any(|place| *place >= start && *place < verb);
            self.mark(first, &places, SUBJECT, |place| place < verb && (place >= start || !any));
        }
        if matches!(opening, "for" | "when" | "on" | "in" | "during" | "at" | "while" | "whenever" | "with")
            && self.gist.lead.is_none()
        {
            let end = words.iter().position(|word| word.stop).map_or(verb, |stop| verb.min(stop + 1));
            let count = places.iter().filter(|place| **place < end).take(LEAD_MAX).count();
            self.gist.lead = (count > 0).then_some((first as u8, (first + count) as u8));
        }
        self.links(words, first, &places);
        self.denials(words, first, &places);
        self.endings(words, first, &places);
        self.opposites(words, verb);
        self.facets(words);
        self.aim(words, first, &places);
        if self.gist.relations.len() < RELATIONS_MAX {
            let found = relations::relations(words, first, &places, &self.gist.terms);
            self.gist.relations.extend(found);
            self.gist.relations.truncate(RELATIONS_MAX);
        }
    }

    fn facets(&mut self, words: &[Word]) {
        let mut found = std::mem::take(&mut self.gist.facets);
        facets::read(words, &mut found, |text| self.object(text));
        self.gist.facets = found;
    }

    /// What a sentence says that it is for, behind its verb.
    fn aim(&mut self, words: &[Word], first: usize, places: &[usize]) {
        let opens = |at: &usize| {
            let capital = words.get(at + 1).is_some_and(|next| next.capital);
            words.get(*at).is_some_and(|word| {
                matches!(word.text.as_str(), "for" | "when" | "during" | "while" | "if")
                    || (word.text == "in" && capital)
            })
        };
        let Some(at) = (1..words.len()).find(opens).map(|at| at - 1) else {
            self.gist.aim = self.gist.aim.or(self.gist.lead);
            return;
        };
        let (from, to) = (at + 1, clause_end(words, at + 1));
        let start = first + places.iter().take_while(|place| **place < from).count();
        let end = first + places.iter().take_while(|place| **place < to).count();
        if end > start && self.gist.aim.is_none() {
            self.gist.aim = Some((start as u8, end as u8));
        }
    }

    /// The hash of a word that can be the object of a verb.
    fn object(&mut self, text: &str) -> Option<u32> {
        let stem = self.stem(text);
        let plain =
            lexicon().surface(text).is_none() && !WORDS.light.contains(&stem) && !WORDS.scopes.contains(text);
        (plain && text.contains(char::is_alphabetic)).then(|| hash24(&stem))
    }

    fn mark(&mut self, first: usize, places: &[usize], marks: u8, is_there: impl Fn(usize) -> bool) {
        for (term, place) in self.gist.terms.iter_mut().skip(first).zip(places) {
            if is_there(*place) {
                term.mark(marks);
            }
        }
    }

    fn cue(&mut self, words: &[Word], at: usize) {
        let first = self.gist.terms.is_empty() || clause_start(words, at) == 0;
        let Some(word) = words.get(at) else { return };
        let text = word.text.as_str();
        if phrase_at(&WORDS.hedged, words, at) > 0 && first {
            self.gist.cues |= HEDGE;
        }
        let last = word.stop || at + 1 == words.len();
        if phrase_at(&WORDS.adds, words, at) > 0 && (text != "too" || last) {
            self.gist.cues |= ADDS_TO;
        }
        if at == 0 && text == "another"
            || (matches!(
                text,
                "every"
                    | "each"
                    | "per"
                    | "daily"
                    | "weekly"
                    | "fortnightly"
                    | "always"
                    | "regularly"
                    | "regular"
                    | "biweekly"
            ) || text.ends_with("days")
                || phrase_is(words, at, &["of", "the", "month"]))
        {
            self.gist.cues |= AGAIN;
        }
        if phrase_at(&WORDS.changes, words, at) > 0 {
            self.gist.cues |= if WORDS.weak_changes.contains(text) { CHANGE } else { CHANGE | REPLACES };
        }
        if lexicon().is_limit(&stem_of(text)) {
            self.gist.cues |= LIMIT;
        }
        let last_of_all = text == "else" && at > 0 || text == "alone" && last;
        if matches!(text, "only" | "solely" | "exclusively" | "entirely" | "single" | "sole") || last_of_all {
            self.gist.cues |= ONLY;
        }
        if matches!(text, "i" | "we" | "my" | "our" | "us" | "me") {
            self.gist.cues |= FIRST_PERSON;
        }
        match text {
            "all" | "every" | "everyone" | "everybody" | "each" if at == 0 => self.gist.cues |= ALL,
            "some" | "several" | "many" | "few" | "most" | "half" | "certain" if at <= 1 => {
                self.gist.cues |= SOME
            }
            "is" | "are" | "am" | "has" | "have" | "do" | "does" | "can" | "must" | "may" | "should" => {
                self.present += 1;
            }
            "broken" | "stuck" | "torn" | "frozen" | "closed" | "shut" | "gone" | "married" | "divorced"
            | "engaged" | "retired" => {}
            _ if at > 0
                && is_verb(words, at)
                && !text.ends_with("ed")
                && !matches!(text, "was" | "were" | "did" | "had" | ":")
                && !lexicon().irregular(text).is_some_and(|(_, past)| past) =>
            {
                self.present += 1;
            }
            _ if !first => {}
            "was" | "were" | "did" | "had" => self.past += 1,
            ":" => self.present += 1,
            "asked" | "told"
                if words
                    .iter()
                    .skip(at + 1)
                    .take(4)
                    .any(|word| matches!(word.text.as_str(), "to" | "not" | "never")) =>
            {
                self.present += 1;
            }
            _ if at > 0 && text.ends_with("ed") && !is_attributive(words, at)
                || lexicon().irregular(text).is_some_and(|(_, past)| past) =>
            {
                self.past += 1
            }
            _ if relations::is_verb(text) => self.present += 1,
            _ => {}
        }
    }

    /// Takes in a value that begins here; returns how many words it has.
    fn value(&mut self, words: &[Word], at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let Some(rest) = words.get(at..) else { return 0 };
        let Some((value, taken)) = quantity::value(rest, before.map(|word| word.text.as_str())) else {
            return 0;
        };
        let stem = before.map(|word| stem_of(&word.text)).unwrap_or_default();
        let place = Place {
            before: before.map(|word| (word.text.as_str(), stem.as_str())),
            after: rest.get(taken..).unwrap_or_default(),
            after_verb: words.iter().take(at).enumerate().any(|(at, _)| is_verb(words, at)),
            apart: before.is_some_and(|word| word.stop),
        };
        if label::is_label(&value, &place) {
            return 0;
        }
        let told =
            |at: usize| at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |word| word.text.as_str());
        let value = match (told(at.saturating_sub(1)), told(at)) {
            (
                _,
                "roughly" | "about" | "around" | "approximately" | "nearly" | "almost" | "circa" | "approx",
            ) => value.bounded(Bound::About),
            ("up", "to") | ("at", "most") | (_, "under" | "below") | ("more" | "less", "than") => {
                value.bounded(Bound::AtMost)
            }
            ("at", "least") | (_, "over") => value.bounded(Bound::AtLeast),
            _ => value,
        };
        let lead = rest.first().map_or("", |word| word.text.as_str());
        let today = Date::constant(2001, 1, 1);
        let resolved = value.is_relative() && quantity::relative_days(&value, today).is_some();
        // A line that begins with a time of day is one of a log.
        let stamp = at == 0 && matches!(value.dim, quantity::CLOCK | quantity::DAY);
        let aside = clause_start(words, at) > 0 && !self.gist.terms.is_empty();
        if !aside && (resolved || stamp || (value.is_time() && matches!(lead, "this" | "last" | "next"))) {
            self.gist.cues |= MOMENT;
        }
        if value.family() == quantity::DAY && matches!(told(at), "by" | "until" | "till") {
            self.gist.cues |= ON_A_DAY;
        }
        if value.dim == quantity::VERSION && !place.after_verb && self.gist.terms.len() < WORDS_MAX {
            let bits = value.bits().iter().fold(7, |form, bit| hash64(form, &bit.to_le_bytes()));
            self.gist.terms.push(Term::new((bits >> 40) as u32, SCOPE));
            self.timed.push(at);
            return taken;
        }
        if value.is_time() && self.gist.terms.len() < WORDS_MAX {
            let written = rest.first().map_or("", |word| word.text.as_str());
            if WORDS.scopes.contains(written) {
                let name = written.strip_suffix('s').filter(|day| day.ends_with("day")).unwrap_or(written);
                self.gist.terms.push(Term::new(hash24(name), SCOPE | TIME));
                self.timed.push(at);
            }
        }
        let next = rest.get(taken).filter(|_| value.dim == COUNT);
        let of =
            next.filter(|next| lexicon().surface(&next.text).is_none()).map(|next| self.stem(&next.text));
        if self.gist.amounts.len() < VALUES_MAX {
            self.gist.amounts.push(Amount { value, of: of.map_or(0, |stem| hash24(&stem)) });
        }
        taken
    }

    fn stem(&mut self, word: &str) -> String {
        let (plain, _) = lexicon().irregular(word).unwrap_or((word, false));
        let stem = if plain.contains(['-', '_', '.', '@', '/']) {
            plain.to_owned()
        } else {
            let found = self.analyser.terms(plain).words.into_iter().next();
            found.map_or_else(|| plain.to_owned(), |(stem, _)| stem)
        };
        WORDS.same.get(&stem).cloned().unwrap_or_else(|| lexicon().same(&stem).to_owned())
    }

    fn term(&mut self, word: &Word, words: &[Word], at: usize) -> Option<Term> {
        let text = word.text.as_str();
        let role = lexicon().surface(text);
        let function = matches!(
            role,
            Some(
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
                    | Role::Pronoun
            )
        );
        let letter = label::is_letter_label(
            word,
            at.checked_sub(1).and_then(|at| words.get(at)).map(|w| w.text.as_str()),
        );
        let may = text == "may" && !word.capital;
        if (function && !letter)
            || matches!(text, "not" | "non" | "=")
            || may
            || !text.contains(char::is_alphanumeric)
        {
            return None;
        }
        let stem = self.stem(text);
        let identifier = text.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '@' | '/'));
        let first_name = at == 0 && word.capital && opens_with_name(words);
        let mut marks = if (word.capital && at > 0) || identifier || letter || first_name { NAME } else { 0 };
        if identifier {
            self.gist.identifiers.push(hash24(&stem));
        }
        if WORDS.scopes.contains(text) {
            marks |= SCOPE;
        }
        if WORDS.light.contains(&stem) {
            marks |= WEAK;
        }
        let runs_out =
            matches!(text, "runs" | "run") && words.get(at + 1).is_some_and(|next| next.text == "out");
        if WORDS.due.contains(&stem) || runs_out {
            self.gist.cues |= ON_A_DAY;
        }
        if lexicon().is_measured(&stem) {
            self.gist.cues |= MEASURED;
        }
        Some(Term::new(hash24(&stem), marks))
    }

    fn denials(&mut self, words: &[Word], first: usize, places: &[usize]) {
        for (at, word) in words.iter().enumerate() {
            let prefix = word.text.strip_prefix("non-").or_else(|| word.text.strip_suffix("-free"));
            let prefix =
                prefix.or_else(|| lexicon().denied(&word.text)).or_else(|| denied_adjective(&word.text));
            let twice = at
                .checked_sub(1)
                .and_then(|at| words.get(at))
                .is_some_and(|word| matches!(word.text.as_str(), "not" | "never" | "no"));
            if let Some(rest) = prefix.filter(|_| !twice) {
                let hash = hash24(&self.stem(rest));
                let range = self.gist.terms.len() as u8;
                if self.gist.terms.len() < WORDS_MAX && !word.capital {
                    self.gist.terms.push(Term::new(hash, DENIED | KIND));
                    self.gist.denials.push((range, range + 1));
                }
            }
            let denies = matches!(lexicon().surface(&word.text), Some(Role::Negator | Role::No))
                && word.text != "+not";
            let next = words.get(at + 1).map_or("", |next| next.text.as_str());
            let softened =
                matches!(next, "only" | "just" | "but" | "more" | "longer" | "later" | "less" | "least")
                    || matches!(next, "forget" | "mind" | "worry" | "hesitate");
            if denies && !softened && !is_aside(words, at) {
                let reached = self.reach(words, first, places, at, DENIED);
                self.gist.denials.extend(reached);
            }
        }
    }

    /// Marks the content words that a denial or an ending at `at` reaches, those after it in its clause, and says which.
    fn reach(
        &mut self,
        words: &[Word],
        first: usize,
        places: &[usize],
        at: usize,
        marks: u8,
    ) -> Option<(u8, u8)> {
        let end = clause_end(words, at);
        // "left his job to pursue his passion": what follows is what for.
        let purpose = |place: &usize| {
            words
                .get(*place)
                .is_some_and(|word| matches!(word.text.as_str(), "to" | "as" | "for" | "after" | "by"))
        };
        let end = if marks == ENDED { (at + 1..end).find(purpose).unwrap_or(end) } else { end };
        let reach = if words.get(at).is_some_and(|word| word.text.starts_with("non-")) { 1 } else { REACH };
        let mut found: Option<(usize, usize)> = None;
        let mut left = reach;
        for (number, (term, place)) in
            self.gist.terms.iter_mut().enumerate().skip(first).zip(places).map(|((n, t), p)| (n, (t, p)))
        {
            if *place > at && *place < end && left > 0 {
                term.mark(marks);
                left -= usize::from(!term.is(KIND | WEAK));
                found = Some((found.map_or(number, |(from, _)| from), number + 1));
            }
        }
        found.map(|(from, to)| (from as u8, to as u8))
    }

    fn endings(&mut self, words: &[Word], first: usize, places: &[usize]) {
        for at in 0..words.len() {
            let after = phrase_at(&WORDS.ends_after, words, at).max(usize::from(ends_apart(words, at)));
            let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at));
            let negated = (1..=2)
                .any(|back| before(back).is_some_and(|word| word.text == "not" || word.text == "never"));
            if after > 0 && !negated {
                let _ = self.reach(words, first, places, at + after - 1, ENDED);
            }
            let before = phrase_at(&WORDS.ends_before, words, at);
            if before > 0 {
                let start = clause_start(words, at);
                let mut left = REACH - 1;
                for (term, place) in self.gist.terms.iter_mut().skip(first).zip(places).rev() {
                    if *place < at && *place >= start && left > 0 {
                        term.mark(ENDED);
                        left -= 1;
                    }
                }
            }
            let any_more = words.get(at).is_some_and(|word| word.text == "anymore")
                || (phrase_is(words, at, &["any", "more"]) || phrase_is(words, at, &["any", "longer"]));
            if any_more {
                let start = clause_start(words, at);
                let denied = words
                    .get(start..at)
                    .unwrap_or_default()
                    .iter()
                    .any(|word| matches!(lexicon().surface(&word.text), Some(Role::Negator | Role::No)));
                if denied {
                    self.mark_if(
                        first,
                        places,
                        |term, place| place >= start && place < at && term.is(DENIED),
                        ENDED,
                    );
                }
            }
            let next = words.get(at + 1).map_or("", |word| word.text.as_str());
            let no = (1..=3).any(|back| {
                at.checked_sub(back).and_then(|at| words.get(at)).is_some_and(|word| word.text == "no")
            });
            if phrase_is(words, at, &["left"])
                && (no || next.is_empty() || words.get(at).is_some_and(|word| word.stop))
            {
                let start = clause_start(words, at);
                self.mark_if(
                    first,
                    places,
                    |term, place| place >= start && place < at && term.is(DENIED),
                    ENDED,
                );
            }
        }
    }

    fn mark_if(&mut self, first: usize, places: &[usize], holds: impl Fn(&Term, usize) -> bool, marks: u8) {
        for (term, place) in self.gist.terms.iter_mut().skip(first).zip(places) {
            if holds(term, *place) {
                term.mark(marks);
            }
        }
    }
}
