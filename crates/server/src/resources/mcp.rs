//! One tool of an MCP server, over streamable HTTP.
//!
//! The least that the protocol asks for: `initialize`, `notifications/initialized`, `tools/call`, each a POST of its own,
//! with the session that the server names, if it names one. The answer may come as JSON or as a stream of events. Sampling,
//! elicitation, progress and resumption are not offered.

use super::{Address, read};
use serde_json::{Map, Value, json};
use tabellion_engine::ports::{CallError, Callable};

const VERSION: &str = "2025-06-18";
const SESSION: &str = "mcp-session-id";
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A tool.
pub(crate) struct McpTool {
    address: Address,
    tool: String,
}

impl McpTool {
    pub(crate) const fn new(address: Address, tool: String) -> Self {
        Self { address, tool }
    }

    /// Says hello; the session, if the server keeps one, and the version that it speaks.
    fn initialize(&self) -> Result<(Option<String>, String), CallError> {
        let us = json!({"name": "tabellion", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": us});
        let response = self.address.send(&request(1, "initialize", &params), &[ACCEPT])?;
        let session =
            response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let result = answered(&read(response)?, 1)?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or(VERSION).to_owned();
        Ok((session, version))
    }
}

impl Callable for McpTool {
    fn call(&self, args: &Map<String, Value>) -> Result<Value, CallError> {
        let (session, version) = self.initialize()?;
        let mut headers = vec![ACCEPT, ("mcp-protocol-version", version.as_str())];
        headers.extend(session.as_deref().map(|session| (SESSION, session)));
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        read(self.address.send(&ready, &headers)?)?;
        let params = json!({"name": self.tool, "arguments": args});
        let response = self.address.send(&request(2, "tools/call", &params), &headers)?;
        given(answered(&read(response)?, 2)?)
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The result of the request with this number, in a JSON body or among events.
fn answered(bytes: &[u8], id: u64) -> Result<Value, CallError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CallError::Nonsense("its answer is not UTF-8"))?;
    let whole = serde_json::from_str::<Value>(text).ok();
    let mut message =
        whole.into_iter().chain(events(text)).find(|message| message.get("id") == Some(&json!(id)));
    let message = message.as_mut().ok_or(CallError::Nonsense("no answer of JSON-RPC to what was asked"))?;
    if let Some(error) = message.get("error") {
        let words = error.get("message").and_then(Value::as_str).unwrap_or_default();
        return Err(CallError::Refused(words.to_owned()));
    }
    message
        .get_mut("result")
        .map(Value::take)
        .ok_or(CallError::Nonsense("an answer of JSON-RPC without a result"))
}

/// The messages in a stream of server-sent events.
fn events(text: &str) -> impl Iterator<Item = Value> {
    let normal = text.replace("\r\n", "\n");
    let blocks: Vec<String> = normal.split("\n\n").map(data).collect();
    blocks.into_iter().filter_map(|data| serde_json::from_str(&data).ok())
}

fn data(event: &str) -> String {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// What a tool gave: its structured content, else its texts.
fn given(mut result: Value) -> Result<Value, CallError> {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    if result.get("isError") == Some(&json!(true)) {
        return Err(CallError::Refused(text));
    }
    match result.get_mut("structuredContent").map(Value::take) {
        Some(structured) if !structured.is_null() => Ok(structured),
        _ => Ok(json!({"text": text})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-26: an answer counts in both forms of the transport, and only the one to what was asked.
    #[test]
    fn an_answer_is_found_in_json_and_among_events() {
        let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#;
        let other = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        let stream = format!("event: message\r\ndata: {other}\r\n\r\nid: 7\r\ndata: {answer}\r\n\r\n");
        for text in [answer.to_owned(), stream] {
            assert_eq!(answered(text.as_bytes(), 2), Ok(json!({"a": 1})), "{text}");
            assert!(answered(text.as_bytes(), 1).is_err());
        }
        let refused = br#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"unknown tool"}}"#;
        assert_eq!(answered(refused, 2), Err(CallError::Refused("unknown tool".to_owned())));
        for nonsense in ["", "<html>", "[]", r#"{"id":2}"#, "data: {\n\n"] {
            assert!(matches!(answered(nonsense.as_bytes(), 2), Err(CallError::Nonsense(_))), "{nonsense}");
        }
    }

    #[test]
    fn a_tool_gives_structure_or_text() {
        let text = json!([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]);
        assert_eq!(given(json!({"content": text})), Ok(json!({"text": "a\nb"})));
        assert_eq!(given(json!({"content": [], "structuredContent": {"x": 1}})), Ok(json!({"x": 1})));
        let refused = json!({"content": text, "isError": true});
        assert_eq!(given(refused), Err(CallError::Refused("a\nb".to_owned())));
    }
}
