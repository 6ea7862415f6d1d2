//! Random histories against a naive fold: what any past moment shows, and that rebuilt views equal incremental ones.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{Bench, open};
use tabellion_core::time::{Period, Timestamp};
use tabellion_engine::Call;

#[derive(Debug, Clone)]
enum Step {
    Write(u8),
    Update(usize, u8),
    Retract(usize),
    Rollback(usize),
    Pin(usize),
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let item = 0..6usize;
    prop_oneof![
        3 => any::<u8>().prop_map(Step::Write),
        4 => (item.clone(), any::<u8>()).prop_map(|(item, text)| Step::Update(item, text)),
        1 => item.clone().prop_map(Step::Retract),
        3 => item.clone().prop_map(Step::Rollback),
        1 => item.prop_map(Step::Pin),
        2 => (1..5000u16).prop_map(Step::Wait),
    ]
}

/// The naive model of one item: the texts under it, oldest first; the head is the last.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    /// For each item, the chain of texts that rolling back walks down; empty once gone.
    items: Vec<(String, Vec<String>)>,
}

impl Model {
    fn heads(&self) -> BTreeMap<String, String> {
        self.items.iter().filter_map(|(id, chain)| Some((id.clone(), chain.last()?.clone()))).collect()
    }
}

async fn take(bench: &Bench, who: &Call, model: &mut Model, step: &Step, serial: usize) {
    let live = |model: &Model, item: usize| {
        model.items.get(item).filter(|(_, chain)| !chain.is_empty()).map(|(id, _)| id.clone())
    };
    match step {
        Step::Write(text) => {
            let text = format!("text {text} {serial}");
            let written = bench.write(who, &text).await;
            model.items.push((written.id.unwrap().to_string(), vec![text]));
        }
        Step::Update(item, text) => {
            if let Some(id) = live(model, *item) {
                let text = format!("text {text} {serial}");
                bench.update(who, &id, &text).await;
                model.items[*item].1.push(text);
            }
        }
        Step::Retract(item) => {
            if let Some(id) = live(model, *item) {
                bench.engine.retract(who, &id, None).await.unwrap();
                model.items[*item].1.clear();
            }
        }
        Step::Rollback(item) => {
            if let Some(id) = live(model, *item) {
                bench.engine.rollback(who, &id, None, None).await.unwrap();
                model.items[*item].1.pop();
            }
        }
        Step::Pin(item) => {
            if let Some(id) = live(model, *item) {
                bench.engine.pin(who, &id, None).await.unwrap();
            }
        }
        Step::Wait(ms) => {
            bench.clock.set(Timestamp::from_micros(bench.now().as_micros() + u64::from(*ms) * 1000))
        }
    }
}

async fn heads_as_of(bench: &Bench, who: &Call, model: &Model, as_of: &str) -> BTreeMap<String, String> {
    let mut heads = BTreeMap::new();
    for (id, _) in &model.items {
        if let Ok(item) = bench.engine.get(who, id, Some(as_of)).await {
            heads.insert(id.clone(), item.content.text);
        }
    }
    heads
}

async fn play(steps: Vec<Step>, seed: u64) {
    let bench = open(None, seed);
    let ana = bench.member("ana").await;
    let mut model = Model::default();
    let mut past: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut by_time: BTreeMap<Timestamp, BTreeMap<String, String>> = BTreeMap::new();
    for (serial, step) in steps.iter().enumerate() {
        take(&bench, &ana, &mut model, step, serial).await;
        let token = bench
            .engine
            .search(
                &ana,
                tabellion_engine::reply::SearchQuery { query: Some("text".into()), ..Default::default() },
            )
            .await
            .unwrap()
            .token;
        past.push((token, model.heads()));
        by_time.insert(bench.now(), model.heads());
    }
    for (token, heads) in &past {
        assert_eq!(&heads_as_of(&bench, &ana, &model, token).await, heads);
    }
    for (time, heads) in &by_time {
        assert_eq!(&heads_as_of(&bench, &ana, &model, &time.to_string()).await, heads);
    }
}

/// 1,000 histories in every run, as the property demands; more in a soak.
fn cases() -> u32 {
    if std::env::var_os("TABELLION_SOAK").is_some() { 20_000 } else { 1_000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// GOV-5.1, GOV-5.5, SHARE-2: `as_of` at every point of a random history equals a naive fold of it.
    #[test]
    fn as_of_equals_a_naive_fold(steps in prop::collection::vec(step(), 1..14), seed in any::<u64>()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(play(steps, seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// GOV-5.7: closing, reopening from checkpoint and log, and rebuilding from the log alone give the same views.
    #[test]
    fn rebuilt_equals_incremental(steps in prop::collection::vec(step(), 1..40), more in prop::collection::vec(step(), 1..10), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut model = Model::default();
        let mut key: Option<String> = None;
        // Twice: the second round starts from the first one's checkpoint.
        for (round, steps) in [steps, more].into_iter().enumerate() {
            let bench = open(Some(folder.path()), seed.wrapping_add(round as u64));
            let ana = match &key {
                Some(key) => support::call(&bench.engine, key),
                None => runtime.block_on(async {
                    bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
                    let made = bench.engine.create_key(&bench.admin, Some("ana"), None, None).await.unwrap();
                    key = Some(made.secret.clone());
                    support::call(&bench.engine, &made.secret)
                }),
            };
            bench.pass(Period::from_secs(60 * (round as u64 + 1)));
            runtime.block_on(async {
                for (serial, step) in steps.iter().enumerate() {
                    take(&bench, &ana, &mut model, step, serial + 1000 * round).await;
                }
                let heads = heads_as_of(&bench, &ana, &model, &bench.now().to_string()).await;
                assert_eq!(heads, model.heads());
            });
            bench.engine.close();
            let options = tabellion_engine::offline::VerifyOptions { views: true, public_key: None };
            let found = tabellion_engine::offline::verify(folder.path(), None, options, &mut |_, _| {}).unwrap();
            prop_assert!(found.is_ok(), "{:?}", found);
        }
        let reopened = open(Some(folder.path()), 99);
        let ana = support::call(&reopened.engine, key.as_deref().unwrap());
        reopened.clock.set("2027-01-01T00:00:00Z".parse().unwrap());
        let heads = runtime.block_on(heads_as_of(&reopened, &ana, &model, "2027-01-01T00:00:00Z"));
        prop_assert_eq!(heads, model.heads());
    }
}
