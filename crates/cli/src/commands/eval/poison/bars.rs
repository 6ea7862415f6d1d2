//! What the figures of `eval poison` have to reach.

use super::Case;
use super::lies::Sort;
use super::play::{Gates, Played};
use crate::commands::bar::{Bar, Bound};
use Bound::AtMost;

/// Liars at which it is looked at.
const LIARS: usize = 3;

pub(super) fn bars(cases: &[Case]) -> Vec<Bar> {
    let of = |gates: Gates, sort: Option<Sort>, liars: usize, figure: &dyn Fn(&Played) -> f64| {
        let case = cases.iter().find(|case| (case.gates, case.sort, case.liars) == (gates, sort, liars));
        case.map_or(f64::NAN, |case| case.mean(figure).0)
    };
    let reach = |gates: Gates, sort: Sort| of(gates, Some(sort), LIARS, &|one| one.reached()[0]);
    let at_rest = of(Gates::All, None, 0, &|one| one.recall()[1]);
    let mut bars = Vec::new();
    let mut bar = |what: String, found: f64, most: f64| bars.push(Bar { what, found, bound: AtMost(most) });
    for sort in Sort::ALL {
        let (name, reached) = (sort.as_str(), reach(Gates::All, sort));
        let of_off = reached / reach(Gates::Off, sort);
        match sort {
            Sort::Lies => bar(format!("{name} k=3: reach, of that without gates"), of_off, 0.5),
            // What texts in the form of questions achieve is told, and nothing is promised of them.
            Sort::Questions => continue,
            Sort::Magnets | Sort::Copies => {
                bar(format!("{name} k=3: questions reached in the first five"), reached, 0.05);
                bar(format!("{name} k=3: reach, of that without gates"), of_off, 0.2);
            }
        }
        let lost = at_rest - of(Gates::All, Some(sort), LIARS, &|one| one.recall()[1]);
        bar(format!("{name} k=3: gold recall@10 lost"), lost, 0.02);
        let out = of(Gates::All, Some(sort), LIARS, &Played::honest_out);
        bar(format!("{name} k=3: honest writes kept out"), out, 0.12);
    }
    bar("k=0: honest writes kept out".into(), of(Gates::All, None, 0, &Played::honest_out), 0.12);
    bars
}

/// Without a round honest writes are hardly ever kept apart for their score, whoever lies.
pub(super) fn without_a_round(cases: &[Case]) -> Vec<Bar> {
    let scored = cases.iter().filter(|case| matches!(case.gates, Gates::Calibration | Gates::All));
    let bar = |case: &Case| Bar {
        what: format!(
            "{} k={}: honest writes kept apart",
            case.sort.map_or("none", Sort::as_str),
            case.liars
        ),
        found: case.mean(Played::honest_staged).0,
        bound: AtMost(0.01),
    };
    scored.map(bar).collect()
}
