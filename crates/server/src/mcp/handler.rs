//! What the protocol asks of a server: to say what it is, to list its tools, to run one.
//!
//! A refusal is a tool's result, with `isError`, so that the model sees it and can act on it. Only what is wrong with the
//! protocol itself is a JSON-RPC error.

use super::operations::{self, Answer};
use super::text;
use super::tools::{INSTRUCTIONS, ToolName};
use crate::guard::Patience;
use crate::refusal::RefusalBody;
use crate::status;
use axum::http::request::Parts;
use futures::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use tabellion_core::canonical::hex;
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::ports::{Entropy, SystemEntropy};
use tabellion_engine::{Call, Engine};
use tokio::io::{AsyncRead, AsyncWrite};

static TOOLS: LazyLock<Vec<Tool>> =
    LazyLock::new(|| ToolName::ALL.into_iter().map(ToolName::describe).collect());

/// Why serving over stdio ended early.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The key is not accepted.
    #[error("{0}")]
    Refused(Refusal),
    /// The client does not speak MCP, or the pipe broke.
    #[error("MCP over stdin and stdout failed: {0}")]
    Transport(String),
}

/// One client's view of the memory.
#[derive(Clone)]
pub(super) struct Handler {
    engine: Engine,
    credential: Credential,
}

/// Where a call's credential is.
#[derive(Clone)]
enum Credential {
    /// With each request; `envelope::admit` has accepted it.
    Request,
    /// In the environment.
    Environment(Arc<str>),
}

/// Serves one client until it leaves.
pub(super) async fn serve(
    handler: Handler,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    line_bytes_max: usize,
) -> Result<(), StdioError> {
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(line_bytes_max);
    let running = match rmcp::serve_server(handler, transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Transport(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|error| StdioError::Transport(error.to_string()))
}

impl Handler {
    pub(super) const fn over_http(engine: Engine) -> Self {
        Self { engine, credential: Credential::Request }
    }

    pub(super) fn over_stdio(engine: Engine, key: String) -> Self {
        Self { engine, credential: Credential::Environment(key.into()) }
    }

    /// Who calls, asked anew each time.
    async fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Call, Refusal> {
        match &self.credential {
            Credential::Request => {
                let call = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Call>());
                call.cloned().ok_or_else(|| Refusal::new(Code::Internal, "no credential was asked for"))
            }
            Credential::Environment(key) => {
                let caller = self.engine.recognise(key).await?;
                let request_id = Some(hex(&<dyn Entropy>::bytes::<16>(&SystemEntropy)));
                Ok(Call { caller, request_id, trace: None })
            }
        }
    }

    /// Runs a tool. rmcp would leave the client waiting for ever for a call that panicked.
    async fn run(&self, call: &Call, tool: ToolName, arguments: JsonObject) -> Result<Answer, Refusal> {
        let answered = operations::run(&self.engine, call, tool, arguments);
        let broke =
            |_logged_by_the_hook| Err(Refusal::new(Code::Internal, "something broke here; the log has more"));
        AssertUnwindSafe(answered).catch_unwind().await.unwrap_or_else(broke)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let us = Implementation::new("tabellion", env!("CARGO_PKG_VERSION")).with_title("Tabellion");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(us)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolName::from_word(&request.name) else { return Err(unknown_tool(&request.name)) };
        let call = match self.caller(&context).await {
            Ok(call) => call,
            Err(refusal) => return Ok(refused(refusal, None).into()),
        };
        if tool.may_wait() {
            grant_patience(&context);
        }
        let answered = self.run(&call, tool, request.arguments.unwrap_or_default()).await;
        let result = answered.map_or_else(|refusal| refused(refusal, call.request_id.as_deref()), accepted);
        Ok(result.into())
    }

    /// What rmcp could not read as a request that it knows ends up here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            return Err(invalid("tools/call takes {\"name\": a tool's name, \"arguments\": an object}"));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no such method: {}", request.method), None))
    }
}

/// Lets a write take as long as a person needs. Over stdio nothing limits it.
fn grant_patience(context: &RequestContext<RoleServer>) {
    let parts = context.extensions.get::<Parts>();
    if let Some(patience) = parts.and_then(|parts| parts.extensions.get::<Arc<Patience>>()) {
        patience.grant();
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    let known: Vec<&str> = ToolName::ALL.iter().map(|tool| tool.as_str()).collect();
    let name: String = name.chars().take(64).collect();
    invalid(format!("unknown tool {name:?}; the tools are {}", known.join(", ")))
}

fn invalid(message: impl Into<String>) -> ErrorData {
    ErrorData::new(ErrorCode(status::json_rpc(Code::SchemaInvalid.kind())), message.into(), None)
}

fn accepted(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::structured(answer.body);
    result.content = vec![ContentBlock::text(answer.text)];
    result
}

fn refused(refusal: Refusal, request_id: Option<&str>) -> CallToolResult {
    let text = text::refused(&refusal);
    let body = serde_json::to_value(RefusalBody::new(refusal, Some(request_id.unwrap_or_default())))
        .unwrap_or_default();
    let mut result = CallToolResult::structured_error(body);
    result.content = vec![ContentBlock::text(text)];
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tabellion_core::gate::Strictness;
    use tabellion_engine::ports::{Advisers, ManualClock, SeededEntropy};
    use tabellion_engine::{AuditReads, EngineLimits, Governance, Options};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

    const KEY: &str = "tab_admin_of_these_tests";

    fn engine() -> Engine {
        let options = Options {
            data: None,
            master_key: None,
            admin_key: Some(KEY.to_owned()),
            accept_loss: false,
            clock: Arc::new(ManualClock::at("2026-11-15T00:00:00Z".parse().unwrap())),
            entropy: Arc::new(SeededEntropy::new(7)),
            limits: EngineLimits::default(),
            embedder: None,
            audit_reads: AuditReads::Sync,
            governance: Governance { strictness: Strictness::Open, ..Governance::default() },
            advisers: Advisers::default(),
        };
        Engine::open(options).unwrap().0
    }

    /// The other end of the pipe.
    struct Client {
        read: BufReader<ReadHalf<DuplexStream>>,
        write: WriteHalf<DuplexStream>,
    }

    impl Client {
        fn of(handler: Handler) -> (Self, tokio::task::JoinHandle<Result<(), StdioError>>) {
            let (here, there) = tokio::io::duplex(64 << 10);
            let (read, write) = tokio::io::split(there);
            let served = tokio::spawn(serve(handler, read, write, 64 << 10));
            let (read, write) = tokio::io::split(here);
            (Self { read: BufReader::new(read), write }, served)
        }

        async fn tell(&mut self, message: Value) {
            self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }

        async fn ask(&mut self, method: &str, params: Value) -> Value {
            self.tell(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
            let mut line = String::new();
            self.read.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }

        async fn whoami(&mut self) -> Value {
            self.ask("tools/call", json!({"name": "whoami", "arguments": {}})).await["result"].take()
        }
    }

    /// SHARE-28: over stdio the key of the environment says who acts, and only for as long as it lives.
    #[tokio::test]
    async fn a_revoked_key_stops_at_once() {
        let engine = engine();
        let admin = Call { caller: engine.authenticate(KEY).unwrap(), request_id: None, trace: None };
        let user = engine.create_user(&admin, "ana", None).await.unwrap();
        let key = engine.create_key(&admin, Some(&user.name), None, None).await.unwrap();
        let (mut client, served) = Client::of(Handler::over_stdio(engine.clone(), key.secret));

        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(client.ask("initialize", hello).await["result"]["serverInfo"]["name"], "tabellion");
        client.tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(client.whoami().await["structuredContent"]["user"]["name"], "ana");

        engine.revoke_key(&admin, &key.key.id.to_string()).await.unwrap();
        let refused = client.whoami().await;
        assert_eq!(
            (&refused["isError"], &refused["structuredContent"]["code"]),
            (&json!(true), &json!("UNAUTHENTICATED"))
        );
        assert!(refused["content"][0]["text"].as_str().unwrap().starts_with("refused, UNAUTHENTICATED: "));

        drop(client);
        served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_says_nothing_may_leave() {
        let (client, served) = Client::of(Handler::over_stdio(engine(), KEY.to_owned()));
        drop(client);
        served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_wrong_key_is_told_before_anything_is_served() {
        let refused = super::super::stdio(engine(), "tab_wrong").await.unwrap_err();
        assert!(matches!(refused, StdioError::Refused(refusal) if refusal.code == Code::Unauthenticated));
    }
}
