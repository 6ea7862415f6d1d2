//! What is told three times.

use crate::agree::{Outcome, Story, Transport};
use crate::grpc::Grpc;
use crate::mcp::Mcp;
use crate::rest::Rest;
use crate::server::{Server, Tenant};
use axum::http::Method;
use serde_json::{Value, json};

/// An id of nothing.
const NOTHING: &str = "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa";

fn statement() -> Value {
    json!({
        "text": "Port 8080 serves the API", "key": "API port", "confidence": 0.8, "tags": ["api"],
        "classification": "public", "domains": ["ops"],
        "triple": {"subject": "api", "predicate": "port", "object": "8080"},
        "fields": {"port": 8080, "ratio": 0.5, "open": true, "session": "3"}, "resources": ["market_kb"],
        "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "excerpt": "port 8080",
            "accessed_at": "2026-11-15T00:00:00Z"}]
    })
}

async fn story(transport: &impl Transport, admin: &Rest, tenant: &Tenant) -> Story {
    let mut story = Story::default();
    let ana = tenant.ana.as_str();
    story.tell("who am I", &transport.whoami(ana).await);
    let (id, versions) = life_of_an_item(transport, ana, &mut story).await;
    refusals(transport, ana, (&id, &versions), &mut story).await;
    hidden_is_missing(transport, tenant, &mut story).await;
    let path = format!("/v1/keys/{}", tenant.ana_key);
    assert!(matches!(admin.call(Method::DELETE, &path, &tenant.admin, Value::Null).await, Outcome::Done(_)));
    let revoked = transport.whoami(ana).await;
    assert_eq!(revoked.code(), "UNAUTHENTICATED");
    story.tell("a revoked key", &revoked);
    story
}

/// Written, replayed, read, changed, found, pinned, rolled back, retracted; its id and versions.
async fn life_of_an_item(transport: &impl Transport, ana: &str, story: &mut Story) -> (String, [String; 2]) {
    let written = transport.write(ana, statement()).await;
    assert_eq!(written.text("status"), "committed");
    story.tell("write", &written);
    let (id, first) = (written.text("id"), written.text("version"));

    let replayed = transport.write(ana, statement()).await;
    assert_eq!((replayed.text("status"), replayed.text("id")), ("already_committed".to_owned(), id.clone()));
    story.tell("replay", &replayed);
    story.tell("get", &transport.get(ana, &id, None).await);

    let change =
        json!({"id": id, "text": "Port 9090 serves the API", "key": "API port", "expected_version": first});
    let updated = transport.write(ana, change).await;
    story.tell("update", &updated);
    let second = updated.text("version");
    story.tell("get the update", &transport.get(ana, &id, None).await);
    let before = transport.get(ana, &id, Some(&written.text("token"))).await;
    assert_eq!(before.text("text"), "Port 8080 serves the API");
    story.tell("get it as it stood", &before);
    story.tell("versions", &transport.versions(ana, &id).await);
    story.tell("search", &transport.search(ana, "which port serves the api", 5).await);
    story.tell("search for nothing that is there", &transport.search(ana, "giraffe", 5).await);

    let other = json!({"text": "The API is written in Rust", "layer": "semantic"});
    story.tell("write another", &transport.write(ana, other).await);
    story.tell("list one", &transport.list(ana, 1).await);
    story.tell("list", &transport.list(ana, 50).await);
    story.tell("pin", &transport.pin(ana, &id).await);
    story.tell("get the pinned", &transport.get(ana, &id, None).await);
    story.tell("unpin", &transport.unpin(ana, &id).await);

    story.tell("roll back what is not the head", &transport.rollback(ana, &id, Some(&first)).await);
    let back = transport.rollback(ana, &id, Some(&second)).await;
    assert_eq!(back.text("status"), "rolled_back_with_reactivation");
    story.tell("roll back", &back);
    let restored = transport.get(ana, &id, None).await;
    assert_eq!(restored.text("text"), "Port 8080 serves the API");
    story.tell("get what is back", &restored);

    story.tell("retract", &transport.retract(ana, &id, "wrong").await);
    assert_eq!(transport.get(ana, &id, None).await.code(), "NOT_FOUND");
    story.tell("get the retracted", &transport.get(ana, &id, None).await);
    story.tell("its versions", &transport.versions(ana, &id).await);
    story.tell("retract again", &transport.retract(ana, &id, "wrong").await);
    (id, [first, second])
}

async fn refusals(transport: &impl Transport, ana: &str, item: (&str, &[String; 2]), story: &mut Story) {
    let (gone, [first, _]) = item;
    let wrong = transport.whoami("tab_wrong").await;
    assert_eq!(wrong.code(), "UNAUTHENTICATED");
    story.tell("a wrong key", &wrong);
    story.tell("a wrong key writes", &transport.write("tab_wrong", statement()).await);

    let invalid =
        transport.write(ana, json!({"text": "a", "confidence": 1.5, "layer": "deep", "tags": [" "]})).await;
    assert_eq!(invalid.code(), "SCHEMA_INVALID");
    story.tell("three faults", &invalid);
    story.tell("no text", &transport.write(ana, json!({"key": "a"})).await);
    story.tell(
        "unknown resource",
        &transport.write(ana, json!({"text": "a", "resources": ["nowhere"]})).await,
    );
    story.tell("update what is gone", &transport.write(ana, json!({"id": gone, "text": "a"})).await);
    story.tell("supersede nothing", &transport.write(ana, json!({"text": "a", "supersedes": NOTHING})).await);

    let again = transport.write(ana, json!({"text": "The API has 12 endpoints"})).await;
    let id = again.text("id");
    let stale = json!({"id": id, "text": "The API has 13 endpoints", "expected_version": first});
    let conflict = transport.write(ana, stale).await;
    assert_eq!(conflict.code(), "VERSION_CONFLICT");
    story.tell("a version that is not the head", &conflict);
    story.tell("too many results", &transport.search(ana, "api", 1_000).await);
    story.tell("a blank query", &transport.search(ana, " ", 5).await);
    story.tell("a token of somebody else", &transport.get(ana, &id, Some("abc")).await);
}

/// SHARE-41: what another owner has is answered like what nobody has, whatever is asked.
async fn hidden_is_missing(transport: &impl Transport, tenant: &Tenant, story: &mut Story) {
    let ana = tenant.ana.as_str();
    let foreign = transport.write(&tenant.ben, json!({"text": "Ben's salary is a secret"})).await.text("id");
    for id in [foreign.as_str(), NOTHING, "itm_x"] {
        let answers = [
            ("get", transport.get(ana, id, None).await),
            ("update", transport.write(ana, json!({"id": id, "text": "mine now"})).await),
            ("versions", transport.versions(ana, id).await),
            ("retract", transport.retract(ana, id, "mine").await),
            ("rollback", transport.rollback(ana, id, None).await),
            ("pin", transport.pin(ana, id).await),
            ("unpin", transport.unpin(ana, id).await),
        ];
        for (step, outcome) in &answers {
            let mut alone = Story::default();
            alone.tell(step, outcome);
            let missing = json!({"refused": {"code": "NOT_FOUND", "errors": [],
                "message": "no such item, or it is not visible to this caller"}});
            assert_eq!(alone.steps()[0].1, missing, "{step} {id}");
            story.tell(step, outcome);
        }
    }
    story.tell("search for what is hidden", &transport.search(ana, "salary secret", 5).await);
    assert_eq!(transport.get(&tenant.ben, &foreign, None).await.text("text"), "Ben's salary is a secret");
}

/// GOV-1.3, SHARE-28, SHARE-41: one engine behind three transports, which answer alike, refusals included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_grpc_and_mcp_agree() {
    let server = Server::start().await;
    let rest = Rest(server.connect().await);
    let grpc = Grpc(server.connect().await);
    let mcp = Mcp(server.connect().await);
    let tenants = [server.tenant("rest").await, server.tenant("grpc").await, server.tenant("mcp").await];
    let told = [
        story(&rest, &rest, &tenants[0]).await,
        story(&grpc, &rest, &tenants[1]).await,
        story(&mcp, &rest, &tenants[2]).await,
    ];
    let [rest_steps, grpc_steps, mcp_steps] = told.each_ref().map(Story::steps);
    assert!(rest_steps.len() > 40);
    for (place, (step, expected)) in rest_steps.iter().enumerate() {
        for (name, steps) in [("grpc", grpc_steps), ("mcp", mcp_steps)] {
            assert_eq!(&steps[place].0, step);
            assert_eq!(steps[place].1, *expected, "{name} says otherwise at step {place}: {step}");
        }
    }
    drop((rest, grpc, mcp));
    server.stop().await;
}
