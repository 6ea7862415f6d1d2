//! What a call must be given: a JSON Schema over the arguments of a resource (SHARE-26).

use super::document::Document;
use super::{SCHEMA_DEPTH_MAX, depth, judge, refuse, within};
use crate::error::{Code, Fault, Refusal};
use serde_json::{Map, Value};

/// The bytes of the arguments of one call.
const ARGUMENTS_BYTES_MAX: usize = 65_536;

/// The arguments that a resource takes, ready to judge.
#[derive(Debug, Clone)]
pub struct Arguments {
    schema: Value,
    document: Document,
}

impl Arguments {
    /// Makes a JSON Schema (draft 2020-12) ready to judge.
    ///
    /// # Errors
    /// With every fault found, as for the schema of a kind.
    pub fn compile(schema: Value) -> Result<Self, Refusal> {
        within(&schema, SCHEMA_DEPTH_MAX)?;
        // There the schema of a kind is one part of what is sent; here it is all.
        let alone = |fault: Fault| {
            let path = fault.path.strip_prefix("/document").unwrap_or(&fault.path).to_owned();
            Fault { path, ..fault }
        };
        let document =
            Document::compile(&schema).map_err(|faults| refuse(faults.into_iter().map(alone).collect()))?;
        Ok(Self { schema, document })
    }

    /// The schema as it was given.
    #[must_use]
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// Refuses arguments that are not of the schema.
    ///
    /// # Errors
    /// With every fault found, up to 100, each with its path below `/args`.
    pub fn check(&self, args: &Map<String, Value>) -> Result<(), Refusal> {
        let value = Value::Object(args.clone());
        let faults = if depth(&value) > SCHEMA_DEPTH_MAX || value.to_string().len() > ARGUMENTS_BYTES_MAX {
            let expected = format!("{ARGUMENTS_BYTES_MAX} bytes, nested {SCHEMA_DEPTH_MAX} deep, at most");
            vec![Fault::new("", Code::ConstraintViolation, expected)]
        } else {
            judge::judge(&self.document, &value)
        };
        if faults.is_empty() {
            return Ok(());
        }
        let below = |fault: Fault| Fault { path: format!("/args{}", fault.path), ..fault };
        let message = "the arguments are not what this resource takes; `errors` says where";
        Err(Refusal::new(Code::SchemaInvalid, message).with(faults.into_iter().map(below).collect()))
    }

    /// Whether words alone are enough: an object whose one needed member is the text `query`.
    #[must_use]
    pub fn takes_query(&self) -> bool {
        let asked: Map<String, Value> = [("query".to_owned(), Value::from("words"))].into_iter().collect();
        self.check(&asked).is_ok() && self.check(&Map::new()).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments() -> Arguments {
        let properties = json!({"query": {"type": "string"}, "top_k": {"type": "integer", "maximum": 5}});
        Arguments::compile(json!({"type": "object", "properties": properties, "required": ["query"],
                                  "additionalProperties": false}))
        .unwrap()
    }

    fn paths(args: &Value) -> Vec<String> {
        let refused = arguments().check(args.as_object().unwrap());
        refused.map_or_else(
            |refusal| refusal.errors.into_iter().map(|fault| fault.path).collect(),
            |()| Vec::new(),
        )
    }

    /// SHARE-26: each fault has its path, below the arguments.
    #[test]
    fn faults_are_told_by_their_place() {
        assert!(paths(&json!({"query": "a", "top_k": 5})).is_empty());
        assert_eq!(paths(&json!({"query": 5})), ["/args/query"]);
        assert_eq!(paths(&json!({})), ["/args/query"]);
        let mut both = paths(&json!({"query": "a", "top_k": 9, "x": 1}));
        both.sort();
        assert_eq!(both, ["/args/top_k", "/args/x"]);
        assert_eq!(paths(&json!({"query": "a".repeat(ARGUMENTS_BYTES_MAX)})), ["/args"]);
    }

    #[test]
    fn some_resources_take_words_alone() {
        assert!(arguments().takes_query());
        let two = json!({"type": "object", "required": ["query", "year"]});
        assert!(!Arguments::compile(two).unwrap().takes_query());
        assert!(!Arguments::compile(json!({})).unwrap().takes_query(), "nothing says that it takes a query");
        assert_eq!(Arguments::compile(json!({"type": 5})).unwrap_err().errors[0].path, "/type");
    }
}
