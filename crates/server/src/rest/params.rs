//! What does a query string ask?
//!
//! Takes the known parameters out; what is left at the end is unknown. Every fault is told, at `/query/…`.

use super::body::step;
use crate::refusal::Refused;
use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use std::collections::BTreeMap;
use tabellion_core::error::{Code, Fault, Refusal};

/// Where parameters stand in a pointer.
const PLACE: &str = "/query";

/// Parameters of one request, until they are taken.
#[derive(Debug)]
pub(crate) struct Params {
    given: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

/// The refusal of an operation whose fields came as parameters: the engine names them without saying where they stood.
pub(crate) fn in_query(mut refusal: Refusal) -> Refusal {
    for fault in &mut refusal.errors {
        if !fault.path.starts_with(PLACE) {
            fault.path.insert_str(0, PLACE);
        }
    }
    refusal
}

/// A request that has no parameters.
pub(crate) struct NoParams;

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self::of(&parts.uri)?)
    }
}

impl<S: Sync> FromRequestParts<S> for NoParams {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Params::of(&parts.uri)?.finish()?;
        Ok(Self)
    }
}

impl Params {
    fn of(uri: &Uri) -> Result<Self, Refusal> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| Refusal::new(Code::Malformed, "the query string cannot be read"))?;
        let mut params = Self { given: BTreeMap::new(), faults: Vec::new() };
        for (name, value) in pairs {
            if params.given.contains_key(&name) {
                params.fault(&name, Code::ConstraintViolation, "given once");
            }
            params.given.insert(name, value);
        }
        Ok(params)
    }

    fn fault(&mut self, name: &str, code: Code, expected: &str) {
        self.faults.push(Fault::new(format!("{PLACE}/{}", step(name)), code, expected));
    }

    /// A parameter as it stands.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.given.remove(name)
    }

    /// A text that must be there.
    pub(crate) fn required_text(&mut self, name: &str, expected: &str) -> String {
        if !self.given.contains_key(name) {
            self.fault(name, Code::MissingRequiredField, expected);
        }
        self.text(name).unwrap_or_default()
    }

    /// A whole number.
    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.given.remove(name)?;
        // `parse` alone would take a sign.
        let number = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        if number.is_none() {
            self.fault(name, Code::TypeMismatch, "a whole number, 0 or more");
        }
        number
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.word(name, |text| text.parse().ok(), "true, false")
    }

    /// A whole number that must be there.
    pub(crate) fn required(&mut self, name: &str) -> u64 {
        if !self.given.contains_key(name) {
            self.fault(name, Code::MissingRequiredField, "a whole number, 0 or more");
        }
        self.number(name).unwrap_or_default()
    }

    /// A word out of a list.
    pub(crate) fn word<T>(&mut self, name: &str, of: impl Fn(&str) -> Option<T>, words: &str) -> Option<T> {
        let text = self.given.remove(name)?;
        let value = of(&text);
        if value.is_none() {
            self.fault(name, Code::ConstraintViolation, &format!("one of {words}"));
        }
        value
    }

    /// Refuses if anything is wrong or left.
    pub(crate) fn finish(mut self) -> Result<(), Refusal> {
        for name in std::mem::take(&mut self.given).into_keys() {
            self.fault(&name, Code::UnknownField, "one of the documented parameters");
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        let places: Vec<&str> = self.faults.iter().take(5).map(|fault| fault.path.as_str()).collect();
        let message = format!("{} parameter(s) break a rule: {}", self.faults.len(), places.join(", "));
        Err(Refusal::new(Code::SchemaInvalid, message).with(self.faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        Params::of(&format!("/v1/items?{query}").parse().unwrap()).unwrap()
    }

    fn check(query: &str, expected: &[(&str, Code)]) {
        let mut params = params(query);
        params.text("cursor");
        params.number("limit");
        let faults = params.finish().map_or_else(|refusal| refusal.errors, |()| Vec::new());
        let found: Vec<_> = faults.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn every_fault_is_told() {
        check("limit=5&cursor=a%20b", &[]);
        check("", &[]);
        check("limit=-1", &[("/query/limit", Code::TypeMismatch)]);
        check("limit=%2B1", &[("/query/limit", Code::TypeMismatch)]);
        check("limit=", &[("/query/limit", Code::TypeMismatch)]);
        check("limit=1&limit=2", &[("/query/limit", Code::ConstraintViolation)]);
        check(
            "limit=x&colour=red",
            &[("/query/limit", Code::TypeMismatch), ("/query/colour", Code::UnknownField)],
        );
    }

    #[test]
    fn values_are_decoded() {
        assert_eq!(params("a=%C3%A9+b").text("a").as_deref(), Some("\u{e9} b"));
        assert_eq!(params("n=7").required("n"), 7);
        let mut absent = params("");
        absent.required("n");
        assert_eq!(absent.finish().unwrap_err().errors[0].code, Code::MissingRequiredField);
    }
}
