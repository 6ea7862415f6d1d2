//! `mcp`: the Model Context Protocol over stdin and stdout, for programs that start their servers themselves.
//!
//! With a data directory this process is the server. Without, it relays to a running one: a message a line from stdin goes
//! to `/mcp` over HTTP, and each message that comes back is a line on stdout. Nothing else is printed there.

use crate::Context;
use crate::client::{Ask, Client, header};
use crate::failure::{Failure, Line as Complaint};
use crate::lines::Lines;
use crate::output::Output;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tabellion_core::error::Code;
use tabellion_engine::ports::{SystemClock, SystemEntropy};
use tabellion_engine::{AuditReads, Engine, EngineLimits, Options};
use tabellion_server::config::EmbeddingFlags;
use tabellion_server::{Config, Flags, Secrets, Trusted};
use tabellion_store::DataDir;
use tokio::runtime::Runtime;

/// The longest message that is taken.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";
/// Where a message says its protocol version itself, since sessions are gone (2026-07-28).
const PROTOCOL_IN_MESSAGE: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

const PARSE_ERROR: i32 = -32700;
const SERVER_ERROR: i32 = -32000;

/// Speak MCP over stdin and stdout
///
/// For programs that start their tools themselves. It relays to a running server, with the key of TABELLION_KEY; with --data
/// it opens a data directory itself, and no server may hold it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion mcp
  tabellion mcp --data data
  tabellion mcp --data data --model model

In the settings of an MCP client:
  {\"mcpServers\": {\"memory\": {\"command\": \"tabellion\", \"args\": [\"mcp\"], \"env\": {\"TABELLION_KEY\": \"tab_…\"}}}}")]
pub(crate) struct Mcp {
    /// Open this data directory instead of asking a server
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The folder with the files of MiniLM (default: model, here or beside the data directory)
    #[arg(long, value_name = "DIR", requires = "data")]
    model: Option<PathBuf>,
}

pub(super) fn run(args: &Mcp, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.data {
        Some(data) => serve(data, args.model.clone(), context),
        None => {
            let client = context.client()?;
            let mut relay = Relay { client: &client, output: &context.output, session: None, protocol: None };
            let mut lines = Lines::of(Box::new(std::io::stdin().lock()), MESSAGE_BYTES_MAX);
            while let Some(line) = lines.next_line()? {
                relay.pass(line.text.as_deref().unwrap_or_default())?;
            }
            relay.end();
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// This process is the server, for one client.
fn serve(data: &Path, model: Option<PathBuf>, context: &Context) -> anyhow::Result<ExitCode> {
    let secrets = Secrets::from_env()?;
    let given = context.api_key.clone().or_else(|| secrets.admin_key.clone());
    if given.is_none() && DataDir::at(data).tenants().is_ok_and(|tenants| !tenants.is_empty()) {
        bail!("{} is there already: set TABELLION_KEY to a key of it", data.display());
    }
    let embedding = EmbeddingFlags { folder: model, ..EmbeddingFlags::default() };
    let flags = Flags { data: Some(data.to_owned()), embedding, ..Flags::default() };
    let config = Config::load(None, &flags)?;
    let trusted = Trusted::open(&config.identity)?;
    let runtime = Runtime::new().context("cannot start threads")?;
    let advisers = config.advisers(&secrets, runtime.handle())?;
    let embedding = config.embedding.beside(data);
    let embedder = embedding.open(secrets.embedding_key)?;
    if let Some(shortfall) = embedding.shortfall(embedder.as_deref()) {
        context.output.complain(&Complaint::Hint(shortfall));
    }
    let options = Options {
        embedder,
        data: Some(data.to_owned()),
        master_key: secrets.master_key,
        admin_key: secrets.admin_key,
        accept_loss: false,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        limits: EngineLimits::default(),
        audit_reads: AuditReads::default(),
        governance: tabellion_engine::Governance {
            knowledge: config.governance.facts()?,
            ..config.engine_governance()
        },
        advisers,
    };
    let _within = runtime.enter();
    let equipment = config.equipment(secrets.orchestrator_key)?;
    let (engine, first_start) = Engine::open(options)?;
    engine.equip(equipment);
    trusted.by(&engine, runtime.handle());
    let key = match first_start {
        Some(first) => {
            let made = format!("first start: the admin's key, shown this once, is {}", first.admin_key);
            context.output.complain(&Complaint::Hint(made));
            first.admin_key
        }
        None => given.unwrap_or_default(),
    };
    let served = runtime.block_on(tabellion_server::mcp::stdio(engine.clone(), &key));
    engine.close();
    served?;
    Ok(ExitCode::SUCCESS)
}

struct Relay<'a> {
    client: &'a Client,
    output: &'a Output,
    session: Option<String>,
    protocol: Option<String>,
}

impl Relay<'_> {
    /// Passes one message on, and what comes back. Only a lost stdout ends it: a client may go on after an error.
    fn pass(&mut self, text: &[u8]) -> anyhow::Result<()> {
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return self.say(&error(
                &Value::Null,
                PARSE_ERROR,
                "not a JSON message, or a longer one than 4 MiB",
                None,
            ));
        };
        match self.exchange(text, &message) {
            Ok(()) => Ok(()),
            Err(problem) => match problem.downcast::<Failure>() {
                Ok(failure) => self.fail(&message, &failure),
                Err(other) => Err(other),
            },
        }
    }

    fn exchange(&mut self, text: &[u8], message: &Value) -> anyhow::Result<()> {
        let response = self.client.send(self.ask(message).body("application/json", text.to_vec()))?;
        if let Some(session) = header(&response, SESSION) {
            self.session = Some(session);
        }
        let status = response.status().as_u16();
        if header(&response, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let events = BufReader::new(response.into_body().into_reader());
            return self.events(events);
        }
        let text = self.client.read(response)?;
        match serde_json::from_str::<Value>(&text) {
            Ok(answer) if answer.get("jsonrpc").is_some() || answer.is_array() => {
                self.receive(&text, &answer)
            }
            _ if (200..300).contains(&status) => Ok(()),
            parsed => Err(Failure::refused(status, text, parsed.unwrap_or_default(), None, true).into()),
        }
    }

    fn ask(&self, message: &Value) -> Ask<'static> {
        let mut ask = Ask::new("POST", "/mcp").header("accept", "application/json, text/event-stream").long();
        if let Some(session) = &self.session {
            ask = ask.header(SESSION, session);
        }
        let own = message.pointer(PROTOCOL_IN_MESSAGE).and_then(Value::as_str);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        match own.or(self.protocol.as_deref()) {
            Some(protocol) if method != "initialize" => ask = ask.header(PROTOCOL, protocol),
            _ => {}
        }
        if own.is_some() {
            let name =
                message.pointer("/params/name").or(message.pointer("/params/uri")).and_then(Value::as_str);
            ask = ask.header("mcp-method", method);
            if let Some(name) = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic())) {
                ask = ask.header("mcp-name", name);
            }
        }
        ask
    }

    /// Server-sent events: the `data` of each is a message.
    fn events(&mut self, events: impl BufRead) -> anyhow::Result<()> {
        let mut data = String::new();
        for line in events.lines() {
            let line = line.map_err(|cause| Failure::unreachable(self.client.url(), cause.into()))?;
            if let Some(part) = line.strip_prefix("data:") {
                data.push_str(part.strip_prefix(' ').unwrap_or(part));
            } else if line.is_empty() && !data.is_empty() {
                if let Ok(message) = serde_json::from_str(&data) {
                    self.receive(&data, &message)?;
                }
                data.clear();
            }
        }
        Ok(())
    }

    /// Passes a message on as it came, unless it came on several lines.
    fn receive(&mut self, text: &str, message: &Value) -> anyhow::Result<()> {
        if let Some(protocol) = message.pointer("/result/protocolVersion").and_then(Value::as_str) {
            self.protocol = Some(protocol.to_owned());
        }
        let text = text.trim();
        if text.contains('\n') { self.say(message) } else { Ok(self.output.line(text)?) }
    }

    fn say(&self, message: &Value) -> anyhow::Result<()> {
        Ok(self.output.line(message)?)
    }

    /// A request gets an error for an answer; a notification has none, so a person is told.
    fn fail(&self, message: &Value, failure: &Failure) -> anyhow::Result<()> {
        self.output.complain(&Complaint::Error(format!("{}: {failure}", failure.code())));
        match message.get("id") {
            Some(id) if message.get("method").is_some() => {
                let kind =
                    Code::ALL.iter().find(|code| code.as_str() == failure.code()).map(|code| code.kind());
                let number = kind.map_or(SERVER_ERROR, tabellion_server::status::json_rpc);
                self.say(&error(id, number, &failure.to_string(), Some(failure.code())))
            }
            _ => Ok(()),
        }
    }

    fn end(&self) {
        if let Some(session) = &self.session {
            // The server forgets a session by itself; this only makes it sooner.
            let _sooner = self.client.send(Ask::new("DELETE", "/mcp").header(SESSION, session));
        }
    }
}

fn error(id: &Value, number: i32, message: &str, code: Option<&str>) -> Value {
    let mut error = json!({"code": number, "message": message});
    super::set(&mut error, "data", code.map(|code| json!({"code": code})));
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}
