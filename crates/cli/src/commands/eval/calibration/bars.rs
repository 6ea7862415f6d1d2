//! What the figures of world V have to reach.

use super::Case;
use super::play::Played;
use crate::commands::bar::{Bar, Bound};
use Bound::{AtLeast, AtMost};

/// Rounds over which credibility is taken at the end.
pub(super) const LAST: usize = 120;

pub(super) fn bars(cases: &[Case]) -> Vec<Bar> {
    let of = |name: &str, figure: &dyn Fn(&Played) -> f64| {
        cases.iter().find(|case| case.name == name).map_or(f64::NAN, |case| case.mean(figure).0)
    };
    let hit = |name: &str| of(name, &|played| played.hit);
    let poison = |name: &str| of(name, &Played::poison_in);
    let staged = |name: &str| of(name, &Played::honest_staged);
    let at_rest = hit("ship k=0");
    let loss = |name: &str| 1.0 - hit(name) / at_rest;
    let mut bars = Vec::new();
    let mut bar = |what: String, found: f64, bound: Bound| bars.push(Bar { what, found, bound });
    bar("k=0: honest writes kept apart".into(), staged("ship k=0"), AtMost(0.12));
    bar("k=0: hits".into(), at_rest, AtLeast(0.94));
    for (k, let_in, lost) in [(1, 0.05, 0.02), (3, 0.10, 0.05)] {
        for attack in ["A1 local", "A2 persistent"] {
            let name = format!("ship {attack} k={k}");
            bar(format!("{attack} k={k}: poison let in"), poison(&name), AtMost(let_in));
            bar(format!("{attack} k={k}: loss of hits"), loss(&name), AtMost(lost));
        }
    }
    bar("A2 adaptive k=3: poison let in".into(), poison("ship A2 adaptive k=3"), AtMost(0.10));
    for (name, least) in [("vanilla", 0.40), ("majority", 0.30), ("isolated", 0.30)] {
        let lost = 1.0 - hit(&format!("{name} A1 local k=3")) / hit(&format!("{name} k=0"));
        bar(format!("{name} A1 local k=3: loss of hits"), lost, AtLeast(least));
    }
    for (k, most) in [(1, 9.0), (3, 6.0)] {
        let name = format!("ship A2 persistent k={k}");
        let muted = of(&name, &|played| played.muted_after(k));
        bar(format!("A2 persistent k={k}: audited rounds until every liar is muted"), muted, AtMost(most));
        let others = of(&name, &|played| played.credible(k, false, LAST));
        bar(format!("A2 persistent k={k}: credibility of the honest"), others, AtLeast(0.95));
    }
    let law = |played: &Played| played.credible(3, true, LAST) - (1.0 - played.caught(3, LAST));
    bar(
        "A2 selective k=3: credibility of liars, from the share of rounds in which they did not look away"
            .into(),
        of("ship A2 selective k=3", &law).abs(),
        AtMost(0.05),
    );
    bar(
        "without detect, A1 k=3: poison let in".into(),
        of("ship without detect A1 local k=3", &Played::poison_in),
        AtLeast(0.5),
    );
    bars
}
