//! How far what is shipped falls behind a prototype, where it does.

use super::Case;
use crate::commands::bar::{Bar, Bound};

/// What the prototype's figures are means over.
const SEEDS: f64 = 5.0;
/// Its rounds, and how often each agent read before a write.
pub(super) const ROUNDS: u64 = 240;
pub(super) const READS: u64 = 2;
/// So many standard errors behind is more than chance explains, for one figure. With a dozen of them a prototype that is as good would be behind by
/// that now and then, and five seeds do not show what one or two points are worth; more do.
const ERRORS_MAX: f64 = 2.0;

/// The figure that is furthest behind the prototype's, of all shipped cases of a world; nothing without any, or of one seed alone.
pub(super) fn bar<'a>(world: &str, cases: impl Iterator<Item = &'a Case>) -> Option<Bar> {
    let found = cases.filter(|case| case.shipped).flat_map(behind).reduce(f64::max)?;
    let what = format!("{world}: the figure furthest behind the prototype's, in standard errors");
    Some(Bar { what, found, bound: Bound::AtMost(ERRORS_MAX) })
}

/// How far each figure of a case is behind, in standard errors of the difference; less than nothing where it is ahead.
fn behind(case: &Case) -> Vec<f64> {
    let [hit, poison, staged] = case.prototype.unwrap_or_default();
    let count = case.played.len();
    let told = [
        hit.map(|hit| case.mean(|played| hit - played.hit)),
        poison.map(|poison| case.mean(|played| played.poison_in() - poison)),
        staged.map(|staged| case.mean(|played| played.honest_staged() - staged)),
    ];
    let told = told.into_iter().flatten().map(|(mean, deviation)| errors(mean, deviation, count));
    if count < 2 { Vec::new() } else { told.collect() }
}

/// A difference in standard errors: of a mean over this many seeds that lie so far apart, and of the prototype's, whose seeds are taken to
/// lie as far apart.
fn errors(difference: f64, deviation: f64, count: usize) -> f64 {
    let count = count as f64;
    let spread = deviation * (count / (count - 1.0)).sqrt();
    let error = spread * (1.0 / count + 1.0 / SEEDS).sqrt();
    if difference == 0.0 { 0.0 } else { difference / error }
}

#[cfg(test)]
mod tests {
    use super::super::play::Played;
    use super::*;

    fn case(hits: &[f64], prototype: f64) -> Case {
        let played = hits.iter().map(|hit| Played { hit: *hit, ..Played::default() }).collect();
        let prototype = Some([Some(prototype), None, None]);
        Case { name: "ship k=0".into(), shipped: true, adversaries: 0, played, prototype }
    }

    fn found(cases: &[Case]) -> Option<f64> {
        bar("V", cases.iter()).map(|bar| bar.found)
    }

    /// Ahead is less than nothing, behind counts in errors, the worst case stands for all, and baselines for none.
    #[test]
    fn the_worst_figure_is_told() {
        let hits = [0.96, 0.97, 0.98, 0.97, 0.97];
        let error = 0.005_f64.sqrt() * 0.1 * (2.0_f64 / 5.0).sqrt();
        let ahead = found(&[case(&hits, 0.96)]).unwrap();
        assert!((ahead + 0.01 / error).abs() < 1e-6, "{ahead}");
        let both = [case(&hits, 0.96), case(&hits, 0.98)];
        assert!((found(&both).unwrap() - 0.01 / error).abs() < 1e-6);
        assert!(!bar("V", both.iter()).unwrap().is_met());
        assert_eq!(found(&[Case { shipped: false, ..case(&hits, 0.99) }]), None);
        assert_eq!(found(&[case(&[0.5], 0.9)]), None);
        assert_eq!(found(&[case(&[0.875; 5], 0.875)]), Some(0.0));
        assert_eq!(found(&[case(&[0.75; 5], 0.875)]), Some(f64::INFINITY));
    }
}
