//! What is played in world G, and what its figures have to reach.

use super::play::{Attack, Defence, Played};
use super::{Case, Planned};
use crate::commands::bar::{Bar, Bound};
use Bound::{AtLeast, AtMost};
use tabellion_core::trust::{Parts, Profile};

/// What every case of this world begins with.
pub(super) const WORLD: &str = "G ";

/// What is played, and what a prototype came to.
pub(super) fn cases() -> Vec<Planned> {
    let ship = Defence::ship();
    let figures = |hit: f64, poison: Option<f64>, staged: f64| Some([Some(hit), poison, Some(staged)]);
    let mut cases = vec![
        ("ship k=0".to_owned(), Attack::None, 0, ship, figures(0.957, None, 0.11)),
        ("ship A1 k=1".to_owned(), Attack::Local, 1, ship, figures(0.963, Some(0.01), 0.09)),
        ("ship A1 k=2".to_owned(), Attack::Local, 2, ship, None),
        ("ship A1 k=3".to_owned(), Attack::Local, 3, ship, figures(0.968, Some(0.01), 0.12)),
        ("ship A2 persistent k=1".to_owned(), Attack::Persistent, 1, ship, figures(0.964, Some(0.01), 0.13)),
        ("ship A2 persistent k=2".to_owned(), Attack::Persistent, 2, ship, None),
        ("ship A2 persistent k=3".to_owned(), Attack::Persistent, 3, ship, figures(0.977, Some(0.03), 0.07)),
        ("ship A2 selective k=3".to_owned(), Attack::Selective, 3, ship, None),
        ("ship A2 adaptive k=3".to_owned(), Attack::Adaptive, 3, ship, None),
        ("ship A3 k=3".to_owned(), Attack::Targeted, 3, ship, None),
    ];
    for (name, defence, at_rest, attacked) in [
        ("vanilla", Defence::Vanilla, None, figures(0.885, Some(1.0), 0.0)),
        ("majority", Defence::Majority, None, figures(0.919, Some(0.92), 1.0)),
        (
            "ref",
            Defence::Calibrated(Profile::Ref, Parts::default()),
            Some([None, None, Some(0.78)]),
            figures(0.953, Some(0.33), 0.73),
        ),
    ] {
        cases.push((format!("{name} k=0"), Attack::None, 0, defence, at_rest));
        cases.push((format!("{name} A1 k=3"), Attack::Local, 3, defence, attacked));
    }
    let all = Parts::default();
    for (name, parts, poison) in [
        ("s_local", Parts { local: false, ..all }, None),
        ("s_path", Parts { path: false, ..all }, Some(0.79)),
        ("align", Parts { align: false, ..all }, Some(0.10)),
    ] {
        let defence = Defence::Calibrated(Profile::Ship, parts);
        let figures = poison.map(|poison| [None, Some(poison), None]);
        cases.push((format!("ship without {name} A1 k=3"), Attack::Local, 3, defence, figures));
    }
    cases
        .into_iter()
        .map(|(name, attack, k, defence, known)| (format!("{WORLD}{name}"), attack, k, defence, known))
        .collect()
}

/// What the figures have to reach.
pub(super) fn bars(cases: &[Case]) -> Vec<Bar> {
    let of = |name: &str, figure: &dyn Fn(&Played) -> f64| {
        let is_it = |case: &&Case| case.name.strip_prefix(WORLD) == Some(name);
        cases.iter().find(is_it).map_or(f64::NAN, |case| case.mean(figure).0)
    };
    let poison = |name: &str| of(name, &Played::poison_in);
    let at_rest = of("ship k=0", &|played| played.hit);
    let mut bars = Vec::new();
    let mut bar = |what: String, found: f64, bound: Bound| {
        bars.push(Bar { what: format!("{WORLD}{what}"), found, bound })
    };
    bar("k=0: honest relations kept apart".into(), of("ship k=0", &Played::honest_staged), AtMost(0.15));
    for (k, let_in, muted) in [(1, 0.03, 9.0), (3, 0.06, 6.0)] {
        for attack in ["A1", "A2 persistent"] {
            let name = format!("ship {attack} k={k}");
            let lost = 1.0 - of(&name, &|played| played.hit) / at_rest;
            bar(format!("{attack} k={k}: poison let in"), poison(&name), AtMost(let_in));
            bar(
                format!("{attack} k={k}: honest kept apart"),
                of(&name, &Played::honest_staged),
                AtMost(0.15),
            );
            bar(format!("{attack} k={k}: loss of hits"), lost, AtMost(0.03));
        }
        let after = of(&format!("ship A2 persistent k={k}"), &|played| played.muted_after(k));
        bar(format!("A2 persistent k={k}: rounds until every liar is muted"), after, AtMost(muted));
    }
    bar("without s_path, A1 k=3: poison let in".into(), poison("ship without s_path A1 k=3"), AtLeast(0.5));
    let beyond = poison("ship without align A1 k=3") - 2.0 * poison("ship A1 k=3");
    bar("without align, A1 k=3: poison let in, beyond twice that with it".into(), beyond, AtLeast(0.0));
    bars
}
