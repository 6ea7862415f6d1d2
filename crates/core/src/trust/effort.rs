//! What auditing costs (CAL-6). It is reported, and decides nothing.

use super::mean;

/// The window lies between these.
const WINDOW: (usize, usize) = (8, 256);
/// So small shall the variance of the mean be.
const VARIANCE: f64 = 1e-4;

/// How many costs it takes until their mean holds still.
#[must_use]
pub fn effort_window(costs: &[f64]) -> usize {
    let recent = last(costs, WINDOW.1);
    let Some(middle) = mean(recent.iter().copied()).filter(|_| recent.len() > 1) else {
        return WINDOW.0;
    };
    let squares: f64 = recent.iter().map(|cost| (cost - middle).powi(2)).sum();
    let needed = squares / (recent.len() - 1) as f64 / VARIANCE;
    // Up to the next whole number, with room for the last bit of a division.
    let needed = (needed - 1e-9).ceil().clamp(WINDOW.0 as f64, WINDOW.1 as f64);
    if needed.is_nan() { WINDOW.1 } else { needed as usize }
}

/// An auditor's mean cost over its window, in baseline reads, from the costs of its probes, oldest first.
#[must_use]
pub fn effort(costs: &[f64]) -> f64 {
    mean(last(costs, effort_window(costs)).iter().copied()).unwrap_or(0.0)
}

fn last(costs: &[f64], count: usize) -> &[f64] {
    costs.get(costs.len().saturating_sub(count)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAL-6: steady costs need few probes, wild ones many.
    #[test]
    fn a_window_is_as_long_as_costs_are_wild() {
        assert_eq!(effort_window(&[]), 8);
        assert_eq!(effort_window(&[0.2; 100]), 8);
        // A variance of .0100: a hundred of them.
        let wild: Vec<f64> = (0..400).map(|at| if at % 2 == 0 { 0.4 } else { 0.6 }).collect();
        assert_eq!(effort_window(&wild), 101);
        let wilder: Vec<f64> = wild.iter().map(|cost| cost * 10.0).collect();
        assert_eq!(effort_window(&wilder), 256);
    }

    /// CAL-6: the mean of the last ones.
    #[test]
    fn effort_is_of_late() {
        let mut costs = vec![9.0; 300];
        costs.extend([0.25; 256]);
        assert!((effort(&costs) - 0.25).abs() < 1e-12);
        assert_eq!(effort(&[]), 0.0);
    }
}
