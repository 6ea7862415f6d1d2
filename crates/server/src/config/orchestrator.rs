//! `[orchestrator]` and `[[resources]]`: who answers questions, and what agents can call.
//!
//! Invariant (no address by a call): where a resource is reached, and with which key, stands in the operator's file and
//! environment alone; no operation of the interface can set or change it.

use super::advisers::wrong;
use super::chat::{Models, check_time};
use super::{Config, ConfigError};
use crate::resources::{Address, HttpResource, McpTool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::orchestrate::Documents;
use tabellion_core::schema::Arguments;
use tabellion_engine::{AskLimits, Configured, Equipment, How};
use tabellion_models::ChatModel;

const RESOURCES_MAX: usize = 256;
const MODELS_MAX: usize = 5;
/// The longest that a model or a resource may take.
const TIME_MS_MAX: u64 = 120_000;
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Keys of resources have names of their own, so that none of the server's secrets is sent anywhere by mistake.
const KEY_PREFIX: &str = "TABELLION_RESOURCE_";
const TOP_K_MAX: u64 = 20;

/// Who answers questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Orchestrator {
    /// Whether questions are taken.
    pub enabled: bool,
    /// The endpoint of a model, up to and without `/chat/completions`; empty for none.
    pub url: String,
    /// Its name there; the next one is asked where one gives no answer.
    pub models: Vec<String>,
    /// How long a request to it may take.
    pub timeout_ms: u64,
    /// How long a question may take.
    pub seconds_max: u64,
    /// Questions under way.
    pub asks_max: usize,
    /// Calls of resources under way.
    pub calls_max: usize,
}

impl Default for Orchestrator {
    fn default() -> Self {
        let AskLimits { asks_max, calls_max, seconds_max } = AskLimits::default();
        let (url, models) = (String::new(), Vec::new());
        Self { enabled: true, url, models, timeout_ms: 20_000, seconds_max, asks_max, calls_max }
    }
}

/// A resource that agents can call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceAt {
    /// Its name or id in its tenant.
    pub name: String,
    /// The tenant, by id or name; empty for the one that the first start made.
    #[serde(default)]
    pub tenant: String,
    /// How it answers.
    pub kind: ResourceKind,
    /// For `kb_search`: a file of documents.
    #[serde(default)]
    pub file: PathBuf,
    /// For `http` and `mcp`: where it is.
    #[serde(default)]
    pub url: String,
    /// For `mcp`: which tool.
    #[serde(default)]
    pub tool: String,
    /// For `http` and `mcp`: a JSON Schema of its arguments; `{"query": text}` unless given.
    #[serde(default)]
    pub args: Option<Value>,
    /// How long a call may take.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// The variable of the environment with what is sent as the bearer; empty for nothing.
    #[serde(default)]
    pub key_env: String,
}

const fn timeout_ms() -> u64 {
    10_000
}

/// How a resource answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// From documents in a file.
    KbSearch,
    /// By a service that takes and gives JSON.
    Http,
    /// By a tool of an MCP server.
    Mcp,
}

impl ResourceKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::KbSearch => "kb_search",
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

impl Orchestrator {
    fn check(&self) -> Result<(), ConfigError> {
        for (name, is_fine) in [
            ("seconds_max", self.seconds_max > 0),
            ("asks_max", self.asks_max > 0),
            ("calls_max", self.calls_max > 0),
        ] {
            if !is_fine {
                return Err(ConfigError::NoRoom("orchestrator", name));
            }
        }
        self.place().check()
    }

    fn place(&self) -> Models<'_> {
        Models {
            section: "orchestrator",
            url: &self.url,
            names: &self.models,
            names_max: MODELS_MAX,
            timeout_ms: self.timeout_ms,
            timeout_ms_max: TIME_MS_MAX,
        }
    }
}

impl ResourceAt {
    fn check(&self) -> Result<(), ConfigError> {
        let name = format!("resources `{}`", self.name);
        if self.name.is_empty() || self.name.len() > 64 {
            return Err(wrong("resources: each needs the name of a resource of its tenant"));
        }
        check_time(&name, self.timeout_ms, TIME_MS_MAX)?;
        let is_documents = self.kind == ResourceKind::KbSearch;
        if is_documents && (self.file.as_os_str().is_empty() || !self.url.is_empty() || self.args.is_some()) {
            return Err(wrong(format!(
                "{name}: kind kb_search takes a `file`, and neither `url` nor `args`"
            )));
        }
        if !is_documents && (self.url.is_empty() || !self.file.as_os_str().is_empty()) {
            return Err(wrong(format!("{name}: kind {} takes a `url`, and no `file`", self.kind.as_str())));
        }
        if (self.kind == ResourceKind::Mcp) == self.tool.is_empty() {
            return Err(wrong(format!("{name}: `tool` belongs to kind mcp, which needs it")));
        }
        if !self.key_env.is_empty() && (is_documents || !self.key_env.starts_with(KEY_PREFIX)) {
            return Err(wrong(format!("{name}: key_env must name a variable that begins with {KEY_PREFIX}")));
        }
        self.arguments().map(drop)
    }

    /// What it takes. That is no part of the log: a resource is registered by its name, kind and description alone.
    fn arguments(&self) -> Result<Arguments, ConfigError> {
        let query = json!({"type": "string", "minLength": 1, "maxLength": 8192});
        let schema = match (&self.args, self.kind) {
            (Some(given), _) => given.clone(),
            (None, ResourceKind::KbSearch) => {
                let top_k = json!({"type": "integer", "minimum": 1, "maximum": TOP_K_MAX});
                object(&json!({"query": query, "top_k": top_k}))
            }
            (None, ResourceKind::Http | ResourceKind::Mcp) => object(&json!({"query": query})),
        };
        Arguments::compile(schema).map_err(|refusal| {
            let at = refusal.errors.first().map(|fault| fault.path.clone()).unwrap_or_default();
            wrong(format!("resources `{}`: args{at}: {}", self.name, refusal.message))
        })
    }

    fn open(&self) -> Result<Configured, ConfigError> {
        let how = match self.kind {
            ResourceKind::KbSearch => How::Documents(Arc::new(self.documents()?)),
            ResourceKind::Http => How::Outside(Arc::new(HttpResource(self.address()?))),
            ResourceKind::Mcp => How::Outside(Arc::new(McpTool::new(self.address()?, self.tool.clone()))),
        };
        Ok(Configured {
            tenant: (!self.tenant.is_empty()).then(|| self.tenant.clone()),
            name: self.name.clone(),
            kind: self.kind.as_str(),
            args: self.arguments()?,
            how,
        })
    }

    fn address(&self) -> Result<Address, ConfigError> {
        let key =
            match self.key_env.as_str() {
                "" => None,
                name => Some(std::env::var(name).ok().filter(|key| !key.is_empty()).ok_or_else(|| {
                    wrong(format!("resources `{}`: the environment has no {name}", self.name))
                })?),
            };
        let address = Address::open(&self.url, key, Duration::from_millis(self.timeout_ms));
        address.map_err(|error| wrong(format!("resources `{}`: {error}", self.name)))
    }

    fn documents(&self) -> Result<Documents, ConfigError> {
        let wrong = |why: String| wrong(format!("resources `{}`, {}: {why}", self.name, self.file.display()));
        let file = std::fs::File::open(&self.file).map_err(|error| wrong(error.to_string()))?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(wrong(format!("larger than {FILE_BYTES_MAX} bytes")));
        }
        Documents::read(&bytes).map_err(|error| wrong(error.to_string()))
    }
}

/// A schema of an object of these members, of which `query` is needed.
fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties, "required": ["query"], "additionalProperties": false})
}

pub(super) fn check(orchestrator: &Orchestrator, resources: &[ResourceAt]) -> Result<(), ConfigError> {
    orchestrator.check()?;
    if resources.len() > RESOURCES_MAX {
        return Err(wrong(format!("resources: {RESOURCES_MAX} at most")));
    }
    let places: BTreeSet<(&str, &str)> =
        resources.iter().map(|one| (one.tenant.as_str(), one.name.as_str())).collect();
    if places.len() != resources.len() {
        return Err(wrong("resources: two have the same name and tenant"));
    }
    resources.iter().try_for_each(ResourceAt::check)
}

impl Config {
    /// What is put at the agents' disposal. Reads files and contacts nobody. Blocking.
    ///
    /// # Errors
    /// When a file cannot be read, a key is not there, or an address makes no sense.
    pub fn equipment(&self, key: Option<String>) -> Result<Equipment, ConfigError> {
        let orchestrator = &self.orchestrator;
        Ok(Equipment {
            enabled: orchestrator.enabled,
            resources: self.resources.iter().map(ResourceAt::open).collect::<Result<_, _>>()?,
            chat: orchestrator.place().open(key, ChatModel::open)?.map(|model| Arc::new(model) as Arc<_>),
            limits: AskLimits {
                asks_max: orchestrator.asks_max,
                calls_max: orchestrator.calls_max,
                seconds_max: orchestrator.seconds_max,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kb() -> ResourceAt {
        ResourceAt {
            name: "kb".to_owned(),
            tenant: String::new(),
            kind: ResourceKind::KbSearch,
            file: PathBuf::from("kb.json"),
            url: String::new(),
            tool: String::new(),
            args: None,
            timeout_ms: 1_000,
            key_env: String::new(),
        }
    }

    fn service(kind: ResourceKind) -> ResourceAt {
        let tool = if kind == ResourceKind::Mcp { "search" } else { "" };
        let url = "http://127.0.0.1:1/x".to_owned();
        ResourceAt { kind, file: PathBuf::new(), url, tool: tool.to_owned(), ..kb() }
    }

    fn check_one(one: ResourceAt, expected: Option<&str>) {
        let found = check(&Orchestrator::default(), &[one]).err().map(|error| error.to_string());
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    /// SHARE-26: a resource that could not be called is refused at the start, with what to set instead.
    #[test]
    fn each_kind_needs_its_place() {
        check_one(kb(), None);
        check_one(service(ResourceKind::Http), None);
        check_one(service(ResourceKind::Mcp), None);
        check_one(ResourceAt { file: PathBuf::new(), ..kb() }, Some("takes a `file`"));
        check_one(ResourceAt { url: String::new(), ..service(ResourceKind::Http) }, Some("takes a `url`"));
        check_one(ResourceAt { tool: String::new(), ..service(ResourceKind::Mcp) }, Some("`tool`"));
        check_one(ResourceAt { tool: "x".to_owned(), ..service(ResourceKind::Http) }, Some("`tool`"));
        check_one(ResourceAt { timeout_ms: 0, ..kb() }, Some("timeout_ms must be 1 to"));
        check_one(ResourceAt { name: String::new(), ..kb() }, Some("name"));
        let args = Some(json!({"type": "objekt"}));
        check_one(ResourceAt { args, ..service(ResourceKind::Http) }, Some("args/type"));
        assert!(check(&Orchestrator::default(), &[kb(), kb()]).is_err());
    }

    /// A slip of the pen sends none of the server's own secrets to a resource.
    #[test]
    fn keys_of_resources_have_names_of_their_own() {
        let with = |name: &str| ResourceAt { key_env: name.to_owned(), ..service(ResourceKind::Http) };
        check_one(with("TABELLION_MASTER_KEY"), Some("begins with TABELLION_RESOURCE_"));
        check_one(with("TABELLION_RESOURCE_MARKET"), None);
        let error = with("TABELLION_RESOURCE_NOWHERE").open().err().unwrap().to_string();
        assert!(error.contains("the environment has no TABELLION_RESOURCE_NOWHERE"), "{error}");
    }

    #[test]
    fn a_model_needs_a_name() {
        let named = |models: &[&str]| Orchestrator {
            url: "http://127.0.0.1:1/v1".to_owned(),
            models: models.iter().map(|&model| model.to_owned()).collect(),
            ..Orchestrator::default()
        };
        assert!(check(&named(&["a"]), &[]).is_ok());
        assert!(check(&named(&[]), &[]).is_err() && check(&named(&[" "]), &[]).is_err());
    }
}
