//! Questions for several agents, with a model and resources that a test makes up.
#![allow(clippy::unwrap_used, reason = "a failure is a panic")]

mod support;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Bench, open};
use tabellion_core::error::Code;
use tabellion_core::orchestrate::{NO_ANSWER, ROUNDS_MAX, Stopped};
use tabellion_core::schema::Arguments;
use tabellion_engine::ports::{CallError, Callable, Chat, JudgeError};
use tabellion_engine::reply::{AskQuery, AskReply, EdgeTerms};
use tabellion_engine::{AskLimits, Call, Configured, Equipment, How};

/// A model that says one thing after the other, and then nothing.
struct Script(Mutex<Vec<&'static str>>);

impl Chat for Script {
    fn say(&self, _: &str, document: &Value) -> Result<String, JudgeError> {
        let mut lines = self.0.lock();
        match document.get("agents") {
            Some(_) if !lines.is_empty() => Ok(lines.remove(0).to_owned()),
            _ => Err(JudgeError::Slow),
        }
    }
}

/// A service that counts how often it is called.
struct Counted(AtomicUsize);

impl Callable for Counted {
    fn call(&self, _: &Map<String, Value>) -> Result<Value, CallError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(json!({"answer": "Steel costs 5 EUR"}))
    }
}

struct World {
    bench: Bench,
    ana: Call,
    service: Arc<Counted>,
}

/// A person with one agent, `market`, that knows about metals and may use one service.
async fn world(lines: &[&'static str]) -> World {
    let bench = open(None, 3);
    let service = Arc::new(Counted(AtomicUsize::new(0)));
    let args = Arguments::compile(json!({"type": "object", "required": ["query"]})).unwrap();
    let how = How::Outside(Arc::clone(&service) as Arc<dyn Callable>);
    let resources = vec![Configured { tenant: None, name: "prices".to_owned(), kind: "http", args, how }];
    let chat = Arc::new(Script(Mutex::new(lines.to_vec()))) as Arc<dyn Chat>;
    bench.engine.equip(Equipment {
        enabled: true,
        resources,
        chat: Some(chat),
        limits: AskLimits::default(),
    });
    let (engine, admin) = (&bench.engine, &bench.admin);
    let specialisation = Some("what steel and copper cost".to_owned());
    engine.create_agent(admin, "market", specialisation, false).await.unwrap();
    engine.create_resource(admin, "prices", None, None).await.unwrap();
    let ana = bench.member("ana").await;
    engine.grant(admin, ("ua", "ana", "market"), EdgeTerms::default()).await.unwrap();
    engine.grant(admin, ("ar", "market", "prices"), EdgeTerms::default()).await.unwrap();
    World { bench, ana, service }
}

async fn ask(world: &World) -> AskReply {
    let query = AskQuery { query: "What does steel cost?".to_owned(), ..AskQuery::default() };
    world.bench.engine.ask(&world.ana, query).await.unwrap()
}

/// SHARE-23, 24: without words of a model the question is answered by rules, once called and then remembered.
#[tokio::test(flavor = "multi_thread")]
async fn rules_answer_where_the_model_is_silent() {
    let world = world(&[]).await;
    let first = ask(&world).await;
    assert_eq!((first.answer.as_str(), first.stopped), ("Steel costs 5 EUR", Stopped::Complete));
    let again = ask(&world).await;
    assert_eq!((again.usage.resource_calls, again.usage.hits_private), (0, 1));
    assert_eq!(world.service.0.load(Ordering::Relaxed), 1);
}

/// SHARE-23: a coordinator that never ends is ended.
#[tokio::test(flavor = "multi_thread")]
async fn eight_rounds_are_the_most() {
    let line = r#"{"agent":"market","subquery":"What does steel cost?"}"#;
    let world = world(&[line; 20]).await;
    let reply = ask(&world).await;
    assert_eq!((reply.stopped, reply.turns.len()), (Stopped::Rounds, ROUNDS_MAX));
    assert_eq!(world.service.0.load(Ordering::Relaxed), 1, "memory comes first");
}

/// SHARE-23: nobody who is not theirs is asked, whatever the coordinator says.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_be_asked_is_not_asked() {
    let world =
        world(&[r#"{"agent":"legal","subquery":"x"}"#, r#"{"agent":"direct","subquery":"x"}"#, "COMPLETE"])
            .await;
    world.bench.engine.create_agent(&world.bench.admin, "legal", None, false).await.unwrap();
    let reply = ask(&world).await;
    assert_eq!((reply.answer.as_str(), reply.turns.len()), (NO_ANSWER, 0));
}

/// SHARE-26: a person has no resources of their own, and hidden looks like missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_needs_an_edge() {
    let world = world(&[]).await;
    for name in ["prices", "no-such"] {
        let refused = world.bench.engine.call_resource(&world.ana, name, Map::new(), None).await.unwrap_err();
        assert_eq!(refused.code, Code::NotFound);
    }
    assert_eq!(world.service.0.load(Ordering::Relaxed), 0);
}
