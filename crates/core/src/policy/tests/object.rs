//! What is accepted as a policy, for whom it holds, and what it does.

use super::policy;
use crate::id::{AgentId, UserId};
use crate::policy::{
    Class, Composed, Denied, Detectors, Ground, NameClass, Names, Pair, Person, PolicyKind, PrivateParents,
    Share, SharingPolicy, Subject, Task,
};
use crate::seal::Secret;
use crate::time::Timestamp;

fn pair(user: u8, agent: u8) -> Pair {
    Pair { user: UserId::from_bytes([user; 16]), agent: AgentId::from_bytes([agent; 16]) }
}

fn faults(json: &str) -> Vec<String> {
    super::check(json).unwrap_err().into_iter().map(|fault| fault.path).collect()
}

/// SHARE-14: the whole object, there and back.
#[test]
fn a_policy_round_trips() {
    let user = UserId::from_bytes([1; 16]);
    let json = format!(
        r#"{{"scope":{{"user":"{user}","window":{{"weekly":[{{"day":"mon","from":"22:00","to":"06:00"}}],
        "zone":"America/New_York"}}}},"priority":3,"steps":[{{"step":"block","labels":["hr"],"kinds":["diary"],"patterns":["(?i)payroll"]}},
        {{"step":"keyword","allow":["rust"],"deny":["salary"]}},{{"step":"redact","classes":["email"],"custom":[{{"class":"ticket","pattern":"T-\\d+"}}]}},
        {{"step":"anonymise"}},{{"step":"pseudonymise"}},{{"step":"paraphrase","keep":3}}],
        "limits":{{"count":5,"chars":100,"total_chars":300,"min_similarity":0.25,"max_age":"P30D"}},"share":"on","private_parents":"block",
        "overridable":["count","share"]}}"#
    );
    let read: SharingPolicy = serde_json::from_str(&json).unwrap();
    let again: SharingPolicy = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(read, again);
    let checked = read.check("night", PolicyKind::Read).unwrap();
    assert_eq!((checked.id(), checked.kind(), checked.user()), ("night", PolicyKind::Read, Some(user)));
    let composed = Composed::from(&checked);
    let limits = composed.limits();
    assert_eq!((limits.count, limits.chars, limits.total_chars), (Some(5), Some(100), Some(300)));
    assert_eq!(limits.min_similarity, Some(0.25));
    assert_eq!((composed.share(), composed.private_parents()), (Share::On, PrivateParents::Block));
}

/// SHARE-14: unknown fields, words and sizes are refused, each with its place.
#[test]
fn what_is_no_policy_is_refused() {
    for json in [
        r#"{"colour":"red"}"#,
        r#"{"scope":{"group":"x"}}"#,
        r#"{"steps":[{"step":"dance"}]}"#,
        r#"{"steps":[{"step":"anonymise","names":[]}]}"#,
        r#"{"limits":{"most":3}}"#,
        r#"{"limits":{"count":-1}}"#,
    ] {
        assert!(serde_json::from_str::<SharingPolicy>(json).is_err(), "{json}");
    }
    let check = |json: &str, expected: &[&str]| assert_eq!(faults(json), expected, "{json}");
    check(r#"{"id":"","kind":"read"}"#, &["/id"]);
    check(
        r#"{"id":"a","kind":"read","scope":{"user":"jane","agent":"usr_x"}}"#,
        &["/scope/user", "/scope/agent"],
    );
    check(r#"{"id":"a","kind":"read","scope":{"window":{}}}"#, &["/scope/window/weekly"]);
    check(r#"{"id":"a","kind":"read","steps":[{"step":"block"}]}"#, &["/steps/0"]);
    check(
        r#"{"id":"a","kind":"read","steps":[{"step":"block","patterns":["ok","("]}]}"#,
        &["/steps/0/patterns/1"],
    );
    check(r#"{"id":"a","kind":"read","steps":[{"step":"keyword","deny":["--"]}]}"#, &["/steps/0/deny/0"]);
    check(
        r#"{"id":"a","kind":"read","steps":[{"step":"redact","classes":["mail"]}]}"#,
        &["/steps/0/classes/0"],
    );
    check(r#"{"id":"a","kind":"read","steps":[{"step":"redact","classes":[]}]}"#, &["/steps/0"]);
    let custom = r#"{"id":"a","kind":"read","steps":[{"step":"redact","custom":[{"class":"email","pattern":"a*"},{"class":"A]","pattern":"a"}]}]}"#;
    check(custom, &["/steps/0/custom/0/class", "/steps/0/custom/0/pattern", "/steps/0/custom/1/class"]);
    let limits = r#"{"id":"a","kind":"read","limits":{"min_similarity":2,"max_age":"30 days"},"share":"yes","private_parents":"no"}"#;
    check(limits, &["/limits/min_similarity", "/limits/max_age", "/share", "/private_parents"]);
    check(r#"{"id":"a","kind":"read","overridable":["steps"]}"#, &["/overridable/0"]);
    for step in [
        r#"{"step":"paraphrase","llm":true}"#,
        r#"{"step":"extract"}"#,
        r#"{"step":"paraphrase","require_llm":true}"#,
    ] {
        check(&format!(r#"{{"id":"a","kind":"read","steps":[{step}]}}"#), &["/steps/0"]);
    }
    check(
        r#"{"id":"a","kind":"write_private","steps":[{"step":"extract","require_llm":true}]}"#,
        &["/steps/0"],
    );
}

/// SHARE-15, SHARE-18: a model is asked if any policy asks, must answer if any requires it, and no policy takes either back.
#[test]
fn what_a_model_is_asked_only_tightens() {
    let asks = |steps: &[&str]| {
        let one = |step: &&str| {
            policy(&format!(r#"{{"id":"a","kind":"write_shared","steps":[{{"step":{step}}}]}}"#))
        };
        let all =
            steps.iter().map(one).fold(Composed::default(), |so_far, policy| so_far.and(&(&policy).into()));
        all.asks().map(|asks| (asks.task, asks.required))
    };
    assert_eq!(asks(&[r#""paraphrase""#, r#""extract""#]), None);
    assert_eq!(asks(&[r#""paraphrase","llm":true"#, r#""paraphrase""#]), Some((Task::Paraphrase, false)));
    assert_eq!(
        asks(&[r#""paraphrase","require_llm":true"#, r#""paraphrase","llm":false"#]),
        Some((Task::Paraphrase, true))
    );
    assert_eq!(
        asks(&[r#""paraphrase","require_llm":true"#, r#""extract","llm":true"#]),
        Some((Task::Extract, true))
    );
}

/// SHARE-14: a policy has at most 64 expressions.
#[test]
fn expressions_are_counted() {
    let with = |count: usize| {
        let patterns = vec!["\"a\""; count].join(",");
        format!(r#"{{"id":"a","kind":"read","steps":[{{"step":"block","patterns":[{patterns}]}}]}}"#)
    };
    policy(&with(64));
    assert_eq!(faults(&with(65)), ["/steps"]);
}

/// SHARE-15: all that match apply, and only those: by kind, user, agent and time.
#[test]
fn policies_match_by_kind_pair_and_time() {
    let (user, agent) = (UserId::from_bytes([1; 16]), AgentId::from_bytes([2; 16]));
    let scoped = |id: &str, kind: &str, scope: &str| {
        policy(&format!(r#"{{"id":"{id}","kind":"{kind}","scope":{scope},"limits":{{"count":5}}}}"#))
    };
    let policies = [
        scoped("all", "read", "{}"),
        scoped("user", "read", &format!(r#"{{"user":"{user}"}}"#)),
        scoped("agent", "read", &format!(r#"{{"agent":"{agent}"}}"#)),
        scoped("both", "read", &format!(r#"{{"user":"{user}","agent":"{agent}"}}"#)),
        scoped("then", "read", r#"{"window":{"to":"2026-01-01T00:00:00Z"}}"#),
        scoped("write", "write_private", "{}"),
    ];
    let check = |pair: Pair, now: &str, expected: &[&str]| {
        let composed = Composed::of(&policies, PolicyKind::Read, pair, now.parse().unwrap());
        assert_eq!(composed.policies().collect::<Vec<_>>(), expected);
    };
    check(pair(1, 2), "2026-06-01T00:00:00Z", &["agent", "all", "both", "user"]);
    check(pair(1, 3), "2025-06-01T00:00:00Z", &["all", "then", "user"]);
    check(pair(9, 2), "2026-06-01T00:00:00Z", &["agent", "all"]);
}

/// SHARE-15: a scalar is replaced only where a broader policy lists it, and by the narrowest.
#[test]
fn overridable_scalars_follow_the_narrowest() {
    let (user, now) = (UserId::from_bytes([1; 16]), Timestamp::default());
    let global = |overridable: &str| {
        policy(&format!(
            r#"{{"id":"g","kind":"read","limits":{{"count":5,"chars":50}},"overridable":[{overridable}]}}"#
        ))
    };
    let own = policy(&format!(
        r#"{{"id":"u","kind":"read","scope":{{"user":"{user}"}},"limits":{{"count":9,"chars":90}}}}"#
    ));
    let limits = |broad| {
        let limits = Composed::of([&broad, &own], PolicyKind::Read, pair(1, 2), now).limits();
        (limits.count, limits.chars)
    };
    assert_eq!(limits(global("")), (Some(5), Some(50)));
    assert_eq!(limits(global(r#""count""#)), (Some(9), Some(50)));
}

/// SHARE-16: without policies a read is verbatim.
#[test]
fn no_policy_is_verbatim() {
    let composed = Composed::of([], PolicyKind::Read, pair(1, 2), Timestamp::default());
    let ground = Ground { names: &[], key: &Secret::from_bytes([0; 32]) };
    assert!(composed.is_verbatim());
    assert_eq!(composed.transform("Jo <jo@example.org>", &ground), "Jo <jo@example.org>");
    assert_eq!(composed.share(), Share::Off);
}

/// SHARE-15, SHARE-17: block and keyword deny if any policy does.
#[test]
fn any_policy_can_deny() {
    let block = policy(
        r#"{"id":"b","kind":"read","steps":[{"step":"block","labels":["hr"],"kinds":["diary"],"patterns":["(?i)payroll"]}]}"#,
    );
    let keyword = policy(r#"{"id":"k","kind":"read","steps":[{"step":"keyword","deny":["salary"]}]}"#);
    let composed = Composed::of([&block, &keyword], PolicyKind::Read, pair(1, 2), Timestamp::default());
    let check = |key: Option<&str>, text: &str, kind: &str, labels: &[&str], expected: Option<Denied>| {
        let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
        assert_eq!(composed.denies(&Subject { key, text, kind, labels: &labels }), expected, "{text}");
    };
    check(None, "plain", "note", &[], None);
    check(None, "plain", "note", &["x", "hr"], Some(Denied::Block));
    check(None, "plain", "note", &["label:hr"], Some(Denied::Block));
    check(None, "plain", "note", &["label:x", "my label:hr"], None);
    check(None, "plain", "diary", &[], Some(Denied::Block));
    check(None, "the PayRoll", "note", &[], Some(Denied::Block));
    check(Some("payroll?"), "plain", "note", &[], Some(Denied::Block));
    check(None, "A Salary", "note", &[], Some(Denied::Keyword));
}

/// SHARE-20: private parents refuse, force redaction and anonymity, or change nothing.
#[test]
fn private_parents_are_blocked_transformed_or_allowed() {
    let with = |word: &str| {
        let json = format!(r#"{{"id":"p","kind":"write_shared","steps":[],"private_parents":"{word}"}}"#);
        Composed::of([&policy(&json)], PolicyKind::WriteShared, pair(1, 2), Timestamp::default())
    };
    assert!(with("block").for_private_parents().is_none());
    assert_eq!(with("allow").for_private_parents().unwrap(), with("allow"));
    let transformed = with("transform").for_private_parents().unwrap();
    assert!(transformed.detectors().covers(&Detectors::all()));
    let jane = Person { class: NameClass::User, name: "Jane".to_owned(), aliases: Vec::new() };
    let ground = Ground { names: &[&Names::of(&[jane])], key: &Secret::from_bytes([0; 32]) };
    assert_eq!(transformed.transform("Jane at 10.0.0.1", &ground), "a user at [REDACTED:ip]");
    assert_eq!(with("allow").transform("Jane at 10.0.0.1", &ground), "Jane at 10.0.0.1");
    assert_eq!(Composed::default().private_parents(), PrivateParents::Transform);
}

/// SHARE-19: what is shared is redacted and anonymised until a policy for everybody says otherwise.
#[test]
fn shared_writes_are_cleaned_by_default() {
    let own = policy(&format!(
        r#"{{"id":"u","kind":"write_shared","scope":{{"user":"{}"}},"share":"on"}}"#,
        UserId::from_bytes([1; 16])
    ));
    let open = policy(r#"{"id":"o","kind":"write_shared","share":"on"}"#);
    let global =
        policy(r#"{"id":"g","kind":"write_shared","steps":[{"step":"redact","classes":["email"]}]}"#);
    let composed = |policies: &[&crate::policy::CheckedPolicy]| {
        Composed::of(policies.iter().copied(), PolicyKind::WriteShared, pair(1, 2), Timestamp::default())
    };
    assert_eq!(*composed(&[]).detectors(), Detectors::all());
    assert_eq!(*composed(&[&own]).detectors(), Detectors::all());
    assert_eq!(composed(&[&own]).share(), Share::On);
    assert_eq!(*composed(&[&open]).detectors(), Detectors::all());
    assert_eq!(*composed(&[&own, &global]).detectors(), Detectors::of([Class::Email]));
    assert!(Composed::of([], PolicyKind::WritePrivate, pair(1, 2), Timestamp::default()).is_verbatim());
}
