//! Where models are that chat: for the judge, the scribe and the orchestrator alike.

use super::ConfigError;
use super::advisers::wrong;
use std::collections::BTreeSet;
use std::time::Duration;
use tabellion_models::{ApiKey, Bench, OpenError};

/// Models behind an endpoint, as a section of the configuration names them.
pub(super) struct Models<'a> {
    /// The section, for messages.
    pub(super) section: &'static str,
    /// The endpoint; empty for none.
    pub(super) url: &'a str,
    pub(super) names: &'a [String],
    pub(super) names_max: usize,
    pub(super) timeout_ms: u64,
    pub(super) timeout_ms_max: u64,
}

impl Models<'_> {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.url.is_empty() {
            return Ok(());
        }
        let (section, max) = (self.section, self.names_max);
        let named: BTreeSet<&String> = self.names.iter().filter(|name| !name.trim().is_empty()).collect();
        if named.len() != self.names.len() || !(1..=max).contains(&named.len()) {
            return Err(wrong(format!("{section}.models must name 1 to {max} models, each once")));
        }
        check_time(section, self.timeout_ms, self.timeout_ms_max)
    }

    /// Whoever asks them, if there are any. Contacts nobody.
    pub(super) fn open<T>(
        &self,
        key: Option<String>,
        open: impl FnOnce(Bench) -> Result<T, OpenError>,
    ) -> Result<Option<T>, ConfigError> {
        if self.url.is_empty() {
            return Ok(None);
        }
        let bench = Bench {
            url: self.url.to_owned(),
            models: self.names.to_vec(),
            key: key.map(ApiKey::new),
            time_max: Duration::from_millis(self.timeout_ms),
        };
        open(bench).map(Some).map_err(|error| wrong(format!("{}: {error}", self.section)))
    }
}

/// Whether something outside may take so long.
pub(super) fn check_time(name: &str, ms: u64, max: u64) -> Result<(), ConfigError> {
    match ms {
        ms if (1..=max).contains(&ms) => Ok(()),
        _ => Err(wrong(format!("{name}.timeout_ms must be 1 to {max}"))),
    }
}
