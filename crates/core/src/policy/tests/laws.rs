//! Laws that hold for every text and every set of policies.

use super::policy;
use crate::item::Content;
use crate::policy::{
    Class, Composed, Detectors, Ground, NameClass, Names, Note, Notes, Pattern, Person, StandIns, Subject,
    anonymise, detect, mask, pseudonymise,
};
use crate::seal::Secret;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Pieces that detectors find, nearly find, or stumble over.
const PIECES: [&str; 44] = [
    "4111 1111 1111 1111",
    "4111111111111111",
    "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
    "123-45-6789",
    "jo@example.org",
    "a@b.co",
    "10.1.2.3",
    "2001:db8::1",
    "fe80::1",
    "+49 170 1234567",
    "555-123-4567",
    "020 7946 0958",
    "tel ",
    "ssn ",
    "version ",
    "sha256:",
    "aB3dE6gH9jK2mN5pQ8sT",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "[REDACTED:email]",
    "[REDACTED:",
    "]",
    "Person-ABC234",
    "Person-",
    "a user",
    "Jane",
    "Doe",
    "jane.doe",
    "User",
    "x",
    "1",
    "12",
    "555",
    ".",
    "-",
    " ",
    ":",
    "@",
    "+",
    "/",
    "é",
    "\u{200b}",
    "田中",
    "I am here. ",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => "[0-9 .+()-]{0,12}",
        1 => any::<String>().prop_map(|text| text.chars().take(8).collect()),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn detectors() -> impl Strategy<Value = Detectors> {
    let sources =
        [".", "a", r"\d+", r"[A-Z]+", r"(?s).+", r"\w+@", r"\]", r"^\S", r"\b1", "REDACTED", r"a.*c"];
    let custom = proptest::sample::subsequence(sources.to_vec(), 0..3);
    let classes = proptest::sample::subsequence(Class::ALL.to_vec(), 0..=Class::ALL.len());
    (classes, custom).prop_map(|(classes, custom)| {
        let with = |all: Detectors, (n, source): (usize, &str)| {
            all.and(format!("own{n}"), Pattern::compile(source).unwrap())
        };
        custom.into_iter().enumerate().fold(Detectors::of(classes), with)
    })
}

fn directory() -> Names {
    let person = |name: &str, aliases: &[&str]| Person {
        class: NameClass::User,
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    };
    Names::of(&[
        person("Jane Doe", &["jane", "田中"]),
        person("User", &["Person", "email"]),
        person("1", &["12", "555"]),
    ])
}

/// Policies without overridable scalars; `loose` lists all of them.
fn one_policy(loose: bool) -> impl Strategy<Value = String> {
    let steps = [
        r#"{"step":"redact","classes":["email"]}"#,
        r#"{"step":"redact"}"#,
        r#"{"step":"redact","classes":["card","ip"]}"#,
        r#"{"step":"redact","classes":[],"custom":[{"class":"ticket","pattern":"T-\\d+"}]}"#,
        r#"{"step":"anonymise"}"#,
        r#"{"step":"pseudonymise"}"#,
        r#"{"step":"paraphrase"}"#,
        r#"{"step":"paraphrase","keep":2}"#,
        r#"{"step":"paraphrase","llm":true}"#,
        r#"{"step":"extract"}"#,
        r#"{"step":"extract","require_llm":true}"#,
        r#"{"step":"block","labels":["hr"]}"#,
        r#"{"step":"block","patterns":["Jane","\\d{3}"]}"#,
        r#"{"step":"keyword","deny":["jane"]}"#,
        r#"{"step":"keyword","allow":["user","x"]}"#,
        r#"{"step":"keyword","allow":["doe"]}"#,
    ];
    let limits = [
        r#""count":3"#,
        r#""chars":40"#,
        r#""total_chars":90"#,
        r#""min_similarity":0.25"#,
        r#""max_age":"P3D""#,
    ];
    let also = [r#","share":"off""#, r#","private_parents":"block""#];
    let window = r#""window":{"from":"2020-01-01T00:00:00Z"}"#;
    let user = format!(r#""user":"{}""#, crate::id::UserId::from_bytes([1; 16]));
    let agent = format!(r#""agent":"{}""#, crate::id::AgentId::from_bytes([2; 16]));
    let scope = proptest::sample::subsequence(vec![window.to_owned(), user, agent], 0..=3);
    let overridable = if loose { r#""count","chars","share","keep""# } else { "" };
    let parts = (
        "[a-z]{1,6}",
        scope,
        -2..3i32,
        proptest::sample::subsequence(steps.to_vec(), 0..4),
        proptest::sample::subsequence(limits.to_vec(), 0..4),
        proptest::sample::subsequence(also.to_vec(), 0..=2),
        1..9u32,
    );
    parts.prop_map(move |(id, scope, priority, steps, limits, also, n)| {
        let limits: Vec<String> = limits.iter().map(|limit| limit.replace('3', &n.to_string())).collect();
        format!(
            r#"{{"id":"{id}","kind":"write_shared","scope":{{{}}},"priority":{priority},"steps":[{}],"limits":{{{}}}{},"overridable":[{overridable}]}}"#,
            scope.join(","),
            steps.join(","),
            limits.join(","),
            also.concat()
        )
    })
}

fn composed(all: &[String]) -> Composed {
    all.iter().fold(Composed::default(), |so_far, json| so_far.and(&Composed::from(&policy(json))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// SHARE-17: redacting twice is redacting once, and no detector finds anything in what comes out.
    #[test]
    fn redaction_is_idempotent_and_leaves_nothing(text in text(), detectors in detectors()) {
        let once = detectors.redact(&text);
        prop_assert!(detectors.detect(&once).is_empty(), "{once}");
        prop_assert_eq!(detectors.redact(&once), once);
    }

    /// SHARE-17, SHARE-21: places are in order, apart, on character boundaries; without any, the text stays.
    #[test]
    fn detected_places_are_apart(text in text()) {
        let classes: BTreeSet<Class> = Class::ALL.iter().copied().collect();
        let spans = detect(&text, &classes);
        let mut end = 0;
        for span in &spans {
            prop_assert!(end <= span.range.start && span.range.start < span.range.end);
            prop_assert!(text.get(span.range.clone()).is_some());
            end = span.range.end;
        }
        let masked = mask(&text, &classes);
        prop_assert_eq!(masked.terms.is_empty(), spans.is_empty());
        if spans.is_empty() {
            prop_assert_eq!(masked.text, text);
        }
    }

    /// SHARE-17: names gone once are gone, and a pseudonym is no name.
    #[test]
    fn name_steps_are_idempotent(text in text()) {
        let (names, stand_ins, key) = (directory(), StandIns::default(), Secret::from_bytes([5; 32]));
        let once = anonymise(&text, &[&names], &stand_ins);
        prop_assert_eq!(anonymise(&once, &[&names], &stand_ins), once);
        let once = pseudonymise(&text, &[&names], &stand_ins, &key);
        prop_assert_eq!(pseudonymise(&once, &[&names], &stand_ins, &key), once);
    }

    /// SHARE-15: composing is commutative, associative and idempotent, scalars that may be overridden included.
    #[test]
    fn composition_has_no_order(
        a in proptest::collection::vec(one_policy(true), 0..3),
        b in proptest::collection::vec(one_policy(false), 0..3),
        c in proptest::collection::vec(one_policy(true), 0..3),
    ) {
        let (a, b, c) = (composed(&a), composed(&b), composed(&c));
        prop_assert_eq!(a.clone().and(&b), b.clone().and(&a));
        prop_assert_eq!(a.clone().and(&b).and(&c), a.clone().and(&b.clone().and(&c)));
        prop_assert_eq!(a.clone().and(&a), a);
    }

    /// SHARE-15: one more policy only tightens: what was denied stays denied, what was bounded stays bounded.
    #[test]
    fn composition_only_tightens(
        all in proptest::collection::vec(one_policy(false), 0..4),
        more in one_policy(true),
        text in text(),
    ) {
        let before = composed(&all);
        let after = before.clone().and(&composed(&[more]));
        prop_assert!(after.is_as_tight_as(&before));
        let subject = Subject { key: None, text: &text, kind: "note", labels: &["hr".to_owned()] };
        prop_assert!(before.denies(&subject).is_none() || after.denies(&subject).is_some());
    }

    /// SHARE-15: where scalars may be overridden, all steps still only tighten.
    #[test]
    fn overriding_loosens_no_step(all in proptest::collection::vec(one_policy(true), 0..4), more in one_policy(false), text in text()) {
        let before = composed(&all);
        let after = before.clone().and(&composed(&[more]));
        prop_assert!(after.detectors().covers(before.detectors()));
        let subject = Subject { key: None, text: &text, kind: "note", labels: &[] };
        prop_assert!(before.denies(&subject).is_none() || after.denies(&subject).is_some());
    }

    /// SHARE-16, SHARE-17: whatever the chain, nothing that it redacts comes out of it, nor out of a tighter one.
    #[test]
    fn nothing_redacted_comes_out_of_a_chain(
        all in proptest::collection::vec(one_policy(false), 0..4),
        more in one_policy(false),
        text in text(),
    ) {
        let (names, key) = (directory(), Secret::from_bytes([5; 32]));
        let ground = Ground { names: &[&names], key: &key };
        let before = composed(&all);
        let after = before.clone().and(&composed(&[more]));
        for chain in [&before, &after] {
            let shown = chain.transform(&text, &ground);
            prop_assert!(before.detectors().detect(&shown).is_empty(), "{shown}");
        }
    }

    /// SHARE-18: whatever a model says, nothing that the policy redacts comes out, and nothing but key and text is changed.
    #[test]
    fn nothing_redacted_comes_out_of_a_model(
        all in proptest::collection::vec(one_policy(false), 0..4),
        key in text(),
        said in text(),
    ) {
        let (names, key_of_tenant) = (directory(), Secret::from_bytes([5; 32]));
        let ground = Ground { names: &[&names], key: &key_of_tenant };
        let sent = Content { tags: vec!["hr".to_owned()], ..Content::plain("note", "as it was sent") };
        let note = Note::of(Some(&key), &said).or_else(|| Note::of(None, &said));
        prop_assume!(note.is_some());
        let told = Notes::of(note.into_iter().collect()).unwrap().content(&sent);
        let (chain, plain) = (composed(&all), composed(&all).content(&sent, &ground));
        let made = chain.content(&told, &ground);
        for text in made.key.iter().chain([&made.text]) {
            prop_assert!(chain.detectors().detect(text).is_empty(), "{text}");
        }
        prop_assert_eq!((made.kind, made.tags, made.triple, made.fields), (plain.kind, plain.tags, plain.triple, plain.fields));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// SHARE-17: any Unicode up to 64 KiB.
    #[test]
    fn any_text_of_64_kib_is_redacted(chars in proptest::collection::vec(any::<char>(), 8_000..16_000), piece in text()) {
        let mut text: String = chars.into_iter().collect();
        text.push_str(&piece);
        let once = Detectors::all().redact(&text);
        prop_assert_eq!(Detectors::all().redact(&once), once);
    }
}
