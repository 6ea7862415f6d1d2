//! A service that takes the arguments as a JSON object by POST, and answers with JSON.

use super::{Address, read};
use serde_json::{Map, Value};
use tabellion_engine::ports::{CallError, Callable};

/// A service behind an address.
pub(crate) struct HttpResource(pub(crate) Address);

impl Callable for HttpResource {
    fn call(&self, args: &Map<String, Value>) -> Result<Value, CallError> {
        let response = self.0.send(&Value::Object(args.clone()), &[("accept", "application/json")])?;
        serde_json::from_slice(&read(response)?).map_err(|_| CallError::Nonsense("its answer is not JSON"))
    }
}
