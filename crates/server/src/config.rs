//! What can be set, and where does each setting come from?
//!
//! Defaults, then the file, then `TABELLION_*` from the environment, then flags: the later wins. Rules below this crate
//! receive small structs and never see a `Config`. Secrets are no part of it: they come from the environment alone, so
//! that a configuration can be shown to anyone.

mod advisers;
mod calibration;
mod chat;
mod governance;
mod identity;
mod misread;
mod names;
mod orchestrator;
mod secrets;
mod sharing;
mod tls;

pub use advisers::{Gate, JudgeModels};
pub use calibration::{Calibration, CalibrationMode};
pub use governance::{Governance, GovernanceFlags, WritePolicy};
pub use identity::Identity;
pub use names::address;
pub use orchestrator::{Orchestrator, ResourceAt, ResourceKind};
pub use secrets::Secrets;
pub use sharing::{ScribeModel, Sharing};
pub use tls::{Tls, TlsFlags};

use crate::models::{Embedding, Provider};
use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use names::is_setting;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tabellion_engine::{AuditReads, EngineLimits};

/// The commented file with every key and its default.
pub const DEFAULT_FILE: &str = include_str!("../tabellion.toml");

/// Environment variables begin with this; `__` stands between the parts of a key: `TABELLION_LIMITS__K_MAX`.
const ENV_PREFIX: &str = "TABELLION_";

/// The engine refuses a shorter one too, but cannot say where it came from.
const ADMIN_KEY_CHARS_MIN: usize = 16;

/// What could not be read or would not work, and what to set instead.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file or the environment says something else than a configuration.
    #[error("{0}")]
    Unreadable(String),
    /// The named file is not there.
    #[error("no configuration file at {}", .0.display())]
    NoFile(PathBuf),
    /// Credentials would cross a network in the clear.
    #[error(
        "{0} can be reached from other machines, and without TLS every credential would cross the network in the clear; \
         set tls.cert and tls.key (TABELLION_TLS__CERT, TABELLION_TLS__KEY) to PEM files, or listen on 127.0.0.1"
    )]
    OpenWithoutTls(SocketAddr),
    /// Half of a key pair.
    #[error("tls.cert and tls.key belong together: {0} is not set")]
    HalfTls(&'static str),
    /// An endpoint that is only half described.
    #[error("embedding.{0} must be set for embedding.provider = \"http\"")]
    Embedding(&'static str),
    /// The model that is wanted cannot be had.
    #[error("{0}")]
    Model(String),
    /// A limit of nothing.
    #[error("{0}.{1} must be at least 1")]
    NoRoom(&'static str, &'static str),
    /// An address that nothing can be sent to.
    #[error("governance.webhook_url must begin with http:// or https://, or be empty for none")]
    Webhook,
    /// Facts that cannot be had.
    #[error("governance.knowledge, {}: {}", .0.display(), .1)]
    Knowledge(PathBuf, String),
    /// Somebody outside who could not be asked.
    #[error("{0}")]
    Advisers(String),
    /// Tokens that could not be checked.
    #[error("{0}")]
    Identity(String),
    /// A secret of the environment that is none.
    #[error("TABELLION_MASTER_KEY must be 64 hex digits")]
    MasterKey,
    /// A secret of the environment that could be guessed.
    #[error(
        "TABELLION_ADMIN_KEY must have at least {ADMIN_KEY_CHARS_MIN} characters; give 256 random bits, or none and one is made"
    )]
    AdminKey,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The data directory.
    pub data: PathBuf,
    /// Address and port; port 0 lets the system choose.
    #[serde(deserialize_with = "names::listen")]
    pub listen: SocketAddr,
    /// Certificate and key.
    pub tls: Tls,
    /// What is logged, and how.
    pub log: Log,
    /// The trail.
    pub audit: Audit,
    /// Whose tokens are taken.
    pub identity: Identity,
    /// What turns texts into vectors.
    pub embedding: Embedding,
    /// How writes are governed.
    pub governance: Governance,
    /// How writes for others are held against what is known.
    pub calibration: Calibration,
    /// How memory is shared.
    pub sharing: Sharing,
    /// Who answers questions.
    pub orchestrator: Orchestrator,
    /// What agents can call.
    pub resources: Vec<ResourceAt>,
    /// Bounds of everything.
    pub limits: Limits,
    /// The MCP endpoint.
    pub mcp: Mcp,
    /// The end.
    pub shutdown: Shutdown,
    /// Whether time stands still until `POST /v1/test-clock` sets it. A flag alone can turn this on.
    #[serde(skip)]
    pub test_clock: bool,
}

/// What is logged, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// For programs or for people.
    pub format: LogFormat,
    /// How much.
    pub level: LogLevel,
}

/// For programs or for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// Plain lines.
    Text,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What looks wrong.
    Warn,
    /// Every request, one line.
    #[default]
    Info,
    /// What happens inside.
    Debug,
    /// All of it.
    Trace,
}

/// The trail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// When rows of reads are durable.
    pub reads: Reads,
}

/// When rows of reads are durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// Within a second.
    #[default]
    Async,
    /// Before the reply.
    Sync,
}

/// Bounds of everything; `docs/api.md` has the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Body of a request.
    pub body_bytes_max: usize,
    /// Body of a batch.
    pub batch_bytes_max: usize,
    /// One line of a batch.
    pub batch_line_bytes_max: usize,
    /// Lines of a batch.
    pub batch_lines_max: usize,
    /// Headers of a request.
    pub headers_max: usize,
    /// Headers of a request together.
    pub header_bytes_max: u32,
    /// How long headers may take to arrive.
    pub header_seconds_max: u64,
    /// How long a request may take.
    pub request_seconds_max: u64,
    /// How long a batch may take.
    pub batch_seconds_max: u64,
    /// Connections at once.
    pub connections_max: usize,
    /// Requests at once over one HTTP/2 connection.
    pub streams_max: u32,
    /// Requests at once, over all connections.
    pub in_flight_max: usize,
    /// Requests of one key.
    pub requests_per_second_max: u32,
    /// Results of a search.
    pub k_max: u64,
    /// Rows of a page.
    pub page_max: u64,
    /// Writes waiting for the log, a tenant.
    pub queue_max: usize,
    /// Entries in one commit.
    pub commit_entries_max: usize,
    /// Working items, a user.
    pub working_items_max: usize,
    /// How long a read waits for its `min_token`.
    pub min_token_ms_max: u64,
    /// How long a search waits for the vector of its query.
    pub embedding_ms_max: u64,
}

/// The MCP endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mcp {
    /// Values of `Host` that are answered: a web page that was pointed here by its name server is not.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are answered; requests without one are not of a browser, and pass.
    pub allowed_origins: Vec<String>,
}

/// The end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shutdown {
    /// How long requests under way may still take.
    pub grace_seconds: u64,
}

/// What the command line says; it wins over everything else.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are keys of the configuration")]
pub struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    #[serde(skip_serializing_if = "TlsFlags::is_empty")]
    pub tls: TlsFlags,
    #[serde(skip_serializing_if = "LogFlags::is_empty")]
    pub log: LogFlags,
    #[serde(skip_serializing_if = "EmbeddingFlags::is_empty")]
    pub embedding: EmbeddingFlags,
    #[serde(skip_serializing_if = "GovernanceFlags::is_empty")]
    pub governance: GovernanceFlags,
    #[serde(skip)]
    pub test_clock: bool,
}

/// What the command line says of the embedding model.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "as for Flags")]
pub struct EmbeddingFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

impl EmbeddingFlags {
    const fn is_empty(&self) -> bool {
        self.provider.is_none() && self.folder.is_none()
    }
}

/// What the command line says of logs.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "as for Flags")]
pub struct LogFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<LogFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
}

impl LogFlags {
    const fn is_empty(&self) -> bool {
        self.format.is_none() && self.level.is_none()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 7600)),
            tls: Tls::default(),
            log: Log::default(),
            audit: Audit::default(),
            identity: Identity::default(),
            embedding: Embedding::default(),
            governance: Governance::default(),
            calibration: Calibration::default(),
            sharing: Sharing::default(),
            orchestrator: Orchestrator::default(),
            resources: Vec::new(),
            limits: Limits::default(),
            mcp: Mcp::default(),
            shutdown: Shutdown::default(),
            test_clock: false,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let engine = EngineLimits::default();
        Self {
            body_bytes_max: 2 << 20,
            batch_bytes_max: 64 << 20,
            batch_line_bytes_max: 1 << 20,
            batch_lines_max: 10_000,
            headers_max: 100,
            header_bytes_max: 64 << 10,
            header_seconds_max: 10,
            request_seconds_max: 30,
            batch_seconds_max: 600,
            connections_max: 10_000,
            streams_max: 256,
            in_flight_max: 1_024,
            requests_per_second_max: 20_000,
            k_max: engine.k_max,
            page_max: engine.page_max,
            queue_max: engine.queue_max,
            commit_entries_max: engine.batch_max,
            working_items_max: engine.working_max,
            min_token_ms_max: engine.min_token_wait_ms,
            embedding_ms_max: engine.embedding_wait_ms,
        }
    }
}

impl Default for Mcp {
    fn default() -> Self {
        let hosts = ["localhost", "127.0.0.1", "::1"];
        Self { allowed_hosts: hosts.map(str::to_owned).to_vec(), allowed_origins: Vec::new() }
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { grace_seconds: 20 }
    }
}

impl Config {
    /// Reads file, environment and flags over the defaults.
    ///
    /// # Errors
    /// When one of them is not a configuration, or the whole would not work.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Serialized::defaults(Self::default()));
        if let Some(path) = file {
            if !path.is_file() {
                return Err(ConfigError::NoFile(path.to_owned()));
            }
            figment = figment.merge(Toml::file_exact(path));
        }
        let environment = Env::prefixed(ENV_PREFIX).filter(|key| is_setting(key.as_str())).split("__");
        let figment = figment.merge(environment).merge(Serialized::defaults(flags));
        let mut config: Self =
            figment.extract().map_err(|error| ConfigError::Unreadable(misread::message(&error)))?;
        config.test_clock = flags.test_clock;
        config.check()?;
        Ok(config)
    }

    /// Refuses what would not work or would not be safe.
    ///
    /// # Errors
    /// With what to set instead.
    pub fn check(&self) -> Result<(), ConfigError> {
        let tls = self.tls.files()?;
        if tls.is_none() && !self.listen.ip().is_loopback() {
            return Err(ConfigError::OpenWithoutTls(self.listen));
        }
        self.identity.check()?;
        self.embedding.check()?;
        self.governance.check()?;
        self.sharing.scribe.check()?;
        orchestrator::check(&self.orchestrator, &self.resources)?;
        self.limits.check()
    }

    /// Tells what of this configuration and of the environment is probably not what was meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        names::unknown_variables().into_iter().chain(self.tls.warning()).collect()
    }

    pub(crate) const fn audit_reads(&self) -> AuditReads {
        match self.audit.reads {
            Reads::Async => AuditReads::Async,
            Reads::Sync => AuditReads::Sync,
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), ConfigError> {
        let least_one = [
            ("body_bytes_max", self.body_bytes_max),
            ("batch_bytes_max", self.batch_bytes_max),
            ("batch_line_bytes_max", self.batch_line_bytes_max),
            ("batch_lines_max", self.batch_lines_max),
            ("headers_max", self.headers_max),
            ("connections_max", self.connections_max),
            ("in_flight_max", self.in_flight_max),
            ("queue_max", self.queue_max),
            ("commit_entries_max", self.commit_entries_max),
            ("working_items_max", self.working_items_max),
            ("header_bytes_max", self.header_bytes_max as usize),
            ("streams_max", self.streams_max as usize),
            ("requests_per_second_max", self.requests_per_second_max as usize),
            ("header_seconds_max", usize::from(self.header_seconds_max > 0)),
            ("request_seconds_max", usize::from(self.request_seconds_max > 0)),
            ("batch_seconds_max", usize::from(self.batch_seconds_max > 0)),
            ("k_max", usize::from(self.k_max > 0)),
            ("page_max", usize::from(self.page_max > 0)),
        ];
        match least_one.into_iter().find(|(_, limit)| *limit == 0) {
            Some((name, _)) => Err(ConfigError::NoRoom("limits", name)),
            None => Ok(()),
        }
    }

    pub(crate) const fn request_time_max(&self) -> Duration {
        Duration::from_secs(self.request_seconds_max)
    }

    pub(crate) const fn batch_time_max(&self) -> Duration {
        Duration::from_secs(self.batch_seconds_max)
    }

    pub(crate) const fn header_time_max(&self) -> Duration {
        Duration::from_secs(self.header_seconds_max)
    }

    pub(crate) const fn engine(&self) -> EngineLimits {
        EngineLimits {
            queue_max: self.queue_max,
            batch_max: self.commit_entries_max,
            k_max: self.k_max,
            page_max: self.page_max,
            working_max: self.working_items_max,
            min_token_wait_ms: self.min_token_ms_max,
            embedding_wait_ms: self.embedding_ms_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default file with every `# key = value` line made a setting. Prose has a second `#` or no `=`.
    fn uncommented() -> String {
        let setting = |line: &&str| {
            line.strip_prefix("# ").is_some_and(|rest| rest.split_once(" = ").is_some_and(is_key))
        };
        let is_section = |line: &&str| line.starts_with('[');
        let lines = DEFAULT_FILE.lines().filter(|line| setting(line) || is_section(line));
        lines.map(|line| line.strip_prefix("# ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    fn is_key((name, _): (&str, &str)) -> bool {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }

    #[test]
    fn the_default_file_says_the_defaults() {
        let whole: Config = Figment::from(Toml::string(&uncommented())).extract().unwrap();
        assert_eq!(whole, Config::default());
        let as_is: Config = Figment::from(Toml::string(DEFAULT_FILE)).extract().unwrap();
        assert_eq!(as_is, Config::default());
    }

    #[test]
    fn the_default_file_has_every_key() {
        let file: figment::value::Dict = Figment::from(Toml::string(&uncommented())).extract().unwrap();
        let defaults: figment::value::Dict =
            Figment::from(Serialized::defaults(Config::default())).extract().unwrap();
        let keys = |dict: &figment::value::Dict| -> Vec<String> {
            let of = |(name, value): (&String, &figment::value::Value)| match value.as_dict() {
                Some(inner) => inner.keys().map(|key| format!("{name}.{key}")).collect(),
                None => vec![name.clone()],
            };
            dict.iter().flat_map(of).collect()
        };
        assert_eq!(keys(&file), keys(&defaults));
    }

    #[test]
    fn the_later_source_wins_and_typos_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tabellion.toml");
        std::fs::write(&file, "data = \"a\"\nlisten = \"127.0.0.1:1\"\n[limits]\nk_max = 7\n").unwrap();
        let flags = Flags { data: Some("b".into()), ..Flags::default() };
        let config = Config::load(Some(&file), &flags).unwrap();
        assert_eq!((config.data, config.listen.port(), config.limits.k_max), (PathBuf::from("b"), 1, 7));
        std::fs::write(&file, "[limits]\nk_mux = 7\n").unwrap();
        let error = Config::load(Some(&file), &Flags::default()).unwrap_err().to_string();
        assert!(error.contains("k_mux"), "{error}");
        assert!(matches!(Config::load(Some(Path::new("nowhere.toml")), &flags), Err(ConfigError::NoFile(_))));
    }

    #[test]
    fn the_network_is_refused_without_tls() {
        let open = Config { listen: SocketAddr::from(([0, 0, 0, 0], 7600)), ..Config::default() };
        let error = open.check().unwrap_err().to_string();
        assert!(error.contains("tls.cert") && error.contains("0.0.0.0:7600"), "{error}");
        let pair = Tls { cert: "a.pem".into(), key: "b.pem".into() };
        assert!(Config { tls: pair, ..open.clone() }.check().is_ok());
        let half = Tls { cert: "a.pem".into(), key: PathBuf::new() };
        assert!(matches!(Config { tls: half, ..open }.check(), Err(ConfigError::HalfTls("tls.key"))));
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        let limits = Limits { in_flight_max: 0, ..Limits::default() };
        assert!(matches!(
            Config { limits, ..Config::default() }.check(),
            Err(ConfigError::NoRoom("limits", "in_flight_max"))
        ));
    }
}
