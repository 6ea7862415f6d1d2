//! `[sharing]`: who outside this process works for policies of sharing.

use super::advisers::TIME_MS_MAX;
use super::chat::Models;
use super::{Config, ConfigError, Secrets};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tabellion_engine::ports::{Advisers, Scribe};
use tabellion_models::ChatScribe;
use tokio::runtime::Handle;

/// One after the other, so that a write waits for all of them at worst.
const MODELS_MAX: usize = 3;

/// How memory is shared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sharing {
    /// A model that writes anew what policies ask it to.
    pub scribe: ScribeModel,
}

/// A model that writes anew what policies ask it to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScribeModel {
    /// The endpoint, up to and without `/chat/completions`; empty for none.
    pub url: String,
    /// Its name there; those after the first are asked in its place when it does not answer.
    pub models: Vec<String>,
    /// How long a request may take.
    pub timeout_ms: u64,
}

impl Default for ScribeModel {
    fn default() -> Self {
        Self { url: String::new(), models: Vec::new(), timeout_ms: 5_000 }
    }
}

impl ScribeModel {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.place().check()
    }

    fn place(&self) -> Models<'_> {
        Models {
            section: "sharing.scribe",
            url: &self.url,
            names: &self.models,
            names_max: MODELS_MAX,
            timeout_ms: self.timeout_ms,
            timeout_ms_max: TIME_MS_MAX,
        }
    }

    fn open(&self, key: Option<String>) -> Result<Option<Arc<dyn Scribe>>, ConfigError> {
        Ok(self.place().open(key, ChatScribe::open)?.map(|scribe| Arc::new(scribe) as Arc<_>))
    }
}

impl Config {
    /// Everybody outside this process who is asked about writes, ready to be asked. Contacts nobody.
    ///
    /// # Errors
    /// When somebody named could not be asked.
    pub fn advisers(&self, secrets: &Secrets, runtime: &Handle) -> Result<Advisers, ConfigError> {
        let advisers = self.governance.advisers(secrets.judge_key.clone(), runtime)?;
        Ok(Advisers { scribe: self.sharing.scribe.open(secrets.scribe_key.clone())?, ..advisers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHARE-18: a scribe that could not be asked is refused at the start, with what to set instead.
    #[test]
    fn a_scribe_needs_models() {
        let scribe = |models: &[&str]| ScribeModel {
            url: "http://127.0.0.1:1/v1".to_owned(),
            models: models.iter().map(|&name| name.to_owned()).collect(),
            ..ScribeModel::default()
        };
        assert!(scribe(&["a", "b"]).check().is_ok() && ScribeModel::default().check().is_ok());
        for models in [&[][..], &["a", "a"], &["a", " "], &["a", "b", "c", "d"]] {
            let error = scribe(models).check().unwrap_err().to_string();
            assert!(error.contains("sharing.scribe.models"), "{error}");
        }
        assert!(ScribeModel { timeout_ms: 0, ..scribe(&["a"]) }.check().is_err());
        assert!(ScribeModel { url: "nowhere".to_owned(), ..scribe(&["a"]) }.open(None).is_err());
    }
}
