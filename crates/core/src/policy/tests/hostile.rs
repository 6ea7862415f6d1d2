//! Texts made to be slow, and policies made to be large.

use crate::policy::{Class, Composed};
use crate::policy::{
    Detectors, Ground, NameClass, Names, Pattern, Person, StandIns, anonymise, paraphrase, redact,
};
use crate::seal::Secret;
use std::time::Duration;

const SIZE: usize = 65_536;

fn of(part: &str) -> String {
    part.repeat(SIZE / part.len())
}

/// Texts of 64 KiB in which every place begins something.
fn texts() -> Vec<String> {
    let parts = [
        "1",
        "@",
        "a",
        "A1b2",
        "a@",
        "@a.",
        "1.",
        "1:",
        "::",
        ":",
        ".",
        "-",
        "+1 ",
        "(1",
        "[REDACTED:",
        "[",
        "DE89 ",
        "DE893704",
        "4111 ",
        "4",
        "1-",
        "123-",
        "555-",
        "0",
        "00 ",
        "tel ",
        "ssn 1",
        " ",
        "\n",
        "é",
        "\u{200b}",
        "\u{301}",
        "🇩🇪",
        "田",
        "jane ",
        "a user ",
        "Person-",
        "Person-ABCDEF",
        "i. ",
        "a. 1 ",
        "?!",
        "x/y",
        "Aa",
        "=",
    ];
    parts.iter().map(|part| of(part)).collect()
}

fn names() -> Names {
    let person = |n: usize| Person {
        class: NameClass::User,
        name: format!("jane {}", "jane ".repeat(n)),
        aliases: vec![format!("田{}", "田".repeat(n))],
    };
    Names::of(&(0..12).map(person).collect::<Vec<_>>())
}

#[expect(clippy::disallowed_methods, reason = "a test that measures")]
fn timed(what: &str, run: impl FnOnce()) -> Duration {
    let start = std::time::Instant::now();
    run();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(3), "{what}: {took:?}");
    took
}

/// SHARE-17: any text of 64 KiB is redacted in linear time: no quadratic step would end within this.
#[test]
fn hostile_texts_are_redacted_in_time() {
    let all = Class::ALL.iter().copied().collect();
    for text in texts() {
        let head: String = text.chars().take(8).collect();
        timed(&head, || drop(redact(&text, &all)));
    }
}

/// SHARE-17: and so are names found, and sentences dropped.
#[test]
fn hostile_texts_lose_their_names_in_time() {
    let names = names();
    for text in texts() {
        let head: String = text.chars().take(8).collect();
        timed(&head, || drop(anonymise(&text, &[&names], &StandIns::default())));
        timed(&head, || drop(paraphrase(&text, &[&names], &StandIns::default(), usize::MAX)));
    }
}

/// SHARE-17: twice the text takes about twice the time, not four times.
#[test]
fn time_grows_with_the_text() {
    let all = Class::ALL.iter().copied().collect();
    for part in ["1", "@", "a", "a@b", "4111 ", "1.", ":1"] {
        let best = |size: usize| {
            let text = part.repeat(size / part.len());
            (0..3).map(|_| timed(part, || drop(redact(&text, &all)))).min().unwrap()
        };
        let (one, eight) = (best(SIZE), best(SIZE * 8));
        assert!(
            eight < one * 32 + Duration::from_millis(50),
            "{part}: {one:?}, eight times the text {eight:?}"
        );
    }
}

/// SHARE-14, SHARE-17: expressions that look far ahead from every place end in time, and hide rather than show.
#[test]
fn hostile_expressions_end_in_time() {
    let sources =
        [r".*[^A-Z]|[A-Z]", r"(?s).*Z$|.", r"(a+)+b|a", r"(\w+\s?)+$", r"[^x]*y|.", r"\b\w+\b.*z|\w"];
    for source in sources {
        let detectors = Detectors::default().and("x", Pattern::compile(source).unwrap());
        for text in [of("A"), of("a "), of("Z") + "a", of("ab")] {
            timed(source, || drop(detectors.redact(&text)));
        }
    }
}

/// SHARE-15: a whole chain over a hostile text ends in time too.
#[test]
fn a_whole_chain_ends_in_time() {
    let policy = super::policy(
        r#"{"id":"all","kind":"read","steps":[{"step":"redact"},{"step":"anonymise"},{"step":"pseudonymise"},{"step":"paraphrase"}]}"#,
    );
    let (composed, names, key) = (Composed::from(&policy), names(), Secret::from_bytes([1; 32]));
    for text in texts() {
        let head: String = text.chars().take(8).collect();
        timed(&head, || drop(composed.transform(&text, &Ground { names: &[&names], key: &key })));
    }
}
