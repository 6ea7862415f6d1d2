//! Words that hold a question together and say nothing of what it is about.

use crate::text::words;
use std::collections::HashSet;
use std::sync::LazyLock;

const WORDS: [&str; 89] = [
    "a", "about", "after", "again", "am", "an", "and", "are", "as", "at", "be", "been", "before", "being",
    "but", "by", "can", "could", "did", "do", "does", "doing", "down", "during", "for", "from", "had", "has",
    "have", "having", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "me", "my", "no", "not", "of", "on", "or", "our", "out", "over", "s", "she", "should", "so", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "under",
    "up", "very", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will",
    "with", "would", "you", "your",
];

static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| words(&WORDS.join(" ")).into_iter().collect());

/// Whether a stemmed word says nothing.
pub(crate) fn is_stop(stem: &str) -> bool {
    STEMS.contains(stem)
}
