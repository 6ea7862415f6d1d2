//! What may not stand in a configuration: secrets from the environment, and a consent that counts for one start.

use super::{ADMIN_KEY_CHARS_MIN, ConfigError, ENV_PREFIX};
use tabellion_core::canonical::unhex32;
use tabellion_core::seal::Secret;

/// What may not stand in a configuration.
#[derive(Debug, Default)]
pub struct Secrets {
    /// The admin key of the first start; none makes one.
    pub admin_key: Option<String>,
    /// The master key; none takes it from the data directory.
    pub master_key: Option<Secret>,
    /// What the embedding endpoint asks for.
    pub embedding_key: Option<String>,
    /// What news of held writes is signed with; none leaves it unsigned.
    pub webhook_secret: Option<String>,
    /// What the endpoint of the judge asks for.
    pub judge_key: Option<String>,
    /// What the endpoint of the scribe asks for.
    pub scribe_key: Option<String>,
    /// What the endpoint of the orchestrator's model asks for.
    pub orchestrator_key: Option<String>,
    /// Whether a data directory that lost something is opened all the same. From the command line alone, so that no later
    /// start accepts a loss that nobody has seen.
    pub accept_loss: bool,
}

impl Secrets {
    /// Reads `TABELLION_ADMIN_KEY`, `TABELLION_MASTER_KEY`, `TABELLION_EMBEDDING_KEY`, `TABELLION_WEBHOOK_SECRET`,
    /// `TABELLION_JUDGE_KEY`, `TABELLION_SCRIBE_KEY` and `TABELLION_ORCHESTRATOR_KEY`.
    ///
    /// # Errors
    /// When the master key is not one, or the admin key could be guessed.
    pub fn from_env() -> Result<Self, ConfigError> {
        let var =
            |name: &str| std::env::var(format!("{ENV_PREFIX}{name}")).ok().filter(|value| !value.is_empty());
        let master_key = match var("MASTER_KEY") {
            Some(text) => Some(Secret::from_bytes(unhex32(text.trim()).ok_or(ConfigError::MasterKey)?)),
            None => None,
        };
        let admin_key = var("ADMIN_KEY");
        if admin_key.as_ref().is_some_and(|key| key.chars().count() < ADMIN_KEY_CHARS_MIN) {
            return Err(ConfigError::AdminKey);
        }
        let (embedding_key, webhook_secret) = (var("EMBEDDING_KEY"), var("WEBHOOK_SECRET"));
        Ok(Self {
            admin_key,
            master_key,
            embedding_key,
            webhook_secret,
            judge_key: var("JUDGE_KEY"),
            scribe_key: var("SCRIBE_KEY"),
            orchestrator_key: var("ORCHESTRATOR_KEY"),
            accept_loss: false,
        })
    }
}
