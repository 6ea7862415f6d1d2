//! Does the model in this process give the vectors that its authors' code gives, alone and in company?
//!
//! Needs the model's files: in the folder `TABELLION_MODEL_DIR`, else in `target/model`, where
//! `python3 tools/fetch_model.py` puts them. Without them these tests say so loudly and pass.
#![allow(clippy::unwrap_used, reason = "a failure is a panic")]

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tabellion_engine::ports::Embedder;
use tabellion_models::MiniLm;

#[derive(Deserialize)]
struct Fixture {
    model_sha256: String,
    texts: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    text: String,
    vector: Vec<f32>,
}

static MODEL: LazyLock<Option<MiniLm>> = LazyLock::new(|| {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        std::env::var_os("TABELLION_MODEL_DIR").map_or_else(|| workspace.join("target/model"), PathBuf::from);
    if folder.is_dir() {
        return Some(MiniLm::open(&folder).unwrap());
    }
    let line = "*".repeat(100);
    eprintln!(
        "\n{line}\n* NOT TESTED: there is no model in {}.\n\
         * Fetch it with `python3 tools/fetch_model.py`, or name its folder in TABELLION_MODEL_DIR.\n{line}\n",
        folder.display()
    );
    None
});

fn fixture() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/minilm_vectors.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Texts of very different lengths, none in order of length.
fn mixed() -> Vec<String> {
    let words = "the quick brown fox jumps over the lazy dog while seven wizards watch";
    let lengths = [3, 0, 400, 1, 12, 90, 2, 250, 7, 30];
    let text = |(at, count): (usize, &usize)| {
        words.split(' ').cycle().skip(at).take(*count).collect::<Vec<_>>().join(" ")
    };
    lengths.iter().cycle().take(75).enumerate().map(text).collect()
}

fn one(model: &MiniLm, text: &str) -> Vec<f32> {
    model.embed(&[text]).unwrap().remove(0)
}

#[test]
fn vectors_equal_the_reference() {
    let Some(model) = &*MODEL else { return };
    let fixture = fixture();
    assert!(fixture.texts.len() >= 50);
    let digits = model.model().rsplit_once('@').unwrap().1;
    assert_eq!(digits.len(), 16);
    assert!(fixture.model_sha256.starts_with(digits));
    let texts: Vec<&str> = fixture.texts.iter().map(|reference| reference.text.as_str()).collect();
    for (found, reference) in model.embed(&texts).unwrap().iter().zip(&fixture.texts) {
        let likeness = cosine(found, &reference.vector);
        assert!(likeness >= 0.9999, "{likeness} for {:?}", reference.text);
        let off = found.iter().zip(&reference.vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 2e-6, "off by {off} for {:?}", reference.text);
    }
}

#[test]
fn a_text_has_the_same_vector_alone_and_in_any_company() {
    let Some(model) = &*MODEL else { return };
    let texts = mixed();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = model.embed(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (at, (text, found)) in texts.iter().zip(&together).enumerate() {
        assert_eq!(*found, one(model, text), "text {at}");
    }
}

#[test]
fn every_vector_has_unit_length_and_the_promised_dimensions() {
    let Some(model) = &*MODEL else { return };
    let long = "long ".repeat(300_000);
    let odd = ["", " \n\t", "a", "🦀🦀", "\u{0}\u{fffd}", "東京タワー", "[CLS] [SEP] [MASK]", &long];
    for vector in model.embed(&odd).unwrap() {
        let length: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        assert!((length - 1.0).abs() < 1e-6 && vector.len() == model.dimensions());
    }
    assert!(model.embed(&[]).unwrap().is_empty());
}

#[test]
fn a_blank_text_has_the_vector_of_no_words() {
    let Some(model) = &*MODEL else { return };
    assert_eq!(one(model, ""), one(model, " \n\t "));
}

/// The tokenizer's file asks for a cut at 128 tokens; the model was trained on 256.
#[test]
fn a_text_is_read_up_to_256_tokens_and_no_further() {
    let Some(model) = &*MODEL else { return };
    let words = |count: usize, last: &str| format!("{}{last}", "word ".repeat(count));
    assert_ne!(one(model, &words(200, "cat")), one(model, &words(200, "dog")));
    assert_ne!(
        one(model, &words(253, "cat")),
        one(model, &words(253, "dog")),
        "254 tokens and the two at the ends"
    );
    assert_eq!(one(model, &words(254, "cat")), one(model, &words(254, "dog")));
}

fn quickest(model: &MiniLm, text: &str) -> Duration {
    let time = |_| {
        #[expect(clippy::disallowed_methods, reason = "the test is about time")]
        let start = Instant::now();
        one(model, text);
        start.elapsed()
    };
    (0..5).map(time).min().unwrap()
}

/// The tokenizer's file asks for padding to 128 tokens.
#[test]
fn a_short_text_does_not_cost_as_much_as_a_long_one() {
    let Some(model) = &*MODEL else { return };
    let (short, long) = (quickest(model, "a short text"), quickest(model, &"word ".repeat(200)));
    assert!(short * 4 < long, "{short:?} against {long:?}");
}

#[test]
fn a_huge_text_does_not_cost_more_than_a_long_one() {
    let Some(model) = &*MODEL else { return };
    let (long, huge) = (quickest(model, &"word ".repeat(4_000)), quickest(model, &"word ".repeat(2_000_000)));
    assert!(huge < long * 3, "{huge:?} against {long:?}");
}

#[test]
fn texts_that_mean_the_same_lie_close() {
    let Some(model) = &*MODEL else { return };
    let [cat, kitten, film] = ["a cat on the mat", "a kitten lies on a rug", "the film was a great success"]
        .map(|text| one(model, text));
    assert!(cosine(&cat, &kitten) > 0.5 && cosine(&cat, &film) < 0.2);
}
