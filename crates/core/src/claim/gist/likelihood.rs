//! How likely it is that two gists cannot both hold.
//!
//! A rule sees one thing at a time and takes near misses for contradictions ("hates cooked carrots", "loves raw carrots"). So what
//! the rules find is a signal among others, and small decision trees weigh all of them. `likelihood.txt` holds the trees;
//! `tools/train_contradictions.py` makes them from labelled pairs of statements. ADR 19 says why, and how well they do.

use super::Gist;
use super::compare::{Conflict, Pair, conflict};
use super::signals::Signals;
use std::sync::LazyLock;

/// One step of a tree, in the order in which a reader of the file meets them: a split, all of its left side, all of its right side.
enum Step {
    Split { signal: usize, most: f32 },
    Leaf(f32),
}

struct Trees {
    names: Vec<&'static str>,
    bias: f32,
    /// The least log odds that count.
    least: f32,
    /// The least that count where a rule finds something and the topics are nearer than `alike`: sentences of one mould.
    least_alike: f32,
    alike: f64,
    trees: Vec<Vec<Step>>,
}

static TREES: LazyLock<Trees> = LazyLock::new(|| Trees::read(include_str!("likelihood.txt")));

impl Trees {
    /// Reads the file. What it does not understand it leaves out; a test holds that it understands all of it.
    fn read(text: &'static str) -> Self {
        let mut found = Self {
            names: Vec::new(),
            bias: 0.0,
            least: f32::INFINITY,
            least_alike: f32::INFINITY,
            alike: 1.0,
            trees: Vec::new(),
        };
        for line in text.lines() {
            match line.split_once('\t') {
                Some(("signals", names)) => found.names = names.split('\t').collect(),
                Some(("bias", bias)) => found.bias = bias.parse().unwrap_or_default(),
                Some(("least", least)) => found.least = least.parse().unwrap_or(f32::INFINITY),
                Some(("least alike", least)) => found.least_alike = least.parse().unwrap_or(f32::INFINITY),
                Some(("alike", alike)) => found.alike = alike.parse().unwrap_or(1.0),
                Some(("tree", steps)) => {
                    found.trees.extend(steps.split(' ').map(step).collect::<Option<_>>())
                }
                _ => {}
            }
        }
        found
    }

    /// The log odds that the signals belong to a contradiction.
    fn log_odds(&self, signals: &[f32]) -> f32 {
        self.bias + self.trees.iter().map(|tree| answer(tree, signals)).sum::<f32>()
    }
}

/// `12<=0.5` is a split by the signal of that number, `=0.25` a leaf.
fn step(text: &str) -> Option<Step> {
    match text.split_once("<=") {
        Some((signal, most)) => Some(Step::Split { signal: signal.parse().ok()?, most: most.parse().ok()? }),
        None => text.strip_prefix('=')?.parse().ok().map(Step::Leaf),
    }
}

fn answer(tree: &[Step], signals: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        match tree.get(at) {
            Some(Step::Leaf(value)) => return *value,
            Some(Step::Split { signal, most }) => {
                let left = signals.get(*signal).is_none_or(|value| value <= most);
                at = if left { at + 1 } else { end_of(tree, at + 1) };
            }
            None => return 0.0,
        }
    }
}

/// The place after a subtree.
fn end_of(tree: &[Step], from: usize) -> usize {
    let (mut open, mut at) = (1_usize, from);
    while open > 0 {
        match tree.get(at) {
            Some(Step::Split { .. }) => open += 1,
            Some(Step::Leaf(_)) => open -= 1,
            None => return at,
        }
        at += 1;
    }
    at
}

/// Content words of a statement that says one thing.
const FEW_WORDS: f32 = 3.0;

/// Signals of which one has to be there: the trees alone decide nothing, because what is told at length resembles much.
const GROUNDS: [&str; 9] = [
    "rule",
    "replaces new",
    "facet differs",
    "opposites",
    "amounts differ",
    "times differ",
    "ended by new",
    "denied by new",
    "denied by known",
];

/// How a new gist contradicts a known one, if it is likely enough that it does.
pub(in crate::claim) fn weigh(known: &Gist, new: &Gist, similarity: f64) -> Option<Conflict> {
    let pair = Pair::of(known, new);
    if pair.strong.is_empty() && (known.facets.is_empty() || new.facets.is_empty()) {
        return None;
    }
    let signals = Signals::of(known, new, similarity);
    if !GROUNDS.iter().any(|ground| signals.get(ground) > 0.0) {
        return None;
    }
    let rule = conflict(known, new).max(conflict(new, known));
    let log_odds = TREES.log_odds(&signals.values());
    let of_one_mould = rule.is_some() && similarity > TREES.alike && log_odds >= TREES.least_alike;
    // "Jonas left Siemens" says nothing but the end.
    let few_words = |name| signals.get(name) <= FEW_WORDS;
    let only_ends = rule == Some(Conflict::Ended) && few_words("words known") && few_words("words new");
    let only_state = says_only_the_state(&signals);
    let found = (log_odds >= TREES.least || of_one_mould || only_ends || only_state)
        .then(|| rule.unwrap_or_else(|| likeliest(&signals)))?;
    (!is_elsewhere(found, &signals)).then_some(found)
}

/// "The printer is broken", "The printer works again": nothing but the thing, and opposites.
fn says_only_the_state(signals: &Signals) -> bool {
    let is = |name: &str, value: f32| signals.get(name) == value;
    is("opposites", 1.0)
        && is("shared", 1.0)
        && is("words known", 2.0)
        && is("words new", 2.0)
        && is("subjects shared", 1.0)
        && is("own subjects both", 0.0)
        && is("one denies", 0.0)
        && is("scopes differ", 0.0)
        && !["past known", "past new", "hedged new", "adds new", "first person both"]
            .iter()
            .any(|name| signals.get(name) > 0.0)
}

/// The signals of one of the two that say what it has alone, and where that stands.
struct Own {
    words: &'static str,
    place: &'static str,
    condition: &'static str,
    denials: &'static str,
    amounts: &'static str,
}

const KNOWN: Own = Own {
    words: "own words known",
    place: "own place known",
    condition: "own condition known",
    denials: "denials known",
    amounts: "amounts known",
};
const NEW: Own = Own {
    words: "own words new",
    place: "own place new",
    condition: "own condition new",
    denials: "denials new",
    amounts: "amounts new",
};

/// What is denied in another place, on another occasion or for a time alone, and amounts "of billing" and "of the importer".
fn is_elsewhere(found: Conflict, signals: &Signals) -> bool {
    let is = |name: &str, value: f32| signals.get(name) == value;
    let any = |name: &str| signals.get(name) > 0.0;
    // What the one has alone says where or when, and no more.
    let aside = |own: &Own| is(own.words, signals.get(own.place) + signals.get(own.condition));
    let own = [any(KNOWN.words), any(NEW.words)];
    // A day of the week is no word of its own.
    let both_say = own == [true; 2] || (own != [false; 2] && any("one names weekdays"));
    let elsewhere = both_say && aside(&KNOWN) && aside(&NEW);
    let denies_for_a_time = |own: &Own| any(own.denials) && any(own.amounts) && aside(own);
    let for_a_time = is("shared", 1.0)
        && is("same amounts", 0.0)
        && (denies_for_a_time(&KNOWN) || denies_for_a_time(&NEW));
    let two_wholes = any("own whole both") && any("own subjects both");
    match found {
        _ if any("replaces new") => false,
        Conflict::Denied | Conflict::Opposite => any("one denies") && (elsewhere || for_a_time),
        Conflict::Amount => two_wholes && is("own words known", 1.0) && is("own words new", 1.0),
        Conflict::Ended | Conflict::Time | Conflict::Place => false,
    }
}

/// What kind of conflict it is where no rule says so.
fn likeliest(signals: &Signals) -> Conflict {
    let any = |names: &[&str]| names.iter().any(|name| signals.get(name) > 0.0);
    if any(&["ended by new", "ended by known"]) {
        Conflict::Ended
    } else if any(&["denied by new", "denied by known"]) {
        Conflict::Denied
    } else if any(&["opposites", "facet differs"]) {
        Conflict::Opposite
    } else if any(&["times differ", "other weekdays"]) {
        Conflict::Time
    } else if any(&["amounts of a sort differ"]) {
        Conflict::Amount
    } else {
        Conflict::Place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trees speak of the signals that there are, in their order, and each is read to its end.
    #[test]
    fn file_and_signals_agree() {
        let names: Vec<&str> =
            Signals::of(&Gist::default(), &Gist::default(), 0.0).iter().map(|(name, _)| name).collect();
        assert_eq!(TREES.names, names);
        assert!(GROUNDS.iter().all(|ground| names.contains(ground)));
        let lines = include_str!("likelihood.txt").lines().filter(|line| line.starts_with("tree\t"));
        assert_eq!(TREES.trees.len(), lines.count());
        assert!(
            TREES.least.is_finite()
                && TREES.least_alike.is_finite()
                && TREES.alike < 1.0
                && TREES.trees.len() >= 50
        );
        for tree in &TREES.trees {
            assert_eq!(end_of(tree, 0), tree.len());
            let is_known = |one: &Step| !matches!(one, Step::Split { signal, .. } if *signal >= names.len());
            assert!(tree.iter().all(is_known));
        }
    }

    #[test]
    fn trees_are_walked() {
        let tree: Vec<Step> = "0<=0.5 =1 1<=2 =2 =3".split(' ').filter_map(step).collect();
        let check = |signals: [f32; 2], value: f32| assert_eq!(answer(&tree, &signals), value);
        check([0.0, 9.0], 1.0);
        check([1.0, 2.0], 2.0);
        check([1.0, 3.0], 3.0);
        assert!(step("0<=x").is_none() && step("4").is_none());
    }
}
