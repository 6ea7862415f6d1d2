//! Says in the words of JSON what serde says in the words of Rust.
//!
//! serde reports a misfit as a sentence only. Its beginnings and the names of its types are unchanged since its first release;
//! a sentence of another form is a rule of our own and is passed on as it is.

use super::{Code, Fault};

impl Fault {
    /// Makes the fault of a value that serde could not read: where it stands, and serde's words.
    #[must_use]
    pub fn of_misfit(at: &str, words: &str) -> Self {
        // A JSON text adds where the value stood; the path says it better.
        let words = words.split(" at line ").next().unwrap_or(words);
        let quoted = || words.split('`').nth(1).unwrap_or_default();
        let expected = words.rsplit_once("expected ").map(|(_, expected)| in_json(expected));
        if words.starts_with("missing field") {
            Self::new(format!("{at}/{}", step(quoted())), Code::MissingRequiredField, "a value")
        } else if words.starts_with("unknown field") {
            // A path often ends in the name of the unknown field already.
            let name = step(quoted());
            let known = at.rsplit('/').next() == Some(name.as_str());
            let path = if known { at.to_owned() } else { format!("{at}/{name}") };
            Self::new(path, Code::UnknownField, "one of the documented fields")
        } else if words.starts_with("unknown variant") {
            let known = expected.unwrap_or_else(|| "one of the documented words".to_owned());
            Self::new(at, Code::ConstraintViolation, known)
        } else if words.starts_with("invalid type") {
            let fault =
                Self::new(at, Code::TypeMismatch, expected.unwrap_or_else(|| "another type".to_owned()));
            match found(words) {
                Some(found) => fault.found(found),
                None => fault,
            }
        } else if words.starts_with("data did not match") {
            Self::new(at, Code::TypeMismatch, "one of the documented forms")
        } else {
            Self::new(at, Code::ConstraintViolation, expected.unwrap_or_else(|| words.to_owned()))
        }
    }
}

/// A name as a step of a JSON pointer, cut to a length that fits an answer.
fn step(name: &str) -> String {
    name.chars().take(64).collect::<String>().replace('~', "~0").replace('/', "~1")
}

/// The type that came, as JSON calls it.
fn found(words: &str) -> Option<&'static str> {
    let came = words.strip_prefix("invalid type: ")?;
    let names = [
        ("boolean", "a boolean"),
        ("integer", "a number"),
        ("floating point", "a number"),
        ("string", "a string"),
        ("character", "a string"),
        ("null", "null"),
        ("unit", "null"),
        ("sequence", "an array"),
        ("map", "an object"),
    ];
    names.into_iter().find(|(rust, _)| came.starts_with(rust)).map(|(_, json)| json)
}

/// Says what serde expected in the words of JSON: `u8` is a whole number from 0 to 255.
#[must_use]
pub fn in_json(expected: &str) -> String {
    let (low, word) = match expected.strip_prefix("a nonzero ") {
        Some(word) => (1, word),
        None => (0, expected),
    };
    let whole = |max: String| format!("a whole number from {low} to {max}");
    match word {
        "u8" => whole(u8::MAX.to_string()),
        "u16" => whole(u16::MAX.to_string()),
        "u32" => whole(u32::MAX.to_string()),
        "u64" | "usize" | "u128" => whole(u64::MAX.to_string()),
        "i8" => signed(i8::MIN.into(), i8::MAX.into()),
        "i16" => signed(i16::MIN.into(), i16::MAX.into()),
        "i32" => signed(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" | "i128" => signed(i64::MIN, i64::MAX),
        "integer" | "an integer" => "a whole number".to_owned(),
        "f32" | "f64" | "floating point number" => "a number".to_owned(),
        "bool" | "a boolean" => "true or false".to_owned(),
        "unit" | "null" => "null".to_owned(),
        "a character" | "a borrowed string" | "str" | "string" => "a string".to_owned(),
        "option" => "a value or null".to_owned(),
        _ if is_list(word) => "an array".to_owned(),
        _ if is_object(word) => "an object".to_owned(),
        _ if word.contains("identifier") || word.starts_with("variant") || word.starts_with("enum ") => {
            "one of the documented words".to_owned()
        }
        // "one of `a`, `b`", "`a` or `b`", and what rules of our own say.
        _ => word.replace('`', ""),
    }
}

fn signed(min: i64, max: i64) -> String {
    format!("a whole number from {min} to {max}")
}

fn is_list(word: &str) -> bool {
    ["a sequence", "sequence", "an array", "a tuple", "tuple", "struct tuple", "byte array", "bytes"]
        .iter()
        .any(|start| word.starts_with(start))
        || (word.starts_with("struct ") && word.contains(" with "))
}

fn is_object(word: &str) -> bool {
    [
        "a map",
        "map",
        "struct ",
        "internally tagged enum",
        "adjacently tagged enum",
        "string or map",
        "unit struct",
    ]
    .iter()
    .any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only how it is misread matters")]
    enum Shape {
        Round { size: Option<u8> },
        Long { parts: Vec<i32>, name: (String, f64), inner: Inner },
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "as for Shape")]
    struct Inner {
        yes: bool,
        word: Word,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        First,
        Second,
    }

    #[track_caller]
    fn check(body: Value, path: &str, code: Code, expected: &str) {
        let words = serde_json::from_value::<Shape>(body).unwrap_err().to_string();
        let fault = Fault::of_misfit("", &words);
        assert_eq!(
            (fault.path.as_str(), fault.code, fault.expected.as_deref()),
            (path, code, Some(expected)),
            "{words}"
        );
    }

    #[test]
    fn no_type_of_rust_is_named() {
        let long = |parts: Value, name: Value, inner: Value| json!({"kind": "long", "parts": parts, "name": name, "inner": inner});
        let inner = json!({"yes": true, "word": "first"});
        check(json!({}), "/kind", Code::MissingRequiredField, "a value");
        check(json!({"kind": "square"}), "", Code::ConstraintViolation, "round or long");
        check(json!({"kind": "round", "size": "x"}), "", Code::TypeMismatch, "a whole number from 0 to 255");
        check(
            json!({"kind": "round", "size": 300}),
            "",
            Code::ConstraintViolation,
            "a whole number from 0 to 255",
        );
        check(
            json!({"kind": "round", "colour": 1}),
            "/colour",
            Code::UnknownField,
            "one of the documented fields",
        );
        check(long(json!({}), json!([]), inner.clone()), "", Code::TypeMismatch, "an array");
        check(long(json!([1]), json!(["a"]), inner.clone()), "", Code::ConstraintViolation, "an array");
        check(long(json!([1]), json!(["a", "b"]), inner.clone()), "", Code::TypeMismatch, "a number");
        check(long(json!([1]), json!(["a", 1]), json!(7)), "", Code::TypeMismatch, "an object");
        check(long(json!([1]), json!(["a", 1]), json!({"yes": 1})), "", Code::TypeMismatch, "true or false");
        let strange = json!({"yes": true, "word": "third"});
        check(long(json!([1]), json!(["a", 1]), strange), "", Code::ConstraintViolation, "first or second");
        check(json!({"kind": "long", "parts": []}), "/name", Code::MissingRequiredField, "a value");
    }

    #[test]
    fn what_came_is_named_as_json_names_it() {
        let words = serde_json::from_str::<u8>("[1]").unwrap_err().to_string();
        let fault = Fault::of_misfit("/n", &words);
        assert_eq!((fault.path.as_str(), fault.actual.as_deref()), ("/n", Some("an array")), "{words}");
    }
}
