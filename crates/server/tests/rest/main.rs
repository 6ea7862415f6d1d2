//! REST from outside the handlers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly"
)]

mod govern;
mod server;

use axum::body::{Body, Bytes};
use axum::http::{Request, header};
use serde_json::json;
use server::Server;
use tabellion_server::config::Limits;

#[tokio::test]
async fn unknown_paths_and_methods_have_the_one_shape() {
    let server = Server::start();
    server.get("/").await.refused(404, "NOT_FOUND");
    server.get("/v1/nothing").await.refused(404, "NOT_FOUND");
    server.get("/v1/items/itm_a/nothing").await.refused(404, "NOT_FOUND");
    let answer = server.raw("PATCH", "/v1/items", "").await;
    answer.refused(405, "METHOD_NOT_ALLOWED");
    let allowed = answer.headers[header::ALLOW].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn verbs_stand_behind_their_item() {
    let server = Server::start();
    let id = server.write("a").await["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/items/{id}");
    assert_eq!(server.raw("POST", &format!("{path}:pin"), "").await.expect(200)["status"], "pinned");
    assert_eq!(server.raw("POST", &format!("{path}%3Aunpin"), "{}").await.expect(200)["status"], "unpinned");
    server.post(&format!("{path}:paint"), json!({})).await.refused(404, "NOT_FOUND");
    let plain = server.post(&path, json!({})).await;
    plain.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(plain.headers[header::ALLOW], "GET,HEAD,PUT,PATCH,DELETE");
    let read = server.get(&format!("{path}:pin")).await;
    read.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(read.headers[header::ALLOW], "POST");
}

/// SHARE-28: no operation without a credential, and the body is not even looked at before.
#[tokio::test]
async fn the_credential_comes_first() {
    let server = Server::start();
    for (method, path) in
        [("POST", "/v1/items"), ("POST", "/v1/items:batch"), ("GET", "/v1/whoami"), ("POST", "/v1/users")]
    {
        let bare = Request::builder().method(method).uri(path).body(Body::from("{broken")).unwrap();
        let answer = server.send(bare).await;
        answer.refused(401, "UNAUTHENTICATED");
        assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Bearer");
    }
    let stranger = Server { key: "tab_unknown".into(), router: server.router.clone() };
    stranger.get("/v1/whoami").await.refused(401, "UNAUTHENTICATED");
    let who = server.get("/v1/whoami").await.expect(200);
    assert_eq!((&who["user"]["name"], &who["role"]), (&json!("admin"), &json!("admin")));
}

/// SHARE-28: an agent's own key identifies it, and does nothing else.
#[tokio::test]
async fn memory_operations_need_a_pair() {
    let server = Server::start();
    server.post("/v1/agents", json!({"name": "market"})).await.expect(201);
    let agent = server.caller(&server.post("/v1/keys", json!({"agent": "market"})).await.expect(201));
    agent.post("/v1/items", json!({"text": "a"})).await.refused(403, "PAIR_REQUIRED");
}

/// SHARE-28: identity in the body of a memory operation is refused, whatever the operation.
#[tokio::test]
async fn nobody_is_named_in_a_body() {
    let server = Server::start();
    let id = server.write("a").await["id"].as_str().unwrap().to_owned();
    let paths = [
        "/v1/items".to_owned(),
        "/v1/search".to_owned(),
        format!("/v1/items/{id}:rollback"),
        format!("/v1/items/{id}:pin"),
        format!("/v1/items/{id}:unpin"),
    ];
    for path in paths {
        let answer = server.post(&path, json!({"text": "a", "query": "a", "user": "ana"})).await;
        answer.refused(400, "IDENTITY_IN_BODY");
        answer.fault_at("/user", "IDENTITY_IN_BODY");
    }
    let put = server.raw("PUT", &format!("/v1/items/{id}"), r#"{"text":"b","agent_id":"x"}"#).await;
    put.refused(400, "IDENTITY_IN_BODY");
    let line = server.raw("POST", "/v1/items:batch", r#"{"text":"b","tenant":"x"}"#).await.lines();
    assert_eq!(line[0]["code"], "IDENTITY_IN_BODY");
}

#[tokio::test]
async fn bodies_are_read_under_limits() {
    let server = Server::with(Limits { body_bytes_max: 1000, ..Limits::default() });
    server.raw("POST", "/v1/items", "x".repeat(1001)).await.refused(413, "TOO_LARGE");
    server.raw("POST", "/v1/items", "{\"text\":").await.refused(400, "MALFORMED");
    assert!(
        server.raw("POST", "/v1/items", "{\"text\":").await.json()["message"]
            .as_str()
            .unwrap()
            .contains("line 1 column 8")
    );
    server.raw("POST", "/v1/items", &b"{\"text\":\"\xff\"}"[..]).await.refused(400, "MALFORMED");
    server.raw("POST", "/v1/items", "[]").await.refused(400, "MALFORMED");
    server.raw("POST", "/v1/search", "[\"a\"]").await.refused(400, "MALFORMED");
    server
        .raw("POST", "/v1/items", format!("{}1{}", "[".repeat(65), "]".repeat(65)))
        .await
        .refused(400, "TOO_DEEP");
    let none = server.raw("POST", "/v1/items", "").await;
    none.refused(422, "SCHEMA_INVALID");
    none.fault_at("/text", "MISSING_REQUIRED_FIELD");
    let search = server.post("/v1/search", json!({"query": "a", "colour": 1})).await;
    search.refused(422, "SCHEMA_INVALID");
    search.fault_at("/colour", "UNKNOWN_FIELD");
    server.post("/v1/search", json!({"query": 7})).await.fault_at("/query", "TYPE_MISMATCH");
    let mut typed = server.request("POST", "/v1/items", r#"{"text":"any content type will do"}"#);
    typed.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    server.send(typed).await.expect(201);
}

#[tokio::test]
async fn parameters_are_checked() {
    let server = Server::start();
    let answer = server.get("/v1/items?limit=many&colour=red").await;
    answer.refused(422, "SCHEMA_INVALID");
    answer.fault_at("/query/limit", "TYPE_MISMATCH");
    answer.fault_at("/query/colour", "UNKNOWN_FIELD");
    server.get("/v1/items?limit=501").await.fault_at("/query/limit", "CONSTRAINT_VIOLATION");
    server.get("/v1/items?layer=deep").await.fault_at("/query/layer", "CONSTRAINT_VIOLATION");
    server.get("/v1/whoami?x=1").await.fault_at("/query/x", "UNKNOWN_FIELD");
    server.get("/v1/proofs/inclusion").await.fault_at("/query/lsn", "MISSING_REQUIRED_FIELD");
    server.get("/v1/proofs/head?log=other").await.fault_at("/query/log", "CONSTRAINT_VIOLATION");
    let id = server.write("a").await["id"].as_str().unwrap().to_owned();
    server.get(&format!("/v1/items/{id}?as_of=tomorrow")).await.fault_at("/query/as_of", "TOKEN_INVALID");
    server.get("/v1/items/%ff").await.refused(400, "MALFORMED");
}

#[tokio::test]
async fn request_numbers_go_both_ways() {
    let server = Server::start();
    let mut request = server.request("GET", "/v1/nothing", "");
    request.headers_mut().insert("x-request-id", "my-7".parse().unwrap());
    assert_eq!(server.send(request).await.json()["request_id"], "my-7");
    let mut request = server.request("GET", "/v1/whoami", "");
    request.headers_mut().insert("x-request-id", "not fit".parse().unwrap());
    let given = server.send(request).await;
    assert_eq!(given.headers["x-request-id"].len(), 32);
    let row = server.get("/v1/audit?action=whoami").await.expect(200)["rows"][0].clone();
    assert_eq!(row["request_id"], given.headers["x-request-id"].to_str().unwrap());
}

#[tokio::test]
async fn an_item_is_written_read_changed_and_retracted() {
    let server = Server::start();
    let body = json!({"text": "Port 8080 serves the API", "key": "API port", "confidence": 0.8, "fields": {"session": "3"},
        "triple": {"subject": "api", "predicate": "port", "object": "8080"},
        "evidence": [{"source_type": "document", "source_uri": "doc://runbook", "accessed_at": "2026-11-15T00:00:00Z"}]});
    let first = server.post("/v1/items", body.clone()).await.expect(201);
    assert_eq!((&first["status"], &first["trust"]), (&json!("committed"), &json!("medium")));
    let again = server.post("/v1/items", body).await.expect(200);
    assert_eq!((&again["status"], &again["id"]), (&json!("already_committed"), &first["id"]));

    let path = format!("/v1/items/{}", first["id"].as_str().unwrap());
    let item = server.get(&path).await.expect(200);
    assert_eq!((&item["text"], &item["layer"]), (&json!("Port 8080 serves the API"), &json!("episodic")));
    assert_eq!((&item["triple"]["object"], &item["fields"]["session"]), (&json!("8080"), &json!("3")));
    assert_eq!(item["evidence"][0]["source_type"], "document");

    let second = server.raw("PUT", &path, r#"{"text":"Port 9090 serves the API"}"#).await.expect(201);
    assert_eq!(second["id"], first["id"]);
    let versions = server.get(&format!("{path}/versions")).await.expect(200);
    assert_eq!(versions["versions"].as_array().unwrap().len(), 2);
    let record = server.get(&format!("{path}/provenance")).await.expect(200);
    assert_eq!(record["version_id"], second["version"]);

    let found = server.post("/v1/search", json!({"query": "which port", "k": 5})).await.expect(200);
    assert_eq!(found["results"][0]["id"], first["id"]);
    assert!(found["results"][0]["score"].is_number() && found["token"].is_string());

    let back = server.raw("POST", &format!("{path}:rollback"), "").await.expect(200);
    assert_eq!(back["status"], "rolled_back_with_reactivation");
    assert_eq!(server.get(&path).await.expect(200)["text"], "Port 8080 serves the API");
    assert_eq!(
        server.raw("DELETE", &format!("{path}?reason=wrong"), "").await.expect(200)["status"],
        "retracted"
    );
    server.get(&path).await.refused(404, "NOT_FOUND");
    assert_eq!(server.get("/v1/items?limit=10").await.expect(200), json!({"items": [], "next": null}));
}

/// SHARE-41: hidden and missing give the same status, body and headers on every operation.
#[tokio::test]
async fn hidden_is_missing() {
    let server = Server::start();
    let (ana, ben) = (server.member("ana").await, server.member("ben").await);
    let hidden = ana.write("Ana's own note").await["id"].as_str().unwrap().to_owned();
    let missing = "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let operations = [
        ("GET", "", ""),
        ("GET", "/versions", ""),
        ("GET", "/provenance", ""),
        ("DELETE", "", ""),
        ("PUT", "", r#"{"text":"b"}"#),
        ("POST", ":rollback", "{}"),
        ("POST", ":pin", "{}"),
        ("POST", ":unpin", "{}"),
    ];
    for (method, suffix, body) in operations {
        let answer = async |id: &str| {
            let answer = ben.raw(method, &format!("/v1/items/{id}{suffix}"), body).await;
            answer.refused(404, "NOT_FOUND");
            let mut seen = answer.json();
            seen["request_id"].take();
            let mut headers = answer.headers.clone();
            headers.remove("x-request-id");
            (seen, headers)
        };
        assert_eq!(answer(&hidden).await, answer(missing).await, "{method} {suffix}");
        assert_eq!(answer("not-an-id").await.0, answer(missing).await.0, "{method} {suffix}");
    }
    let supersede = async |id: &str| {
        let mut answer = ben.post("/v1/items", json!({"text": "b", "supersedes": id})).await.json();
        answer["request_id"].take();
        answer
    };
    assert_eq!(supersede(&hidden).await, supersede(missing).await);
    assert_eq!(ben.post("/v1/search", json!({"query": "note"})).await.expect(200)["results"], json!([]));
}

#[tokio::test]
async fn a_batch_is_answered_line_by_line() {
    let server = Server::start();
    let body = "{\"text\":\"one\"}\n\n{\"text\":5}\n{broken\n{\"text\":\"one\"}\r\n{\"text\":\"six\"}";
    let answer = server.raw("POST", "/v1/items:batch", body).await;
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/x-ndjson");
    let lines = answer.lines();
    let seen: Vec<_> =
        lines.iter().map(|line| (line["line"].as_u64().unwrap(), line["status"].as_str().unwrap())).collect();
    assert_eq!(seen[..3], [(1, "committed"), (3, "rejected"), (4, "rejected")]);
    assert_eq!((seen[3].0, seen[4]), (5, (6, "committed")));
    assert_eq!(lines[3]["id"], lines[0]["id"], "the same write twice is one item");
    assert!(lines[0]["version"].is_string() && lines[0]["token"].is_string());
    assert_eq!((&lines[1]["code"], &lines[1]["gate"]), (&json!("SCHEMA_INVALID"), &json!("schema")));
    assert_eq!(lines[1]["errors"][0]["path"], "/text");
    assert_eq!(lines[2]["code"], "MALFORMED");
}

#[tokio::test]
async fn a_batch_has_limits() {
    let limits =
        Limits { batch_lines_max: 3, batch_line_bytes_max: 40, batch_bytes_max: 400, ..Limits::default() };
    let server = Server::with(limits);
    let five: String = (0..5).map(|n| format!("{{\"text\":\"line {n}\"}}\n")).collect();
    let lines = server.raw("POST", "/v1/items:batch", five).await.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[3]["line"], &lines[3]["code"]), (&json!(4), &json!("TOO_LARGE")));
    let long = format!("{{\"text\":\"{}\"}}\n{{\"text\":\"b\"}}\n", "a".repeat(50));
    let lines = server.raw("POST", "/v1/items:batch", long).await.lines();
    assert_eq!((&lines[0]["code"], &lines[1]["status"]), (&json!("TOO_LARGE"), &json!("committed")));
    let mut announced = server.request("POST", "/v1/items:batch", "x".repeat(500));
    announced.headers_mut().insert(header::CONTENT_LENGTH, 500.into());
    server.send(announced).await.refused(413, "TOO_LARGE");
}

#[tokio::test]
async fn a_large_batch_keeps_its_order() {
    let server = Server::start();
    let body: String = (0..2000).map(|n| format!("{{\"text\":\"fact number {n}\"}}\n")).collect();
    let lines = server.raw("POST", "/v1/items:batch", body).await.lines();
    assert_eq!(lines.len(), 2000);
    assert!(lines.iter().enumerate().all(|(n, line)| line["line"] == n + 1 && line["status"] == "committed"));
}

#[tokio::test]
async fn a_key_has_a_rate() {
    let server = Server::with(Limits { requests_per_second_max: 3, ..Limits::default() });
    for _ in 0..3 {
        server.get("/v1/whoami").await.expect(200);
    }
    let answer = server.get("/v1/whoami").await;
    answer.refused(429, "RATE_LIMITED");
    assert_eq!(answer.headers[header::RETRY_AFTER], "1");
    server.get("/healthz").await.expect(200);
}

fn endless() -> Body {
    Body::from_stream(futures::stream::pending::<Result<Bytes, std::convert::Infallible>>())
}

#[tokio::test]
async fn a_slow_request_is_cut_off() {
    let server = Server::with(Limits { request_seconds_max: 1, ..Limits::default() });
    server.raw("POST", "/v1/items", endless()).await.refused(504, "TIMEOUT");
}

#[tokio::test]
async fn a_slow_batch_is_cut_off_in_its_stream() {
    let server = Server::with(Limits { batch_seconds_max: 1, ..Limits::default() });
    let lines = server.raw("POST", "/v1/items:batch", endless()).await.lines();
    assert_eq!((&lines[0]["line"], &lines[0]["code"]), (&json!(1), &json!("TIMEOUT")));
}

#[tokio::test]
async fn a_full_server_sheds_and_can_still_be_watched() {
    let server = Server::with(Limits { in_flight_max: 1, request_seconds_max: 2, ..Limits::default() });
    let slow = server.raw("POST", "/v1/items", endless());
    let others = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let shed = server.get("/v1/whoami").await;
        shed.refused(503, "OVERLOADED");
        assert_eq!(shed.headers[header::RETRY_AFTER], "1");
        server.get("/healthz").await.expect(200);
        assert_eq!(server.get("/readyz").await.expect(200)["status"], "ready");
    };
    let (slow, ()) = tokio::join!(slow, others);
    slow.refused(504, "TIMEOUT");
    server.get("/v1/whoami").await.expect(200);
}

#[tokio::test]
async fn the_clock_cannot_be_set_without_the_flag() {
    let server = Server::start();
    let unknown = server.post("/v1/nothing", json!({})).await;
    let clock = server.post("/v1/test-clock", json!({"now": "2030-01-01T00:00:00Z"})).await;
    clock.refused(404, "NOT_FOUND");
    assert_eq!(clock.json()["message"], unknown.json()["message"]);
}

#[tokio::test]
async fn grpc_clients_get_their_own_refusals() {
    let server = Server::start();
    let mut request = server.request("POST", "/no.such.Service/Method", "");
    request.headers_mut().insert(header::CONTENT_TYPE, "application/grpc".parse().unwrap());
    let answer = server.send(request).await;
    assert_eq!((answer.status.as_u16(), answer.headers["grpc-status"].to_str().unwrap()), (200, "12"));
}

#[tokio::test]
async fn the_trail_and_proofs_are_for_auditors() {
    let server = Server::start();
    server.write("a").await;
    let rows = server.get("/v1/audit?limit=1").await.expect(200);
    assert!(rows["rows"][0]["lsn"].is_number() && rows["next"].is_string(), "{rows}");
    assert_eq!(server.raw("POST", "/v1/audit:verify", "").await.expect(200)["ok"], true);
    let head = server.get("/v1/proofs/head?log=memory").await.expect(200);
    assert_eq!(head["signature"].as_str().unwrap().len(), 128);
    let size = head["size"].as_u64().unwrap();
    let proof = server.get(&format!("/v1/proofs/inclusion?lsn=1&size={size}")).await.expect(200);
    assert_eq!(proof["root"], head["root"]);
    server.get(&format!("/v1/proofs/consistency?from=1&to={size}")).await.expect(200);
    let ana = server.member("ana").await;
    ana.get("/v1/proofs/head").await.refused(403, "FORBIDDEN");
    ana.get("/v1/users").await.refused(403, "FORBIDDEN");
    let own = ana.get("/v1/audit").await.expect(200);
    assert!(own["rows"].as_array().unwrap().iter().all(|row| row.get("lsn").is_none()));
}

/// Whatever the description lists is there, and asks for a credential unless it says otherwise.
#[tokio::test]
async fn everything_described_is_routed() {
    let server = Server::start();
    let description = server.get("/openapi.json").await.expect(200);
    assert_eq!(description["openapi"], "3.1.0");
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let path = path.replace("{id}", "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa");
            let request = Request::builder()
                .method(method.to_uppercase().as_str())
                .uri(&path)
                .body(Body::empty())
                .unwrap();
            let status = server.send(request).await.status.as_u16();
            let open = operation["security"] == json!([{}]);
            assert_eq!(status, if open { 200 } else { 401 }, "{method} {path}");
            assert!(
                operation["responses"][status.to_string()].is_object(),
                "{method} {path} does not tell of {status}"
            );
        }
    }
}
