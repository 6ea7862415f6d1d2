//! Search through the engine with a model that the tests can read: what is found, what is hidden, what is remembered.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{BEGIN, Bench, open_with};
use tabellion_core::error::Code;
use tabellion_engine::Call;
use tabellion_engine::ports::{EmbedError, Embedder, ManualClock};
use tabellion_engine::reply::{OutcomeReport, SearchQuery, SearchReply};

const DIMENSIONS: usize = 8;

/// A text means the digits in it: how often each of them occurs.
#[derive(Default)]
struct Digits {
    model: Option<&'static str>,
    calls: AtomicUsize,
    texts: Mutex<Vec<String>>,
    slow: AtomicBool,
    down: AtomicBool,
}

fn meaning(text: &str) -> Vec<f32> {
    let mut vector = [0.01; DIMENSIONS];
    for digit in text.chars().filter_map(|c| c.to_digit(10)) {
        vector[digit as usize % DIMENSIONS] += 1.0;
    }
    let length = vector.iter().map(|x: &f32| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

impl Embedder for Digits {
    fn model(&self) -> &str {
        self.model.unwrap_or("digits")
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch_texts_max(&self) -> usize {
        16
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("it is down".into()));
        }
        if self.slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.texts.lock().extend(texts.iter().map(|text| (*text).to_owned()));
        Ok(texts.iter().map(|text| meaning(text)).collect())
    }
}

fn bench(model: &Arc<Digits>) -> Bench {
    bench_on(None, model)
}

fn bench_on(data: Option<&std::path::Path>, model: &Arc<Digits>) -> Bench {
    let clock = Arc::new(ManualClock::at(BEGIN.parse().unwrap()));
    open_with(data, 7, clock, Some(Arc::clone(model) as Arc<dyn Embedder>))
}

fn asks(query: &str, mode: &str) -> SearchQuery {
    SearchQuery { query: Some(query.into()), mode: Some(mode.into()), k: Some(100), ..SearchQuery::default() }
}

async fn search(bench: &Bench, who: &Call, query: SearchQuery) -> SearchReply {
    bench.engine.search(who, query).await.unwrap()
}

fn texts(reply: &SearchReply) -> Vec<String> {
    reply.results.iter().map(|found| found.item.content.text.clone()).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Write(u16),
    Update(usize, u16),
    Retract(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..2000u16).prop_map(Step::Write),
        2 => (0..8usize, 0..2000u16).prop_map(|(item, text)| Step::Update(item, text)),
        1 => (0..8usize).prop_map(Step::Retract),
    ]
}

/// What one user should have, by item.
type Heads = BTreeMap<String, String>;

async fn take(bench: &Bench, who: &Call, heads: &mut Heads, step: Step, serial: usize) {
    let item = |heads: &Heads, at: usize| heads.keys().nth(at).cloned();
    match step {
        Step::Write(number) => {
            let text = format!("note {number} of step {serial}");
            heads.insert(bench.write(who, &text).await.id.unwrap().to_string(), text);
        }
        Step::Update(at, number) => {
            if let Some(id) = item(heads, at) {
                let text = format!("note {number} of step {serial}");
                bench.update(who, &id, &text).await;
                heads.insert(id, text);
            }
        }
        Step::Retract(at) => {
            if let Some(id) = item(heads, at) {
                bench.engine.retract(who, &id, None).await.unwrap();
                heads.remove(&id);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// SHARE-22, SHARE-37, CAL-35: in every mode a search answers from the caller's heads alone; a dense one with exactly
    /// min(k, all) of them, in the order of a naive comparison. Nothing is known of any of them, so each counts the root of a half.
    #[test]
    fn search_equals_a_naive_search_of_what_the_caller_sees(
        steps in proptest::collection::vec((any::<bool>(), step()), 1..25), asked in 0..2000u16, k in 1..12u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = bench(&Arc::new(Digits::default()));
            let users = [bench.member("ana").await, bench.member("ben").await];
            let mut heads = [Heads::new(), Heads::new()];
            for (serial, (first, step)) in steps.into_iter().enumerate() {
                let user = usize::from(first);
                take(&bench, &users[user], &mut heads[user], step, serial).await;
            }
            for (user, heads) in users.iter().zip(&heads) {
                check_search(&bench, user, heads, asked, k).await;
            }
        });
    }
}

async fn check_search(bench: &Bench, user: &Call, heads: &Heads, asked: u16, k: u64) {
    let query = format!("note {asked}");
    // Nothing to wait for but everything: the token of an empty search is that of the whole log.
    let token = search(bench, user, asks("note", "lexical")).await.token;
    let ask = |mode: &str| SearchQuery { k: Some(k), min_token: Some(token.clone()), ..asks(&query, mode) };
    for mode in ["hybrid", "lexical", "dense"] {
        let reply = search(bench, user, ask(mode)).await;
        let all = heads.len().min(usize::try_from(k).unwrap());
        assert_eq!(reply.results.len(), all, "{mode}: every text holds the word `note`, and a number");
        for found in &reply.results {
            assert_eq!(heads.get(&found.item.id.to_string()), Some(&found.item.content.text), "{mode}");
        }
    }
    let mut expected: Vec<f32> = heads
        .values()
        .map(|text| meaning(text).iter().zip(meaning(&query)).map(|(a, b)| a * b).sum())
        .collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    let unscored = 0.5_f64.sqrt();
    let found = search(bench, user, ask("dense")).await;
    for (found, expected) in found.results.iter().zip(expected) {
        assert!(
            (found.relevance - f64::from(expected) * unscored).abs() < 1e-5,
            "{} is not {expected}",
            found.relevance
        );
    }
}

/// SHARE-42: what is asked again is not computed again, but only for who asked before: another owner's cache tells nothing.
#[tokio::test]
async fn vectors_are_remembered_for_their_owner_alone() {
    let model = Arc::new(Digits::default());
    let bench = bench(&model);
    let (ana, ben) = (bench.member("ana").await, bench.member("ben").await);
    for _ in 0..3 {
        search(&bench, &ana, asks("what is 42", "dense")).await;
    }
    let asked = |model: &Digits| model.texts.lock().iter().filter(|text| *text == "what is 42").count();
    assert_eq!(asked(&model), 1);
    search(&bench, &ben, asks("what is 42", "dense")).await;
    assert_eq!(asked(&model), 2);
}

/// Queries that come while the model is busy go to it together.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_queries_share_a_call() {
    let model = Arc::new(Digits::default());
    let bench = Arc::new(bench(&model));
    let ana = bench.member("ana").await;
    model.slow.store(true, Ordering::SeqCst);
    let one = |number: usize| {
        let (bench, ana) = (Arc::clone(&bench), ana.clone());
        tokio::spawn(async move { search(&bench, &ana, asks(&format!("query {number}"), "dense")).await })
    };
    let all: Vec<_> = (0..16).map(one).collect();
    for task in all {
        task.await.unwrap();
    }
    let calls = model.calls.load(Ordering::SeqCst);
    assert!(calls <= 8, "16 queries took {calls} calls");
}

/// While the model is down nothing is lost: hybrid goes by words, dense says so, and once it is back vectors are made.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_down_delays_vectors_and_nothing_else() {
    let model = Arc::new(Digits::default());
    let bench = bench(&model);
    let ana = bench.member("ana").await;
    model.down.store(true, Ordering::SeqCst);
    let written = bench.write(&ana, "the code is 777").await;
    let reply = search(&bench, &ana, asks("code", "hybrid")).await;
    assert_eq!((texts(&reply), reply.mode), (vec!["the code is 777".to_owned()], "lexical"));
    let refused = bench.engine.search(&ana, asks("code", "dense")).await.unwrap_err();
    assert_eq!(refused.code, Code::EmbedderUnavailable);
    model.down.store(false, Ordering::SeqCst);
    let query = SearchQuery { min_token: Some(written.token.unwrap()), ..asks("777", "dense") };
    assert_eq!(texts(&search(&bench, &ana, query).await), ["the code is 777"]);
}

/// A vector is of its model: another model's are made anew, and the same model's are kept over a restart.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_outlast_a_restart_and_not_their_model() {
    let folder = tempfile::tempdir().unwrap();
    let count = |model: &Digits| model.texts.lock().iter().filter(|text| text.starts_with("fact")).count();
    let run = async |model: &Arc<Digits>, write: bool| {
        let bench = bench_on(Some(folder.path()), model);
        let who = bench.admin.clone();
        if write {
            for number in 0..20 {
                bench.write(&who, &format!("fact {number}")).await;
            }
        }
        let token = search(&bench, &who, asks("fact", "lexical")).await.token;
        let query = SearchQuery { min_token: Some(token), ..asks("17", "dense") };
        let reply = search(&bench, &who, query).await;
        bench.engine.close();
        (texts(&reply)[0].clone(), reply.results.len())
    };
    let first = Arc::new(Digits::default());
    assert_eq!(run(&first, true).await, ("fact 17".to_owned(), 20));
    assert_eq!(count(&first), 20);
    let again = Arc::new(Digits::default());
    assert_eq!(run(&again, false).await, ("fact 17".to_owned(), 20));
    assert_eq!(count(&again), 0, "kept vectors were made again");
    let other = Arc::new(Digits { model: Some("digits of another kind"), ..Digits::default() });
    assert_eq!(run(&other, false).await, ("fact 17".to_owned(), 20));
    assert_eq!(count(&other), 20, "another model's vectors were taken for its own");
}

/// Every fault of a search is named at once, and nothing is looked up.
#[tokio::test]
async fn faults_are_named_by_their_path() {
    let bench = bench(&Arc::new(Digits::default()));
    let check = async |query: SearchQuery, paths: &[&str]| {
        let refusal = bench.engine.search(&bench.admin, query).await.unwrap_err();
        let found: Vec<&str> = refusal.errors.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(found, paths);
    };
    let plain = || asks("a query", "hybrid");
    check(SearchQuery { k: Some(0), without: vec!["sense".into()], ..plain() }, &["/k", "/without/0"]).await;
    check(SearchQuery { layers: vec!["semantic".into(), "x".into()], ..plain() }, &["/layers/1"]).await;
    check(SearchQuery { diversity: Some(f64::NAN), ..plain() }, &["/diversity"]).await;
    check(SearchQuery { vector: Some(vec![1.0; 3]), ..plain() }, &["/vector"]).await;
    check(SearchQuery { vector: Some(vec![f32::NAN; DIMENSIONS]), ..plain() }, &["/vector"]).await;
    check(SearchQuery { vector: Some(vec![0.0; DIMENSIONS]), ..plain() }, &["/vector"]).await;
    check(SearchQuery { query: None, ..plain() }, &["/query"]).await;
    check(asks(" ", "lexical"), &["/query"]).await;
    check(asks("a query", "sideways"), &["/mode"]).await;
    check(SearchQuery { query: None, vector: Some(vec![1.0; DIMENSIONS]), ..asks("", "graph") }, &["/query"])
        .await;
}

/// GOV-12.3: precision is the share of what was retrieved that was used; an unknown search, or another's, is not found.
#[tokio::test]
async fn outcomes_are_noted_once_for_what_was_found() {
    let bench = bench(&Arc::new(Digits::default()));
    let (ana, ben) = (bench.member("ana").await, bench.member("ben").await);
    let ids = [bench.write(&ana, "note 1").await.id, bench.write(&ana, "note 2").await.id];
    let reply = search(&bench, &ana, asks("note", "lexical")).await;
    let report = |used: &[&str]| OutcomeReport {
        search: reply.search.to_string(),
        used: used.iter().map(|id| (*id).to_owned()).collect(),
        success: Some(true),
    };
    let first = ids[0].unwrap().to_string();
    let noted = bench.engine.report_outcome(&ana, report(&[&first])).await.unwrap();
    assert_eq!((noted.retrieved, noted.used, noted.precision), (2, 1, 0.5));
    let again = bench.engine.report_outcome(&ana, report(&[&first])).await.unwrap();
    assert_eq!(again, noted);
    let refused =
        async |who: &Call, report: OutcomeReport| bench.engine.report_outcome(who, report).await.unwrap_err();
    assert_eq!(refused(&ana, report(&[])).await.code, Code::OutcomeKnown);
    assert_eq!(refused(&ben, report(&[&first])).await.code, Code::NotFound);
    assert_eq!(
        refused(&ana, OutcomeReport { search: "sch_none".into(), ..report(&[]) }).await.code,
        Code::NotFound
    );
    let hidden = bench.write(&ben, "note 3").await.id.unwrap().to_string();
    let other = search(&bench, &ana, asks("note", "lexical")).await.search.to_string();
    let foreign = refused(&ana, OutcomeReport { search: other, ..report(&[&hidden]) }).await;
    assert_eq!(foreign.errors[0].path, "/used/0");
}
