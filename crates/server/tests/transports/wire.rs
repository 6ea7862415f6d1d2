//! What each transport has of its own.

use crate::agree::Transport;
use crate::grpc::{Grpc, refusal, refusal_json, with_key, write_request, written_json};
use crate::mcp::{Mcp, request};
use crate::rest::Rest;
use crate::server::Server;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use tabellion_server::grpc::proto::import_reply::Outcome;
use tabellion_server::grpc::proto::{GetRequest, WriteRequest};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// SHARE-28: identity in a body or in arguments is refused; in gRPC there is no place for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_says_who_they_are() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let (rest, mcp) = (Rest(server.connect().await), Mcp(server.connect().await));
    for name in ["user", "agent_id", "tenant", "owner"] {
        let body = json!({"text": "a", name: "ben"});
        for outcome in
            [rest.write(&tenant.ana, body.clone()).await, mcp.write(&tenant.ana, body.clone()).await]
        {
            assert_eq!(outcome.code(), "IDENTITY_IN_BODY", "{name}");
        }
    }
    drop((rest, mcp));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_answers_in_order() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let grpc = Grpc(server.connect().await);
    let texts: Vec<String> = (0..200).map(|n| format!("Statement {n}")).collect();
    let requests: Vec<WriteRequest> = (0..200)
        .map(|n| match n {
            50 => write_request(&json!({"text": "a", "confidence": 2.0})),
            51 => WriteRequest { text: Some("x".repeat(2 << 19)), ..Default::default() },
            _ => write_request(&json!({"text": texts[n]})),
        })
        .collect();
    let asked = with_key(&tenant.ana, futures::stream::iter(requests));
    let mut replies = grpc.client().import(asked).await.unwrap().into_inner();
    let mut seen = 0;
    while let Some(reply) = replies.message().await.unwrap() {
        match (seen, reply.outcome.unwrap()) {
            (50, Outcome::Refused(refused)) => {
                assert_eq!(refusal_json(refused)["errors"][0]["path"], "/confidence")
            }
            (51, Outcome::Refused(refused)) => assert_eq!(refused.code, "TOO_LARGE"),
            (place, Outcome::Written(written)) => {
                let written = written_json(written);
                let item = grpc.get(&tenant.ana, written["id"].as_str().unwrap(), None).await;
                assert_eq!(item.text("text"), texts[place], "{place}");
            }
            (place, other) => panic!("{place}: {other:?}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 200);

    let refused = grpc.client().import(with_key("tab_wrong", futures::stream::iter([]))).await.unwrap_err();
    assert_eq!(refusal(&refused)["code"], "UNAUTHENTICATED");
    drop(grpc);
    server.stop().await;
}

/// An import is cut off where it passes its limit, and its key where it is revoked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_has_an_end() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let (grpc, rest) = (Grpc(server.connect().await), Rest(server.connect().await));

    let blank = std::iter::repeat_n(WriteRequest::default(), 10_005);
    let asked = with_key(&tenant.ana, futures::stream::iter(blank));
    let mut replies = grpc.client().import(asked).await.unwrap().into_inner();
    let mut seen = 0;
    let ended = loop {
        match replies.message().await {
            Ok(reply) => assert!(reply.is_some(), "ended without a word after {seen}"),
            Err(status) => break status,
        }
        seen += 1;
    };
    assert_eq!((seen, refusal(&ended)["code"].as_str()), (10_000, Some("TOO_LARGE")));

    let (more, requests) = tokio::sync::mpsc::channel(1);
    let asked = with_key(&tenant.ana, tokio_stream::wrappers::ReceiverStream::new(requests));
    let mut replies = grpc.client().import(asked).await.unwrap().into_inner();
    more.send(write_request(&json!({"text": "before"}))).await.unwrap();
    assert!(matches!(replies.message().await.unwrap().unwrap().outcome, Some(Outcome::Written(_))));
    rest.call(Method::DELETE, &format!("/v1/keys/{}", tenant.ana_key), &tenant.admin, Value::Null).await;
    more.send(write_request(&json!({"text": "after"}))).await.unwrap();
    match replies.message().await.unwrap().unwrap().outcome {
        Some(Outcome::Refused(refused)) => assert_eq!(refused.code, "UNAUTHENTICATED"),
        other => panic!("{other:?}"),
    }
    drop((more, replies, grpc, rest));
    server.stop().await;
}

/// What tonic itself finds wrong is refused by the table of docs/api.md too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_messages_are_refused_like_any_other() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let connection = server.connect().await;
    let send = async |key: &str, path: &str, message: &[u8]| {
        let length = u32::try_from(message.len()).unwrap();
        let frame = [&[0][..], &length.to_be_bytes(), message].concat();
        let request = Request::builder().method("POST").uri(connection.url(path));
        let request = request.header(header::CONTENT_TYPE, "application/grpc").header("te", "trailers");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        let answer = connection.send(request.body(Body::from(frame)).unwrap()).await;
        let text = |name: &str| answer.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (text("grpc-status").unwrap_or_default(), text("tabellion-code").unwrap_or_default())
    };
    let get = "/tabellion.v1.Tabellion/Get";
    let told = |status: &str, code: &str| (status.to_owned(), code.to_owned());
    assert_eq!(send(&tenant.ana, get, &[0xff, 0xff, 0xff]).await, told("3", "MALFORMED"));
    assert_eq!(send(&tenant.ana, get, &vec![0; (2 << 20) + 1]).await, told("8", "TOO_LARGE"));
    assert_eq!(send("tab_wrong", get, &[]).await, told("16", "UNAUTHENTICATED"));
    assert_eq!(send(&tenant.ana, get, &[]).await, told("5", "NOT_FOUND"));
    assert_eq!(send(&tenant.ana, "/tabellion.v1.Tabellion/Drop", &[]).await, told("12", ""));
    assert_eq!(send(&tenant.ana, "/tabellion.v1.Gate/Judge", &[]).await, told("12", ""));
    drop(connection);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_and_reflection_are_open_and_nothing_else_is() {
    let server = Server::start().await;
    let grpc = Grpc(server.connect().await);
    let (channel, origin) = grpc.channel();
    let mut health = HealthClient::with_origin(channel.clone(), origin.clone());
    for (service, expected) in
        [("", Ok(1)), ("tabellion.v1.Tabellion", Ok(1)), ("nobody", Err(Code::NotFound))]
    {
        let answer = health.check(HealthCheckRequest { service: service.to_owned() }).await;
        assert_eq!(answer.map(|reply| reply.into_inner().status).map_err(|status| status.code()), expected);
    }
    let mut reflection = ServerReflectionClient::with_origin(channel, origin);
    let asked = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut replies =
        reflection.server_reflection_info(futures::stream::iter([asked])).await.unwrap().into_inner();
    let Some(MessageResponse::ListServicesResponse(listed)) =
        replies.message().await.unwrap().unwrap().message_response
    else {
        panic!("no list")
    };
    let names: Vec<&str> = listed.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["tabellion.v1.Tabellion", "tabellion.v1.Gate", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let refused = grpc.client().get(GetRequest::default()).await.unwrap_err();
    assert_eq!(
        (refused.code(), refusal(&refused)["code"].as_str()),
        (Code::Unauthenticated, Some("UNAUTHENTICATED"))
    );
    drop((grpc, health, reflection, replies));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_mcp_client_finds_its_way() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let mcp = Mcp(server.connect().await);
    let ask = async |method: &str, params: Value| mcp.ask(&tenant.ana, method, params).await.value();

    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = ask("initialize", client).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    assert_eq!(hello["result"]["serverInfo"]["name"], "tabellion");
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("Search it before"));
    let told = mcp.post(&tenant.ana, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(told.status, StatusCode::ACCEPTED);
    let tools = ask("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 24);

    let code = async |method: &str, params: Value| ask(method, params).await["error"]["code"].as_i64();
    assert_eq!(code("tools/call", json!({"name": "drop_items", "arguments": {}})).await, Some(-32602));
    assert_eq!(code("tools/call", json!({"name": "get_item", "arguments": []})).await, Some(-32602));
    assert_eq!(code("tools/call", json!({})).await, Some(-32602));
    assert_eq!(code("memory/drop", json!({})).await, Some(-32601));
    for (message, expected) in [("{", -32700), ("[]", -32600), (r#"{"jsonrpc":"2.0","id":1}"#, -32600)] {
        let answer = mcp.post(&tenant.ana, message).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(answer.value()["error"]["code"], expected, "{message}");
    }

    let unauthenticated = mcp.ask("tab_wrong", "tools/list", json!({})).await;
    assert_eq!(unauthenticated.status, StatusCode::UNAUTHORIZED);
    assert_eq!(unauthenticated.headers[header::WWW_AUTHENTICATE], "Bearer");
    assert_eq!(unauthenticated.value()["code"], "UNAUTHENTICATED");
    drop(mcp);
    server.stop().await;
}

/// A web page cannot reach the memory through the browser of somebody who runs a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_hosts_and_origins_are_refused() {
    let server = Server::start().await;
    let tenant = server.tenant("acme").await;
    let connection = server.connect().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let here = || request(&connection.url("/mcp"), &tenant.ana, list.clone());

    assert_eq!(connection.send(here()).await.status, StatusCode::OK);
    let mut loose = here();
    loose.headers_mut().insert(header::ACCEPT, "*/*".parse().unwrap());
    assert_eq!(connection.send(loose).await.status, StatusCode::OK);
    let foreign = request("http://rebound.example/mcp", &tenant.ana, list.clone());
    assert_eq!(connection.send(foreign).await.status, StatusCode::FORBIDDEN);
    let mut page = here();
    page.headers_mut().insert(header::ORIGIN, "https://page.example".parse().unwrap());
    assert_eq!(connection.send(page).await.status, StatusCode::FORBIDDEN);
    let mut watch = here();
    *watch.method_mut() = Method::GET;
    assert_eq!(connection.send(watch).await.status, StatusCode::METHOD_NOT_ALLOWED);
    drop(connection);
    server.stop().await;
}
