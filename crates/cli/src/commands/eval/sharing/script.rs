//! A script: who is tied to what, which facts there are, and who asks for which, in order. Engine and oracle play the same one.

use crate::commands::chance::Chance;
use std::collections::BTreeSet;

/// The letters of a token.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// The length of a token.
const TOKEN_CHARS: usize = 12;

/// Something that a resource knows: a question, and a token that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) resource: usize,
    pub(super) key: String,
    pub(super) token: String,
}

/// A user needs a fact and asks an agent for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) user: usize,
    pub(super) agent: usize,
    pub(super) fact: usize,
    /// The query of the user that it is part of.
    pub(super) query: usize,
}

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Ask(Ask),
    /// From now on these users may invoke these agents, and no others.
    Invoke(BTreeSet<(usize, usize)>),
}

/// Everything that is played.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub(super) users: usize,
    pub(super) agents: Vec<&'static str>,
    pub(super) resources: Vec<&'static str>,
    /// Which agent may use which resource.
    pub(super) uses: BTreeSet<(usize, usize)>,
    pub(super) facts: Vec<Fact>,
    pub(super) steps: Vec<Step>,
    /// Results from one's own memory, and as many from what is shared.
    pub(super) k: u64,
}

impl Script {
    /// Adds so many facts of a resource, each under the name of its kind, and tells where they begin.
    pub(super) fn add_facts(
        &mut self,
        kind: &str,
        resource: usize,
        count: usize,
        chance: &mut Chance,
    ) -> usize {
        let first = self.facts.len();
        for number in 0..count {
            let key = format!("{kind}: what is known of {}", name((first + number) as u64));
            self.facts.push(Fact { resource, key, token: token(chance) });
        }
        first
    }

    pub(super) fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.steps.iter().filter_map(|step| match step {
            Step::Ask(ask) => Some(ask),
            Step::Invoke(_) => None,
        })
    }
}

fn token(chance: &mut Chance) -> String {
    let letter = |_| LETTERS.get((chance.next() % 32) as usize).copied().map_or('a', char::from);
    (0..TOKEN_CHARS).map(letter).collect()
}

/// Two words that no other number has.
fn name(number: u64) -> String {
    const HARD: [&str; 10] = ["b", "d", "f", "g", "k", "l", "m", "p", "r", "v"];
    const SOFT: [&str; 5] = ["a", "e", "i", "o", "u"];
    let syllable = |digit: u64| {
        let (hard, soft) = (HARD.get((digit / 5 % 10) as usize), SOFT.get((digit % 5) as usize));
        format!("{}{}", hard.copied().unwrap_or_default(), soft.copied().unwrap_or_default())
    };
    // Numbers far apart lie next to each other, so that names differ in more than one place.
    let mixed = number.wrapping_mul(4_001) % 6_250_000;
    let digits = [mixed / 125_000 % 50, mixed / 2_500 % 50, mixed / 50 % 50, mixed % 50];
    let [one, two, three, four] = digits.map(syllable);
    format!("{one}{two}x {three}{four}x")
}

/// So many different numbers below a bound.
pub(super) fn distinct(count: usize, below: usize, chance: &mut Chance) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count.min(below) {
        let one = (chance.next() % below.max(1) as u64) as usize;
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    chosen
}

/// Puts them in any order.
pub(super) fn shuffle<T>(all: &mut [T], chance: &mut Chance) {
    for at in (1..all.len()).rev() {
        all.swap(at, (chance.next() % (at as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_differ_in_key_and_token() {
        let mut script = Script::default();
        let mut chance = Chance::new(1);
        assert_eq!(script.add_facts("sports", 0, 1_500, &mut chance), 0);
        assert_eq!(script.add_facts("health", 1, 1_500, &mut chance), 1_500);
        let keys: BTreeSet<String> = (0..3_000).map(name).collect();
        let tokens: BTreeSet<&String> = script.facts.iter().map(|fact| &fact.token).collect();
        assert_eq!((keys.len(), tokens.len()), (3_000, 3_000));
        assert!(script.facts.iter().all(|fact| fact.token.len() == TOKEN_CHARS));
    }

    #[test]
    fn chance_repeats_itself() {
        let draw = |seed| distinct(4, 9, &mut Chance::new(seed));
        assert_eq!(draw(3), draw(3));
        assert_eq!(draw(3).iter().collect::<BTreeSet<_>>().len(), 4);
        let mut all: Vec<usize> = (0..20).collect();
        shuffle(&mut all, &mut Chance::new(4));
        assert_ne!(all, (0..20).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
    }
}
