//! Which embedding model is used, as the configuration says, and what happens when it is not there.

use crate::config::ConfigError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tabellion_engine::ports::Embedder;
use tabellion_models::{ApiKey, Choice, Endpoint};

/// What turns texts into vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embedding {
    /// Which model.
    pub provider: Provider,
    /// Where the files of MiniLM lie.
    pub folder: PathBuf,
    /// The endpoint, up to and without `/embeddings`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// How long its vectors are.
    pub dimensions: usize,
    /// A file of certificates to trust behind https; empty for those of the system.
    pub ca_cert: PathBuf,
    /// How many texts a request holds at most.
    pub texts_max: usize,
    /// How long a request may take.
    pub seconds_max: u64,
}

/// Which model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// MiniLM if its files are there, hashed words otherwise.
    #[default]
    Auto,
    /// MiniLM, or no start.
    Minilm,
    /// A model behind an endpoint.
    Http,
    /// Hashed words.
    Hashed,
    /// None: search by words alone.
    None,
}

impl Default for Embedding {
    fn default() -> Self {
        Self {
            provider: Provider::Auto,
            folder: PathBuf::from("model"),
            url: String::new(),
            model: String::new(),
            dimensions: 0,
            ca_cert: PathBuf::new(),
            texts_max: 64,
            seconds_max: 10,
        }
    }
}

impl Embedding {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let unset = |name: &'static str| Err(ConfigError::Embedding(name));
        match self.provider {
            Provider::Http if self.url.is_empty() => unset("url"),
            Provider::Http if self.model.is_empty() => unset("model"),
            Provider::Http if self.dimensions == 0 => unset("dimensions"),
            Provider::Http if self.texts_max == 0 => unset("texts_max"),
            Provider::Http if self.seconds_max == 0 => unset("seconds_max"),
            Provider::Auto | Provider::Minilm | Provider::Http | Provider::Hashed | Provider::None => Ok(()),
        }
    }

    /// The same setting, with the folder of this name beside the data directory where there is none here: programs that start
    /// their servers themselves do so from anywhere.
    #[must_use]
    pub fn beside(&self, data: &Path) -> Self {
        let beside = data.parent().unwrap_or(data).join(&self.folder);
        let is_beside = self.folder.is_relative() && !self.folder.exists() && beside.is_dir();
        let folder = if is_beside { beside } else { self.folder.clone() };
        Self { folder, ..self.clone() }
    }

    /// Says why texts are compared by hashed words and not by meaning, if they are.
    #[must_use]
    pub fn shortfall(&self, embedder: Option<&dyn Embedder>) -> Option<String> {
        if !embedder.is_some_and(|embedder| embedder.model().starts_with("hashed")) {
            return None;
        }
        let why = match self.provider {
            Provider::Auto => format!(
                "no embedding model in {}: tools/fetch_model.py fetches one, and --model or TABELLION_EMBEDDING__FOLDER names its folder",
                self.folder.display()
            ),
            Provider::Minilm | Provider::Http | Provider::Hashed | Provider::None => {
                "embedding.provider says so".to_owned()
            }
        };
        Some(format!("texts are compared by hashed words, which finds less ({why})"))
    }

    /// The model, ready to be asked; none if none is wanted. Reads files; asks no endpoint.
    ///
    /// # Errors
    /// When the model that is wanted cannot be had.
    pub fn open(&self, key: Option<String>) -> Result<Option<Arc<dyn Embedder>>, ConfigError> {
        let minilm = Choice::MiniLm { folder: self.folder.clone() };
        let choice = match self.provider {
            Provider::None => return Ok(None),
            Provider::Hashed => Choice::Hashed,
            Provider::Http => Choice::Http(self.endpoint(key)),
            Provider::Minilm => minilm,
            Provider::Auto => match tabellion_models::open(minilm) {
                Ok(embedder) => return Ok(Some(embedder)),
                Err(error) => {
                    tracing::warn!(
                        "NO EMBEDDING MODEL: {error}. Until then texts are compared by hashed words, which finds less"
                    );
                    Choice::Hashed
                }
            },
        };
        tabellion_models::open(choice).map(Some).map_err(|error| ConfigError::Model(error.to_string()))
    }

    fn endpoint(&self, key: Option<String>) -> Endpoint {
        let ca_cert = (!self.ca_cert.as_os_str().is_empty()).then(|| self.ca_cert.clone());
        Endpoint {
            url: self.url.clone(),
            model: self.model.clone(),
            dimensions: self.dimensions,
            key: key.map(ApiKey::new),
            ca_cert,
            texts_max: self.texts_max,
            time_max: Duration::from_secs(self.seconds_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_needs_its_address_name_and_dimensions() {
        let half = Embedding {
            provider: Provider::Http,
            url: "http://127.0.0.1:1/v1".into(),
            ..Embedding::default()
        };
        let error = half.check().unwrap_err().to_string();
        assert!(error.contains("embedding.model"), "{error}");
        let whole = Embedding { model: "m".into(), dimensions: 8, ..half };
        assert!(whole.check().is_ok());
        assert_eq!(whole.open(None).unwrap().unwrap().dimensions(), 8);
    }

    #[test]
    fn without_files_the_default_falls_back_and_minilm_refuses() {
        let nowhere = Embedding { folder: "nowhere".into(), ..Embedding::default() };
        assert!(nowhere.open(None).unwrap().unwrap().model().starts_with("hashed"));
        let strict = Embedding { provider: Provider::Minilm, ..nowhere };
        let error = strict.open(None).err().unwrap().to_string();
        assert!(error.contains("fetch_model.py"), "{error}");
        assert!(Embedding { provider: Provider::None, ..strict }.open(None).unwrap().is_none());
    }
}
