//! Relevance: words, meaning, and what stands around a text.
//!
//! Candidates are the best texts by words, the best by meaning, and the texts around both. Each is then scored by its own
//! words and meaning and, at a discount, by those of its neighbours and its session, by who speaks and when. The weights
//! were chosen by measurement; `Knob` names those that can be left out to see what they bring.

use super::dates::days_off;
use super::question::{Places, Question, Relevant, best};
use super::words::{Word, found, sums, telling};
use crate::item::words as word_list;
use crate::vector::{Allowed, Near, UNWEIGHED};
use crate::view::{Asks, Row};
use std::collections::{BTreeSet, HashMap};

/// Candidates by words, and as many by meaning.
const DEPTH: usize = 200;
/// Texts before and after that count.
const REACH: usize = 2;
/// A longer time is no help to find a text by.
const NAMED_DAYS_MAX: i32 = 31;
/// A text whose meaning is farther from the question is no candidate (SHARE-22).
const COSINE_MIN: f32 = 0.1;

/// What a word counts that stands up to two texts away.
const NEAR_WORDS: f64 = 0.5;
/// What it counts in the text before, if that one asks something: an answer inherits its question.
const ASKED_WORDS: f64 = 0.9;
/// The weight of words, own and near.
const WORDS: f64 = 1.0;
/// The weight of a text's own meaning, of each direct neighbour's, and of the nearest in its session.
const MEANING: f64 = 1.25;
const NEAR_MEANING: f64 = 0.4;
const SESSION_MEANING: f64 = 0.6;
/// The weight of being said by someone whom the question names.
const SPEAKER: f64 = 0.25;
/// The weight of the day that the question names, and the days after which it has faded to a third.
const TIME: f64 = 1.0;
const TIME_DAYS: f64 = 7.0;
/// The weight of holding what the question quotes.
const QUOTING: f64 = 2.0;
/// What a text loses that ends in a question.
const QUESTION: f64 = 0.25;

word_list! {
    /// What can be left out of a search: trust of any, the rest of a hybrid one.
    Knob {
        /// Words of the text itself and around it.
        0 Words = "words",
        /// Meaning of the text itself and around it.
        1 Meaning = "meaning",
        /// The texts before and after.
        2 Neighbours = "neighbours",
        /// The nearest meaning in the session.
        3 Session = "session",
        /// Who speaks.
        4 Speaker = "speaker",
        /// The day that the question names.
        5 Time = "time",
        /// That a question is no answer.
        6 Question = "question",
        /// How far each is trusted (CAL-35).
        7 Trust = "trust",
    }
}

/// The best `k` by words alone; what the question quotes must be in them.
#[must_use]
pub fn lexical(places: &Places<'_>, question: &Question<'_>, k: usize) -> Vec<Relevant> {
    let words = found(places, &telling(question, &|_| false));
    let quotes = |row: &Row| question.quoting.as_ref().is_none_or(|rows| rows.contains(*row));
    let scored = sums(&words).into_iter().filter(|(row, _)| quotes(row));
    let relevant = |(row, score)| Relevant { row, relevance: super::relevance(score) };
    best(scored.map(relevant).collect(), k)
}

/// The best `k` by meaning alone, given the nearest.
#[must_use]
pub fn dense(nearest: &[Near], k: usize) -> Vec<Relevant> {
    let relevant =
        |near: &Near| Relevant { row: near.row, relevance: f64::from(near.counted).clamp(0.0, 1.0) };
    nearest.iter().take(k).map(relevant).collect()
}

/// The best `k` by everything but what `without` names, given the nearest by meaning.
#[must_use]
pub fn hybrid(
    places: &Places<'_>,
    question: &Question<'_>,
    nearest: &[Near],
    k: usize,
    without: &[Knob],
) -> Vec<Relevant> {
    let is_name =
        |word: &str| places.index.sessions.is_speaker(places.scope.predicate, word, places.scope.redacted);
    let names: Vec<&str> = question.words.iter().map(String::as_str).filter(|word| is_name(word)).collect();
    let words = if without.contains(&Knob::Words) {
        Vec::new()
    } else {
        found(places, &telling(question, &|word| names.contains(&word)))
    };
    let question = Question {
        vector: question.vector.filter(|_| !without.contains(&Knob::Meaning)),
        ..question.clone()
    };
    let nearest = if question.vector.is_some() { nearest } else { &[] };
    let seeds = seeds(places, &question, nearest, &words, k);
    let pool = Pool::around(places, &question, &words, &seeds);
    let scoring = Scoring { places, question: &question, names: &names, without, pool: &pool };
    best(scoring.all(), k)
}

/// The nearest by meaning, what counts most first: at least `k`, and as many as a hybrid search begins with.
#[must_use]
pub fn nearest(places: &Places<'_>, question: &Question<'_>, k: usize) -> Vec<Near> {
    let (Some(vectors), Some(vector)) = (places.vectors, question.vector) else { return Vec::new() };
    let admits = |row: Row| places.scope.admits_row(places.items, row);
    let allowed = Allowed { rows: Some(places.rows), admits: &admits, weights: places.roots };
    // A vector of another length is near to nothing; whoever takes it in has refused it before.
    vectors.search(vector, &allowed, k, places.effort).unwrap_or_default()
}

/// How many of the nearest a hybrid search for `k` begins with.
#[must_use]
pub fn depth(k: usize) -> usize {
    DEPTH.max(k)
}

fn seeds(
    places: &Places<'_>,
    question: &Question<'_>,
    nearest: &[Near],
    words: &[Word],
    k: usize,
) -> Vec<Row> {
    let depth = depth(k);
    let scored = sums(words).into_iter().map(|(row, relevance)| Relevant { row, relevance }).collect();
    let mut seeds: Vec<Row> = best(scored, depth).iter().map(|one| one.row).collect();
    seeds.extend(nearest.iter().filter(|near| near.cosine >= COSINE_MIN).map(|near| near.row));
    seeds.extend(named(places, question).filter(|row| places.admits(*row)).take(depth));
    seeds
}

/// Texts that hold what the question quotes, and texts of the days that it names, newest first: none of its words need be
/// in them.
fn named<'a>(places: &'a Places<'_>, question: &'a Question<'_>) -> impl Iterator<Item = Row> + 'a {
    let owner = places.scope.predicate.owner();
    let quoting = question.quoting.iter().flat_map(|rows| rows.iter().rev());
    let short = question.days.iter().filter(|(first, last)| last.saturating_sub(*first) <= NAMED_DAYS_MAX);
    quoting.chain(short.flat_map(move |days| places.index.sessions.on(owner, *days)))
}

/// A candidate with what stands around it.
struct Candidate {
    row: Row,
    /// Texts before and after, nearest first.
    around: [Vec<Row>; 2],
}

/// What is known of a text, candidate or neighbour of one.
#[derive(Default)]
struct Known {
    /// How strongly it holds each word.
    strengths: Vec<f64>,
    /// Nothing without a vector, which what was written just now may not have yet.
    cosine: Option<f64>,
}

struct Pool {
    candidates: Vec<Candidate>,
    known: HashMap<Row, Known>,
    /// The nearest meaning among the candidates of each session.
    sessions: HashMap<u32, f64>,
    weights: Vec<f64>,
}

impl Pool {
    fn around(places: &Places<'_>, question: &Question<'_>, words: &[Word], seeds: &[Row]) -> Self {
        let around = |row: Row| {
            let sides = places.index.sessions.around(row, REACH, places.items, places.scope);
            sides.map(|side| side.into_iter().filter(|row| places.rows.contains(*row)).collect::<Vec<Row>>())
        };
        let mut rows: BTreeSet<Row> = seeds.iter().copied().collect();
        rows.extend(seeds.iter().flat_map(|row| around(*row)).flatten());
        let candidates: Vec<Candidate> =
            rows.into_iter().map(|row| Candidate { row, around: around(row) }).collect();
        let mut pool = Self {
            candidates,
            known: HashMap::new(),
            sessions: HashMap::new(),
            weights: words.iter().map(|word| word.weight).collect(),
        };
        pool.learn(places, question, words);
        pool.sum_up(places);
        pool
    }

    fn learn(&mut self, places: &Places<'_>, question: &Question<'_>, words: &[Word]) {
        for candidate in &self.candidates {
            for row in candidate.around.iter().flatten().chain([&candidate.row]) {
                self.known.entry(*row).or_insert_with(|| Known {
                    strengths: words.iter().map(|word| word.strength(*row)).collect(),
                    cosine: cosine(places, question, *row),
                });
            }
        }
    }

    fn sum_up(&mut self, places: &Places<'_>) {
        for candidate in &self.candidates {
            let Some(session) = places.index.sessions.session_of(candidate.row) else { continue };
            let Some(cosine) = self.cosine(candidate.row) else { continue };
            let nearest = self.sessions.entry(session).or_insert(cosine);
            *nearest = nearest.max(cosine);
        }
    }

    fn weighed(&self, strengths: &[f64]) -> f64 {
        self.weights.iter().zip(strengths).map(|(weight, strength)| weight * strength).sum()
    }

    fn cosine(&self, row: Row) -> Option<f64> {
        self.known.get(&row).and_then(|known| known.cosine)
    }

    /// The nearest meaning of any candidate.
    fn nearest(&self) -> f64 {
        let cosines = self.candidates.iter().filter_map(|candidate| self.cosine(candidate.row));
        cosines.fold(0.0, f64::max)
    }
}

fn cosine(places: &Places<'_>, question: &Question<'_>, row: Row) -> Option<f64> {
    let vector = places.vectors?.vector(row)?;
    let asked = question.vector?;
    let root = places.roots.get(row as usize).copied().unwrap_or(UNWEIGHED);
    // The weights were chosen where nothing is known of any text, so what counts as much as such a one counts in full.
    Some(f64::from(dot(vector, asked)) * f64::from(root) / f64::from(UNWEIGHED))
}

/// The sum of products. In lanes, which the compiler turns into vector instructions.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

struct Scoring<'a> {
    places: &'a Places<'a>,
    question: &'a Question<'a>,
    names: &'a [&'a str],
    without: &'a [Knob],
    pool: &'a Pool,
}

impl Scoring<'_> {
    fn uses(&self, knob: Knob) -> bool {
        !self.without.contains(&knob)
    }

    fn all(&self) -> Vec<Relevant> {
        let words = self.words();
        let (most, nearest) = (self.most(), self.pool.nearest());
        let one = |(candidate, words): (&Candidate, f64)| Relevant {
            row: candidate.row,
            relevance: ((words
                + self.meaning(candidate, words / WORDS * nearest)
                + self.circumstances(candidate))
                / most)
                .clamp(0.0, 1.0),
        };
        self.pool.candidates.iter().zip(words).map(one).collect()
    }

    /// The score that no text exceeds.
    fn most(&self) -> f64 {
        let time = if self.question.days.is_empty() { 0.0 } else { TIME };
        let quoting = if self.question.quoting.is_none() { 0.0 } else { QUOTING };
        WORDS + MEANING + 2.0 * NEAR_MEANING + SESSION_MEANING + SPEAKER + time + quoting
    }

    /// Each candidate's share of words: those of the strongest candidate are the whole.
    fn words(&self) -> Vec<f64> {
        let words: Vec<f64> =
            self.pool.candidates.iter().map(|candidate| self.near_words(candidate)).collect();
        let most = largest(&words);
        words.iter().map(|words| WORDS * words / most).collect()
    }

    /// Each word counts where it stands strongest: in the text, or at a discount around it.
    fn near_words(&self, candidate: &Candidate) -> f64 {
        let mut strongest = match self.pool.known.get(&candidate.row) {
            Some(known) => known.strengths.clone(),
            None => return 0.0,
        };
        if self.uses(Knob::Neighbours) {
            for (side, rows) in candidate.around.iter().enumerate() {
                for (step, row) in rows.iter().enumerate() {
                    let asked =
                        side == 0 && step == 0 && self.places.index.sessions.asks(*row) != Asks::Nothing;
                    let share = if asked { ASKED_WORDS } else { NEAR_WORDS };
                    let Some(known) = self.pool.known.get(row) else { continue };
                    for (most, strength) in strongest.iter_mut().zip(&known.strengths) {
                        *most = most.max(share * strength);
                    }
                }
            }
        }
        self.pool.weighed(&strongest)
    }

    /// What is not there, a neighbour or a session, is taken to mean what the text means; a text that has no vector yet, what its
    /// words suggest.
    fn meaning(&self, candidate: &Candidate, suggested: f64) -> f64 {
        let own = self.pool.cosine(candidate.row).unwrap_or(suggested);
        let near = |side: &Vec<Row>| match side.first() {
            Some(row) if self.uses(Knob::Neighbours) => self.pool.cosine(*row).unwrap_or(own),
            _ => own,
        };
        let session = self.places.index.sessions.session_of(candidate.row);
        let nearest =
            session.filter(|_| self.uses(Knob::Session)).and_then(|session| self.pool.sessions.get(&session));
        MEANING * own
            + NEAR_MEANING * candidate.around.iter().map(near).sum::<f64>()
            + SESSION_MEANING * nearest.copied().unwrap_or(own)
    }

    /// Who speaks, when, and whether it is an answer at all.
    fn circumstances(&self, candidate: &Candidate) -> f64 {
        let (sessions, row) = (&self.places.index.sessions, candidate.row);
        let mut score = 0.0;
        let speaker = sessions.speaker_of(row, self.places.scope.redacted);
        let speaks = speaker.iter().any(|word| self.names.contains(&word.as_str()));
        if self.uses(Knob::Speaker) && speaks {
            score += SPEAKER;
        }
        if self.uses(Knob::Time)
            && !self.question.days.is_empty()
            && let Some(day) = sessions.day(row)
        {
            score += TIME * (-f64::from(days_off(&self.question.days, day)) / TIME_DAYS).exp();
        }
        if self.question.quoting.as_ref().is_some_and(|rows| rows.contains(row)) {
            score += QUOTING;
        }
        if self.uses(Knob::Question) && sessions.asks(row) == Asks::AtTheEnd {
            score -= QUESTION;
        }
        score
    }
}

/// The largest, or one where there is none: it is divided by.
fn largest(numbers: &[f64]) -> f64 {
    let most = numbers.iter().copied().fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}
