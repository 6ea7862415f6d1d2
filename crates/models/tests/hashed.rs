//! Are the vectors without a model what they always were?
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

use tabellion_engine::ports::Embedder;
use tabellion_models::{Choice, Hashed, open};

/// Places and values of the largest numbers of a vector, by their size.
fn largest(text: &str) -> Vec<(usize, f32)> {
    let vector = Hashed.embed(&[text]).unwrap().remove(0);
    let mut places: Vec<(usize, f32)> = vector.into_iter().enumerate().collect();
    places.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    places.truncate(4);
    places
}

fn check(text: &str, expected: [(usize, f32); 4]) {
    let found = largest(text);
    let same = found.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6);
    assert!(same, "{text:?}: {found:?}");
}

/// Vectors are kept under the name `hashed-ngrams@1`. If this fails, the form changed: give it a new number.
#[test]
fn the_form_does_not_change() {
    check("", [(351, -1.0), (0, 0.0), (1, 0.0), (2, 0.0)]);
    check(
        "cat",
        [
            (236, -std::f32::consts::FRAC_1_SQRT_2),
            (5, 0.288_675_13),
            (21, -0.288_675_13),
            (40, -0.288_675_13),
        ],
    );
    check(
        "The deployments run on Tuesdays, and on Tuesdays only.",
        [(267, -0.501_790_9), (43, 0.300_040_2), (253, -0.300_040_2), (357, -0.300_040_2)],
    );
    check(
        "Ünïcode 東京 🦀",
        [(54, 0.408_248_28), (160, 0.408_248_28), (246, 0.408_248_28), (280, -0.408_248_28)],
    );
}

#[test]
fn it_needs_nothing_to_be_opened() {
    let embedder = open(Choice::Hashed).unwrap();
    assert_eq!((embedder.model(), embedder.dimensions()), ("hashed-ngrams@1", 384));
    let texts = ["one", "two", "", "one"];
    let vectors = embedder.embed(&texts).unwrap();
    assert_eq!(vectors.len(), 4);
    assert_eq!(vectors[0], vectors[3]);
    assert_ne!(vectors[0], vectors[1]);
}
