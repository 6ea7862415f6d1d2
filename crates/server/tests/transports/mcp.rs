//! The operations as MCP tools over HTTP.

use crate::agree::{Outcome, Transport};
use crate::server::{Answer, Connection};
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

pub(crate) struct Mcp(pub(crate) Connection);

impl Mcp {
    /// Sends any message, as a client of the protocol does.
    pub(crate) async fn post(&self, key: &str, message: impl Into<String>) -> Answer {
        self.0.send(request(&self.0.url("/mcp"), key, message.into())).await
    }

    pub(crate) async fn ask(&self, key: &str, method: &str, params: Value) -> Answer {
        self.post(key, json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string())
            .await
    }

    async fn tool(&self, key: &str, name: &str, arguments: Value) -> Outcome {
        let answer = self.ask(key, "tools/call", json!({"name": name, "arguments": arguments})).await;
        if answer.status != StatusCode::OK {
            return Outcome::Refused(answer.value());
        }
        let message = answer.value();
        let result = &message["result"];
        assert_eq!(message["id"], 7, "{message}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()), "{message}");
        let body = result["structuredContent"].clone();
        if result["isError"] == true { Outcome::Refused(body) } else { Outcome::Done(body) }
    }
}

pub(crate) fn request(url: &str, key: &str, message: String) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri(url)
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .body(Body::from(message))
        .unwrap()
}

impl Transport for Mcp {
    async fn write(&self, key: &str, body: Value) -> Outcome {
        self.tool(key, "write_item", body).await
    }

    async fn get(&self, key: &str, id: &str, as_of: Option<&str>) -> Outcome {
        self.tool(key, "get_item", json!({"id": id, "as_of": as_of})).await
    }

    async fn list(&self, key: &str, limit: u64) -> Outcome {
        self.tool(key, "list_items", json!({"limit": limit})).await
    }

    async fn versions(&self, key: &str, id: &str) -> Outcome {
        self.tool(key, "item_versions", json!({"id": id})).await
    }

    async fn search(&self, key: &str, query: &str, k: u64) -> Outcome {
        self.tool(key, "search_items", json!({"query": query, "k": k, "mode": "lexical"})).await
    }

    async fn retract(&self, key: &str, id: &str, reason: &str) -> Outcome {
        self.tool(key, "retract_item", json!({"id": id, "reason": reason})).await
    }

    async fn rollback(&self, key: &str, id: &str, version: Option<&str>) -> Outcome {
        self.tool(key, "rollback_item", json!({"id": id, "version": version})).await
    }

    async fn pin(&self, key: &str, id: &str) -> Outcome {
        self.tool(key, "pin_item", json!({"id": id})).await
    }

    async fn unpin(&self, key: &str, id: &str) -> Outcome {
        self.tool(key, "unpin_item", json!({"id": id})).await
    }

    async fn whoami(&self, key: &str) -> Outcome {
        self.tool(key, "whoami", json!({})).await
    }
}
