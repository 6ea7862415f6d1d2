//! Held and kept writes, policies, schemas, and what is done about an agent.

use crate::server::Server;
use axum::http::header;
use serde_json::{Value, json};

/// A statement of a layer that needs evidence and a person, with evidence.
fn founded(text: &str) -> Value {
    let source = json!({"source_type": "human_input", "source_uri": "chat://1", "excerpt": text,
        "accessed_at": "2026-11-15T00:00:00Z"});
    json!({"text": text, "layer": "semantic", "evidence": [source]})
}

impl Server {
    /// An agent that writes for a user.
    async fn agent(&self, user: &str, name: &str) -> Self {
        self.post("/v1/agents", json!({"name": name})).await.expect(201);
        self.caller(&self.post("/v1/keys", json!({"user": user, "agent": name})).await.expect(201))
    }

    async fn held(&self, text: &str) -> String {
        let held = self.post("/v1/items", founded(text)).await.expect(202);
        assert_eq!((&held["status"], &held["errors"]), (&json!("deferred"), &json!([])), "{held}");
        assert!(held.get("id").is_none() && held.get("token").is_none(), "{held}");
        held["pending_id"].as_str().unwrap().to_owned()
    }
}

/// GOV-6.4, GOV-6.6: a held write is listed, read, and decided on by a person, once, about what they saw.
#[tokio::test]
async fn a_held_write_waits_for_a_person() {
    let server = Server::start();
    let (ana, ben) = (server.member("ana").await, server.member("ben").await);
    let bot = server.agent("ana", "bot").await;
    let id = bot.held("The crane lifts 40 tons").await;
    let path = format!("/v1/reviews/{id}");
    let review = ana.get(&path).await.expect(200);
    assert_eq!(ana.get("/v1/reviews?state=pending").await.expect(200)["reviews"], json!([review]));
    assert_eq!(
        (&review["state"], &review["item"]["text"]),
        (&json!("pending"), &json!("The crane lifts 40 tons"))
    );
    assert_eq!(review["factors"].as_array().unwrap().len(), 6);
    assert_eq!((&review["overdue"], &review["approvals_min"]), (&json!(false), &json!(1)));
    ben.get(&path).await.refused(404, "NOT_FOUND");
    assert_eq!(ben.get("/v1/reviews").await.expect(200), json!({"reviews": []}));
    ana.get("/v1/reviews?state=lost").await.fault_at("/query/state", "CONSTRAINT_VIOLATION");

    let decide = format!("{path}:decide");
    let yes = |hash: &Value| json!({"decision": "approve", "reason": "seen", "content_hash": hash});
    bot.post(&decide, yes(&review["content_hash"])).await.refused(403, "HUMAN_REQUIRED");
    ben.post(&decide, yes(&review["content_hash"])).await.refused(404, "NOT_FOUND");
    ana.post(&decide, yes(&json!("0".repeat(64)))).await.refused(409, "VERSION_CONFLICT");
    ana.post(&decide, json!({"decision": "maybe", "reason": "x"}))
        .await
        .fault_at("/decision", "CONSTRAINT_VIOLATION");
    ana.post(&decide, json!({"decision": "approve"})).await.fault_at("/reason", "MISSING_REQUIRED_FIELD");
    ana.post(&decide, json!({"decision": "approve", "reason": " "}))
        .await
        .fault_at("/reason", "CONSTRAINT_VIOLATION");
    let made = ana.post(&decide, yes(&review["content_hash"])).await.expect(200);
    assert_eq!(made["status"], "committed");
    ana.post(&decide, yes(&review["content_hash"])).await.refused(409, "REVIEW_DECIDED");
    let closed = ana.get(&path).await.expect(200);
    assert_eq!((&closed["state"], &closed["version"]), (&json!("approved"), &made["version"]));
    assert_eq!((&closed["decision"], &closed["reason"]), (&json!("approved"), &json!("seen")));
    let record = bot.get(&format!("/v1/items/{}/provenance", made["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(record["human_approval_state"], "approved");
    assert!(record["fact_score"].is_number() && record["adjusted_confidence"].is_number(), "{record}");
}

/// GOV-6.7: a no is told to the author, and an author may change or take back what waits.
#[tokio::test]
async fn a_held_write_is_refused_changed_or_taken_back() {
    let server = Server::start();
    let ana = server.member("ana").await;
    let bot = server.agent("ana", "bot").await;
    let refused = bot.held("The quay is 90 metres long").await;
    let no = json!({"decision": "reject", "reason": "it is 80", "category": "FACTUAL_ERROR"});
    let answer = ana.post(&format!("/v1/reviews/{refused}:decide"), no).await.expect(200);
    assert_eq!(answer, json!({"status": "rejected"}));
    let feedback = bot.get("/v1/agents/bot/feedback").await.expect(200);
    assert_eq!(feedback["rejections"][0]["id"], json!(refused));
    assert_eq!(feedback["rejections"][0]["decision"], "rejected_as_false");
    assert_eq!(
        feedback["decided"][1],
        json!({"layer": "semantic", "approved": 0, "rejected": 1}),
        "{feedback}"
    );
    ana.get("/v1/agents/nobody/feedback").await.refused(404, "NOT_FOUND");

    let first = bot.held("The lock opens at dawn").await;
    let path = format!("/v1/reviews/{first}");
    let changed = bot.raw("PUT", &path, founded("The lock opens at six").to_string()).await.expect(202);
    let second = changed["pending_id"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    assert_eq!(ana.get(&format!("/v1/reviews/{first}")).await.expect(200)["state"], "withdrawn");
    let taken = ana.raw("DELETE", &format!("/v1/reviews/{second}"), "").await.expect(200);
    assert_eq!(taken, json!({"status": "withdrawn", "id": second}));
    bot.raw("DELETE", &format!("/v1/reviews/{second}"), "").await.refused(409, "REVIEW_DECIDED");
}

/// GOV-1.6, D3: a refused write is kept for its author and nobody else, and can be opened again.
#[tokio::test]
async fn a_refused_write_is_kept_for_its_author() {
    let server = Server::start();
    let (_, ben) = (server.member("ana").await, server.member("ben").await);
    let ana = server.agent("ana", "bot").await;
    let body = json!({"text": "The mast is high", "layer": "semantic"});
    let refused = ana.post("/v1/items", body.clone()).await;
    refused.refused(422, "EVIDENCE_NOT_INDEPENDENT");
    let id = refused.json()["refusal_id"].as_str().unwrap().to_owned();
    let kept = ana.get(&format!("/v1/writes/{id}")).await.expect(200);
    assert_eq!((&kept["state"], &kept["write"]), (&json!("refused"), &body));
    assert_eq!((&kept["gate"], &kept["code"]), (&json!("factual"), &json!("EVIDENCE_NOT_INDEPENDENT")));
    assert_eq!(ana.get("/v1/writes").await.expect(200)["writes"], json!([kept]));
    assert_eq!(ben.get("/v1/writes").await.expect(200)["writes"], json!([]));
    ben.get(&format!("/v1/writes/{id}")).await.refused(404, "NOT_FOUND");
    ben.raw("POST", &format!("/v1/writes/{id}:reopen"), "").await.refused(404, "NOT_FOUND");
    ana.raw("POST", &format!("/v1/writes/{id}:reopen"), "").await.refused(422, "EVIDENCE_NOT_INDEPENDENT");

    let line = ana.raw("POST", "/v1/items:batch", body.to_string()).await.lines();
    assert_eq!((&line[0]["status"], &line[0]["gate"]), (&json!("rejected"), &json!("factual")));
    assert!(line[0]["refusal_id"].is_string() && line[0].get("request_id").is_none(), "{}", line[0]);
    let line =
        ana.raw("POST", "/v1/items:batch", founded("The mast is 30 metres high").to_string()).await.lines();
    assert_eq!(line[0]["status"], "deferred", "{}", line[0]);
    assert!(line[0]["pending_id"].as_str().unwrap().starts_with("rev_"));
}

/// GOV-2.1, GOV-11.9: policies, schemas and suspensions are set by admins alone.
#[tokio::test]
async fn what_people_set_is_listed() {
    let server = Server::start();
    let ana = server.member("ana").await;
    let bot = server.agent("ana", "bot").await;
    let policy = json!({"kind": "write_path", "strictness": "strict", "namespace": "canon"});
    ana.raw("PUT", "/v1/policies/canon", policy.to_string()).await.refused(403, "FORBIDDEN");
    assert!(
        server.raw("PUT", "/v1/policies/canon", policy.to_string()).await.expect(200)["token"].is_string()
    );
    server.raw("PUT", "/v1/policies/x", r#"{"kind":"weather"}"#).await.refused(422, "SCHEMA_INVALID");
    server.raw("PUT", "/v1/policies/A", policy.to_string()).await.refused(422, "SCHEMA_INVALID");
    let listed = server.get("/v1/policies").await.expect(200);
    let expected = json!({"id": "canon", "kind": "write_path", "strictness": "strict", "namespace": "canon"});
    assert_eq!(listed, json!({"policies": [expected]}));
    assert_eq!(
        ana.get("/v1/policies").await.expect(200),
        json!({"policies": []}),
        "her own, of which there is none"
    );
    bot.get("/v1/policies").await.refused(403, "FORBIDDEN");
    let lax = json!({"text": "a", "namespace": "canon", "write_policy": "open"});
    ana.post("/v1/items", lax).await.refused(403, "POLICY_TOO_LAX");

    let schema = json!({"kind": "port", "document": {"required": ["key"]}});
    assert!(server.raw("PUT", "/v1/schemas", schema.to_string()).await.expect(200)["token"].is_string());
    assert_eq!(server.get("/v1/schemas").await.expect(200), json!({"schemas": [schema]}));
    ana.post("/v1/items", json!({"text": "8080", "kind": "port"})).await.refused(422, "SCHEMA_INVALID");

    ana.post("/v1/agents/bot:suspend", json!({"reason": "odd"})).await.refused(403, "FORBIDDEN");
    server.post("/v1/agents/bot:suspend", json!({})).await.fault_at("/reason", "MISSING_REQUIRED_FIELD");
    server.post("/v1/agents/bot:suspend", json!({"reason": "odd"})).await.expect(200);
    bot.post("/v1/items", json!({"text": "b"})).await.refused(403, "WRITES_SUSPENDED");
    server.post("/v1/agents/bot:resume", json!({"reason": "fine"})).await.expect(200);
    bot.post("/v1/items", json!({"text": "b"})).await.expect(201);
    server.post("/v1/agents/nobody:resume", json!({"reason": "x"})).await.refused(404, "NOT_FOUND");
    server.get("/v1/agents/bot").await.expect(200);
    server.post("/v1/agents/bot", json!({})).await.refused(405, "METHOD_NOT_ALLOWED");
    let read = server.get("/v1/agents/bot:suspend").await;
    read.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(read.headers[header::ALLOW], "POST");
}

/// GOV-11.10: what is suspect is hidden and shown again, and what an agent wrote is taken back.
#[tokio::test]
async fn what_went_wrong_is_hidden_or_taken_back() {
    let server = Server::start();
    let _ana = server.member("ana").await;
    let bot = server.agent("ana", "bot").await;
    let written = bot.write("a suspect note").await;
    let derived = json!({"text": "a conclusion", "derived_from": [written["version"]]});
    let derived = bot.post("/v1/items", derived).await.expect(201);
    let path = format!("/v1/items/{}", written["id"].as_str().unwrap());
    let hidden = bot.post(&format!("{path}:quarantine"), json!({"reason": "odd"})).await.expect(200);
    assert_eq!((&hidden["status"], &hidden["dependents"]), (&json!("quarantined"), &json!([derived["id"]])));
    bot.get(&path).await.refused(404, "NOT_FOUND");
    assert_eq!(bot.raw("POST", &format!("{path}:release"), "").await.expect(200)["status"], "released");
    bot.get(&path).await.expect(200);
    bot.post(&format!("{path}:quarantine"), json!({"reason": "x".repeat(1025)}))
        .await
        .fault_at("/reason", "CONSTRAINT_VIOLATION");

    let period = json!({"since": "2026-11-15T00:00:00Z", "reason": "odd", "dry_run": true});
    let planned = bot.post("/v1/agents/bot:revert", period).await.expect(200);
    assert_eq!((&planned["retracted"], &planned["dry_run"]), (&json!(0), &json!(true)), "{planned}");
    assert_eq!(planned["written"].as_array().unwrap().len(), 2);
    bot.get(&path).await.expect(200);
    let bad =
        bot.post("/v1/agents/bot:revert", json!({"since": "then", "until": "soon", "reason": "x"})).await;
    bad.fault_at("/since", "CONSTRAINT_VIOLATION");
    bad.fault_at("/until", "CONSTRAINT_VIOLATION");
    let done = bot.post("/v1/agents/bot:revert", json!({"since": "2026-11-15T00:00:00Z", "reason": "odd"}));
    assert_eq!(done.await.expect(200)["retracted"], 2);
    bot.get(&path).await.refused(404, "NOT_FOUND");
}
