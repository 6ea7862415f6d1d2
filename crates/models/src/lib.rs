//! Which models read texts here? Three that turn them into vectors, behind the engine's [`Embedder`] port, those that
//! compare statements, behind its `Judge` port, and one that writes them anew, behind its `Scribe` port.
//!
//! | module | model | needs |
//! |---|---|---|
//! | [`minilm`] | all-MiniLM-L6-v2, in this process | its files in a folder |
//! | [`http`] | any, behind an endpoint that speaks OpenAI's form | that endpoint |
//! | [`hashed`] | none: words and their pieces, hashed | nothing |
//! | [`judge`], [`scribe`] | any that chats, behind an endpoint that speaks OpenAI's form | that endpoint |
//! | [`chat`] | the same, to steer and word answers behind the `Chat` port | that endpoint |
//!
//! Invariant: a vector that leaves this crate has unit length and the dimensions its model promises. No word of an error
//! holds a text or a secret. Decides nothing about when texts are embedded or where vectors are kept.

pub mod chat;
pub mod hashed;
pub mod http;
pub mod judge;
pub mod minilm;
pub mod scribe;
mod text;
mod vector;

pub use chat::{Bench, ChatModel};
pub use hashed::Hashed;
pub use http::{ApiKey, Endpoint, Http};
pub use judge::ChatJudge;
pub use minilm::MiniLm;
pub use scribe::ChatScribe;

use std::path::PathBuf;
use std::sync::Arc;
use tabellion_engine::ports::Embedder;

/// Which model is wanted.
#[derive(Debug, Clone)]
pub enum Choice {
    /// all-MiniLM-L6-v2 from the files in a folder.
    MiniLm {
        /// Where `model.safetensors` and `tokenizer.json` lie.
        folder: PathBuf,
    },
    /// A model behind an endpoint. It need not be up yet.
    Http(Endpoint),
    /// Hashed words and their pieces.
    Hashed,
}

/// Why a model cannot be opened. The words are for the operator and say what to do next.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file of the model is not there.
    #[error(
        "there is no {}; fetch the model with `python3 tools/fetch_model.py {}`, name the folder that holds it, \
         or choose another embedder", path.display(), folder.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The folder it should be in.
        folder: PathBuf,
    },
    /// A file of the model is there but cannot be read.
    #[error("cannot read {}: {cause}; look at its owner and permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file is not the one that this version was tested with.
    #[error(
        "{} is not the file expected: its SHA-256 is {found}, not {expected}; remove it and fetch the model with \
         `python3 tools/fetch_model.py {}`", path.display(), folder.display()
    )]
    WrongChecksum {
        /// The file.
        path: PathBuf,
        /// The folder it is in.
        folder: PathBuf,
        /// The checksum it should have.
        expected: &'static str,
        /// The checksum it has.
        found: String,
    },
    /// A file is the one expected, but this version cannot use it.
    #[error("cannot use {}: {cause}; this is a fault of this version, choose another embedder", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        cause: String,
    },
    /// A setting of an endpoint makes no sense.
    #[error("cannot ask the endpoint: {0}")]
    Endpoint(String),
}

/// The model of this choice, ready to be asked. An endpoint is not contacted: a server starts while it is down.
///
/// # Errors
/// When the model's files are not there or not the ones expected, or an endpoint's settings make no sense.
pub fn open(choice: Choice) -> Result<Arc<dyn Embedder>, OpenError> {
    Ok(match choice {
        Choice::MiniLm { folder } => Arc::new(MiniLm::open(&folder)?),
        Choice::Http(endpoint) => Arc::new(Http::open(endpoint)?),
        Choice::Hashed => Arc::new(Hashed),
    })
}
