//! `serve`: the server itself.

mod banner;

use crate::Context;
use anyhow::Context as _;
use banner::Banner;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use tabellion_server::config::{
    EmbeddingFlags, GovernanceFlags, LogFlags, LogFormat, LogLevel, TlsFlags, WritePolicy, address,
};
use tabellion_server::models::Provider;
use tabellion_server::{Config, Flags, Secrets};
use tokio::sync::oneshot;

/// Start a server: REST, gRPC and MCP on one port
///
/// The first start makes the data directory, a tenant and its admin, and prints the admin's key once; TABELLION_ADMIN_KEY
/// gives one instead. On a later start a new value there makes a new key for that admin, so that a lost key is no dead end; a
/// value that was revoked stays revoked. TABELLION_MASTER_KEY (64 hex digits) keeps the key under which all is sealed out of the data
/// directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion serve --data data
  tabellion serve --data data --embedder minilm --model model
  tabellion serve --data data --listen 0.0.0.0:7600 --tls-cert cert.pem --tls-key key.pem
  tabellion config > tabellion.toml; tabellion serve --config tabellion.toml

A flag wins over the environment (TABELLION_LISTEN, TABELLION_LIMITS__K_MAX, …), and that over the file.")]
pub(crate) struct Serve {
    /// The data directory, made if it is not there (default: data)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address and port; port 0 lets the system choose (default: 127.0.0.1:7600)
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The configuration file; `tabellion config` prints one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The certificate, with those that vouch for it, as PEM
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// What turns texts into vectors (default: auto, which takes MiniLM if its files are there)
    #[arg(long, value_name = "MODEL", value_parser = ["auto", "minilm", "http", "hashed", "none"])]
    embedder: Option<String>,
    /// The folder with the files of MiniLM (default: model)
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// How strict the write path is, unless a policy of the tenant says otherwise (default: standard)
    #[arg(long, value_name = "POLICY", value_parser = ["open", "standard", "strict"])]
    policy: Option<String>,
    /// How log lines on stderr look
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "text"])]
    log_format: Option<String>,
    /// How much is logged
    #[arg(long, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    log_level: Option<String>,
    /// Start although a part of the data was lost, and record the loss in the log
    #[arg(long)]
    accept_loss: bool,
    /// Take the time from POST /v1/test-clock; for tests
    #[arg(long)]
    test_clock: bool,
}

pub(super) fn run(args: Serve, context: &Context) -> anyhow::Result<ExitCode> {
    let (file, accept_loss) = (args.config.clone(), args.accept_loss);
    let config = Config::load(file.as_deref(), &flags(args))?;
    let secrets = Secrets { accept_loss, ..Secrets::from_env()? };
    let banner = Banner::new(&config, secrets.admin_key.is_some());
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    runtime.block_on(async {
        let (ready, is_ready) = oneshot::channel();
        let serving = tokio::spawn(tabellion_server::serve(config, secrets, ready));
        if let Ok(ready) = is_ready.await {
            // A server goes on without someone who reads its banner.
            let _unread = banner.show(&ready, &context.output);
        }
        serving.await
    })??;
    Ok(ExitCode::SUCCESS)
}

fn flags(args: Serve) -> Flags {
    let log = LogFlags {
        format: args.log_format.map(|word| if word == "text" { LogFormat::Text } else { LogFormat::Json }),
        level: args.log_level.map(|word| match word.as_str() {
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "debug" => LogLevel::Debug,
            "trace" => LogLevel::Trace,
            _ => LogLevel::Info,
        }),
    };
    let embedding = EmbeddingFlags {
        provider: args.embedder.map(|word| match word.as_str() {
            "minilm" => Provider::Minilm,
            "http" => Provider::Http,
            "hashed" => Provider::Hashed,
            "none" => Provider::None,
            _ => Provider::Auto,
        }),
        folder: args.model,
    };
    let tls = TlsFlags { cert: args.tls_cert, key: args.tls_key };
    let governance = GovernanceFlags { policy: args.policy.as_deref().and_then(WritePolicy::from_word) };
    let (data, listen) = (args.data, args.listen);
    Flags { data, listen, tls, log, embedding, governance, test_clock: args.test_clock }
}
