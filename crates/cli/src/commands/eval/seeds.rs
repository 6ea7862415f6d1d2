//! What several seeds come to.

/// The mean over seeds, and how far they lie apart.
pub(super) fn mean(each: impl Iterator<Item = f64>) -> (f64, f64) {
    let all: Vec<f64> = each.collect();
    let count = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / count;
    (mean, (all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_the_deviation() {
        assert_eq!(mean([1.0, 3.0].into_iter()), (2.0, 1.0));
        assert_eq!(mean(std::iter::empty()), (0.0, 0.0));
    }
}
