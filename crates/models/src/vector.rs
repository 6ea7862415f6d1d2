//! Is this a vector that may be kept, and how long is it?

/// Brings a vector to unit length. False, and nothing done, if it has no direction: all zero, or a number that is none.
pub(crate) fn to_unit_length(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    let usable = length.is_finite() && length > 0.0;
    if usable {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_direction_gets_unit_length() {
        let mut vector = [3.0, 4.0];
        assert!(to_unit_length(&mut vector));
        assert_eq!(vector, [0.6, 0.8]);
        let mut large = [f32::MAX, f32::MAX];
        assert!(to_unit_length(&mut large) && (large[0] - 0.707_106_77).abs() < 1e-6);
        for mut none in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(!to_unit_length(&mut none));
        }
    }
}
