//! How much of a text does a model get to read?

/// More than any of the models here looks at; what is behind it would only cost time.
const BYTES_MAX: usize = 16 << 10;

/// The beginning of a text, whole characters only.
pub(crate) fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(BYTES_MAX)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_at_a_whole_character() {
        assert_eq!(beginning("short"), "short");
        assert_eq!(beginning(&"é".repeat(BYTES_MAX)).len(), BYTES_MAX);
        assert_eq!(beginning(&format!("a{}", "é".repeat(BYTES_MAX))).len(), BYTES_MAX - 1);
    }
}
