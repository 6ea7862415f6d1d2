//! Laws of claims, for any text; and what taking apart and looking up cost.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

use proptest::prelude::*;
use std::time::{Duration, Instant};
use tabellion_core::claim::{Claim, ClaimsView, SIGMA_TOPIC, contradiction};
use tabellion_core::item::Content;
use tabellion_core::text::Analyser;

fn content(text: &str) -> Content {
    let (kind, text) = ("fact".to_owned(), text.to_owned());
    Content::plain(kind, text)
}

fn claim(text: &str) -> Claim {
    Claim::of(&content(text), &mut Analyser::default())
}

/// Words that the rules know, in any order: more likely to trip than random letters.
fn sentence() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "Alice", "Bob", "the", "port", "is", "not", "on", "off", "8080", "in", "Berlin", "May", "5", "2024",
        "before", "after", "starts", "ends", "from", "to", "until", "never", "no", "longer", "lives",
        "works", "at", "km", "%", "$5k", "10:30", "pm", "two", "three", "if", "might", "was", "will", "has",
        "been", "and", ",", ".", "?", "\"", "said", "more", "than", "up", "last", "Friday", "v1.2.3",
        "married", "single", "un", "unhappy", "n't", "'s", "3-5", "3rd", "-", "half", "dozen", "name",
        "capital", "of", "France", "by", "since", "Room", "12", "\n",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    /// GOV-2.7: any text is taken apart, nothing contradicts itself, likeness is a cosine.
    #[test]
    fn any_text_holds_the_laws(a in "\\PC{0,600}", b in sentence(), c in ".{0,300}") {
        let claims = [claim(&a), claim(&b), claim(&c), claim(&format!("{b} {a}"))];
        for one in &claims {
            prop_assert!(contradiction(one, one, SIGMA_TOPIC).is_none());
            for other in &claims {
                let near = one.similarity(other);
                prop_assert!((0.0..=1.0).contains(&near));
                prop_assert_eq!(near, other.similarity(one));
                let (forth, back) = (contradiction(one, other, 0.5), contradiction(other, one, 0.5));
                prop_assert_eq!(forth, back);
            }
            if one.keys().next().is_some() {
                prop_assert!((one.similarity(one) - 1.0).abs() < 1e-12);
                prop_assert!(one.says_the_same(one));
            }
            let bytes = minicbor::to_vec(one).unwrap();
            prop_assert_eq!(&minicbor::decode::<Claim>(&bytes).unwrap(), one);
        }
    }

    /// GOV-2.7: what contradicts is never taken for the same.
    #[test]
    fn a_contradiction_is_no_duplicate(a in sentence(), b in sentence()) {
        let (a, b) = (claim(&a), claim(&b));
        prop_assert!(contradiction(&a, &b, 0.0).is_none() || !a.says_the_same(&b));
    }

    /// GOV-2.8: the nearest are those that a look at every row finds, also after rows were forgotten.
    #[test]
    fn nearest_equals_a_look_at_every_row(
        texts in prop::collection::vec(sentence(), 0..60),
        query in sentence(),
        gone in prop::collection::vec(0u32..60, 0..8),
        floor in 0.0f64..0.9,
        limit in 0usize..12,
    ) {
        let mut view = ClaimsView::default();
        texts.iter().for_each(|text| view.push(claim(text)));
        gone.iter().for_each(|row| view.forget(*row));
        let query = claim(&query);
        let admits = |row: u32| row % 7 != 3;
        let mut all: Vec<(u32, f64)> = (0..view.len() as u32)
            .filter(|row| admits(*row))
            .map(|row| (row, query.similarity(view.get(row).unwrap())))
            .filter(|(_, near)| *near > floor)
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(limit);
        prop_assert_eq!(view.nearest(&query, limit, floor, admits), all);
        let bytes = minicbor::to_vec(&view).unwrap();
        prop_assert_eq!(&minicbor::decode::<ClaimsView>(&bytes).unwrap(), &view);
    }
}

/// A text of 64 KiB, of whatever sort, takes no more than it should.
#[test]
fn long_texts_are_bounded() {
    let mut analyser = Analyser::default();
    let many_sentences = "Port is 8080 and Alice has two cats. ".repeat(1_771);
    let texts =
        ["a".repeat(65_536), "no ".repeat(21_845), "1".repeat(65_536), many_sentences, "é'".repeat(21_000)];
    for text in texts {
        let one = Claim::of(&content(&text), &mut analyser);
        assert!(minicbor::to_vec(&one).unwrap().len() < 32_768);
        assert!(contradiction(&one, &one, SIGMA_TOPIC).is_none());
    }
}

/// Sentences with the frequencies of a real vocabulary, from a fixed sequence of numbers.
struct Zipf(u64);

impl Zipf {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A word of rank r comes about as often as 1/r.
    fn word(&mut self) -> String {
        let share = self.next() as f64 / (1u64 << 31) as f64;
        let rank = 30_000f64.powf(share) as usize;
        let letters = |mut rank: usize| {
            let mut word = String::new();
            while rank > 0 {
                word.push(char::from(b"bdfgklmnprtvz"[rank % 13]));
                word.push(char::from(b"aeiou"[rank / 13 % 5]));
                rank /= 65;
            }
            word
        };
        let common = ["the", "is", "of", "and", "in", "to", "a", "was", "for", "on", "with", "has"];
        common.get(rank.wrapping_sub(1)).map_or_else(|| letters(rank), |word| (*word).to_owned())
    }

    fn sentence(&mut self) -> String {
        let length = 8 + self.next() % 12;
        let words: Vec<String> = (0..length).map(|_| self.word()).collect();
        format!("{}.", words.join(" "))
    }
}

fn quantiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// What it costs: run with `--run-ignored all --no-capture`.
#[test]
#[ignore = "prints times, which a busy machine stretches"]
#[expect(clippy::disallowed_methods, reason = "the time is what is measured")]
fn what_claims_cost() {
    let mut analyser = Analyser::default();
    let mut zipf = Zipf(7);
    let mut view = ClaimsView::default();
    let mut times = Vec::new();
    let mut bytes = 0;
    for many in [10_000, 100_000] {
        while view.len() < many {
            let text = content(&zipf.sentence());
            let start = Instant::now();
            let claim = Claim::of(&text, &mut analyser);
            times.push(start.elapsed());
            bytes += minicbor::to_vec(&claim).unwrap().len();
            view.push(claim);
        }
        let (p50, p99) = quantiles(times.clone());
        println!("{many}: taking apart p50 {p50:?} p99 {p99:?}, {} bytes encoded each", bytes / many);
        let mut looks = Vec::new();
        let mut found = 0;
        for at in 0..400 {
            // Half are near-copies of what is known, half are new.
            let text = zipf.sentence();
            let query = match at % 2 {
                0 => view.get((at * 17) as u32).unwrap().clone(),
                _ => Claim::of(&content(&text), &mut analyser),
            };
            let start = Instant::now();
            found += view.nearest(&query, 50, SIGMA_TOPIC, |_| true).len();
            looks.push(start.elapsed());
        }
        let (p50, p99) = quantiles(looks);
        println!("{many}: nearest p50 {p50:?} p99 {p99:?}, {found} found");
    }
    // The worst: every text like every other.
    let mut alike = ClaimsView::default();
    let text = |at: usize| format!("Server {} of the cluster listens on port {}.", at % 977, at % 8_000);
    (0..100_000).for_each(|at| alike.push(Claim::of(&content(&text(at)), &mut analyser)));
    let mut looks = Vec::new();
    for at in 0..200 {
        let query = Claim::of(&content(&text(at * 31)), &mut analyser);
        let start = Instant::now();
        assert_eq!(alike.nearest(&query, 50, SIGMA_TOPIC, |_| true).len(), 50);
        looks.push(start.elapsed());
    }
    let (p50, p99) = quantiles(looks);
    println!("100000 alike: nearest p50 {p50:?} p99 {p99:?}");
    let (a, b) = (view.get(11).unwrap(), view.get(12).unwrap());
    let start = Instant::now();
    let found = (0..100_000).filter(|_| contradiction(std::hint::black_box(a), b, 0.0).is_some()).count();
    println!("comparing: {:?} each, {found}", start.elapsed() / 100_000);
    let kib =
        std::fs::read_to_string("/proc/self/statm").map(|pages| pages.split(' ').nth(1).unwrap().to_owned());
    println!("resident pages of 4 KiB: {kib:?}");
}
