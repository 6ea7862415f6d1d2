//! `[[governance.gates]]` and `[governance.judge]`: who outside this process is asked about writes.

use super::ConfigError;
use super::chat::{Models, check_time};
use crate::gates::{Place, Remote};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::gate::GateName;
use tabellion_core::item::Layer;
use tabellion_engine::ports::{Advisers, RemoteGate};
use tabellion_models::ChatJudge;
use tokio::runtime::Handle;
use tonic::codegen::http::Uri;

const GATES_MAX: usize = 8;
const NAME_CHARS_MAX: usize = 64;
const MODELS_MAX: usize = 5;
/// The longest that anybody may take: a write waits for it.
pub(super) const TIME_MS_MAX: u64 = 30_000;

/// A gate outside this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// What it is called in refusals and metrics.
    pub name: String,
    /// Where it listens: `http://`, host and port.
    pub url: String,
    /// The gate of this process that it stands beside.
    #[serde(default = "at")]
    pub at: String,
    /// The layers whose writes it is asked about.
    #[serde(default = "layers")]
    pub layers: Vec<String>,
    /// How long it may take.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
}

fn at() -> String {
    GateName::Policy.as_str().to_owned()
}

fn layers() -> Vec<String> {
    ["episodic", "semantic", "procedural"].map(str::to_owned).to_vec()
}

const fn timeout_ms() -> u64 {
    500
}

/// Models that read what a write says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeModels {
    /// The endpoint, up to and without `/chat/completions`; empty for none.
    pub url: String,
    /// Their names there; the first compares, all of them verify.
    pub models: Vec<String>,
    /// How long a request may take.
    pub timeout_ms: u64,
}

impl Default for JudgeModels {
    fn default() -> Self {
        Self { url: String::new(), models: Vec::new(), timeout_ms: 5_000 }
    }
}

pub(super) fn wrong(what: impl Into<String>) -> ConfigError {
    ConfigError::Advisers(what.into())
}

impl Gate {
    fn place(&self) -> Result<Place, ConfigError> {
        let name = format!("governance.gates `{}`", self.name);
        let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
        if self.name.is_empty() || self.name.len() > NAME_CHARS_MAX || !self.name.chars().all(is_plain) {
            let rule = format!("a name of 1 to {NAME_CHARS_MAX} letters, digits, - and _");
            return Err(wrong(format!("governance.gates: each gate needs {rule}")));
        }
        check_time(&name, self.timeout_ms, TIME_MS_MAX)?;
        Ok(Place {
            name: self.name.clone(),
            origin: origin(&self.url).ok_or_else(|| {
                wrong(format!(
                    "{name}: url must be http://, a host and a port, such as http://127.0.0.1:7700"
                ))
            })?,
            at: gate(&self.at).ok_or_else(|| wrong(format!("{name}: at must be one of {}", gate_words())))?,
            layers: logged_layers(&self.layers).ok_or_else(|| {
                wrong(format!("{name}: layers must be some of session, episodic, semantic, procedural"))
            })?,
            time_max: Duration::from_millis(self.timeout_ms),
        })
    }
}

/// Scheme, host and port, and nothing that would be dropped or shown.
fn origin(url: &str) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let is_bare = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/") && uri.query().is_none();
    (is_bare && !authority.as_str().contains('@') && !url.contains('#')).then_some(uri)
}

/// The gates that another may stand beside.
fn gates() -> impl Iterator<Item = GateName> {
    let inner = |gate: &GateName| !matches!(gate, GateName::Preflight | GateName::Calibration);
    GateName::ALL.into_iter().filter(inner)
}

fn gate(word: &str) -> Option<GateName> {
    gates().find(|gate| gate.as_str() == word)
}

fn gate_words() -> String {
    gates().map(GateName::as_str).collect::<Vec<_>>().join(", ")
}

fn logged_layers(words: &[String]) -> Option<Vec<Layer>> {
    let layer = |word: &String| Layer::from_word(word).filter(|layer| layer.is_logged());
    let layers: Option<Vec<Layer>> = words.iter().map(layer).collect();
    layers.filter(|layers| !layers.is_empty())
}

impl JudgeModels {
    fn place(&self) -> Models<'_> {
        Models {
            section: "governance.judge",
            url: &self.url,
            names: &self.models,
            names_max: MODELS_MAX,
            timeout_ms: self.timeout_ms,
            timeout_ms_max: TIME_MS_MAX,
        }
    }
}

pub(super) fn check(gates: &[Gate], judge: &JudgeModels) -> Result<(), ConfigError> {
    if gates.len() > GATES_MAX {
        return Err(wrong(format!("governance.gates: {GATES_MAX} gates at most")));
    }
    let names: BTreeSet<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
    if names.len() != gates.len() {
        return Err(wrong("governance.gates: two gates have the same name"));
    }
    gates.iter().try_for_each(|gate| gate.place().map(drop))?;
    judge.place().check()
}

/// Everybody named, ready to be asked. Contacts nobody.
pub(super) fn open(
    gates: &[Gate],
    judge: &JudgeModels,
    key: Option<String>,
    runtime: &Handle,
) -> Result<Advisers, ConfigError> {
    let remote = |gate: &Gate| {
        let gate: Arc<dyn RemoteGate> = Arc::new(Remote::new(gate.place()?, runtime.clone()));
        Ok(gate)
    };
    Ok(Advisers {
        gates: gates.iter().map(remote).collect::<Result<_, ConfigError>>()?,
        judge: judge.place().open(key, ChatJudge::open)?.map(|judge| Arc::new(judge) as Arc<_>),
        scribe: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pii() -> Gate {
        let url = "http://127.0.0.1:7700".to_owned();
        Gate { name: "pii".to_owned(), url, at: at(), layers: layers(), timeout_ms: 500 }
    }

    fn check_gate(change: impl FnOnce(&mut Gate), expected: Option<&str>) {
        let mut gate = pii();
        change(&mut gate);
        let found = check(&[gate], &JudgeModels::default()).err().map(|error| error.to_string());
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    /// GOV-1.3, D2: a gate that could not be asked is refused at the start, with what to set instead.
    #[test]
    fn a_gate_needs_a_name_and_an_address() {
        check_gate(|_| (), None);
        check_gate(|gate| gate.url = "http://[::1]:7700/".to_owned(), None);
        check_gate(|gate| gate.name = "with space".to_owned(), Some("name"));
        for url in [
            "",
            "127.0.0.1:7700",
            "ftp://a",
            "https://a:1",
            "http://u:p@a:1",
            "http://a:1/x",
            "http://a:1?k=v",
        ] {
            check_gate(|gate| gate.url = url.to_owned(), Some("`pii`: url must be http://"));
        }
        check_gate(|gate| gate.at = "preflight".to_owned(), Some("schema, factual"));
        check_gate(|gate| gate.layers = vec!["working".to_owned()], Some("layers"));
        check_gate(|gate| gate.layers.clear(), Some("layers"));
        check_gate(|gate| gate.timeout_ms = 0, Some("timeout_ms must be 1 to"));
        let many =
            |count: usize| (0..count).map(|n| Gate { name: format!("g{n}"), ..pii() }).collect::<Vec<_>>();
        assert!(check(&many(GATES_MAX), &JudgeModels::default()).is_ok());
        assert!(check(&many(GATES_MAX + 1), &JudgeModels::default()).is_err());
        assert!(check(&[pii(), pii()], &JudgeModels::default()).is_err());
    }

    /// GOV-2.3: a judge needs the names of its models.
    #[test]
    fn a_judge_needs_models() {
        let judge = |models: &[&str]| JudgeModels {
            url: "http://127.0.0.1:1/v1".to_owned(),
            models: models.iter().map(|&name| name.to_owned()).collect(),
            ..JudgeModels::default()
        };
        assert!(check(&[], &judge(&["a", "b", "c"])).is_ok());
        for models in [&[][..], &["a", "a"], &["a", " "], &["a", "b", "c", "d", "e", "f"]] {
            let error = check(&[], &judge(models)).unwrap_err().to_string();
            assert!(error.contains("governance.judge.models"), "{error}");
        }
        assert!(check(&[], &JudgeModels { timeout_ms: 0, ..judge(&["a"]) }).is_err());
    }
}
