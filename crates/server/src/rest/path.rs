//! What does a path name?
//!
//! A custom verb stands behind its id, `/v1/items/{id}:rollback`, so the router sees one segment. Here it is split: an id
//! never holds a colon.

use crate::refusal::Refused;
use axum::extract::{FromRequestParts, MatchedPath, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use tabellion_core::error::{Code, Refusal};

/// The path behind which verbs stand.
pub(super) const ITEM: &str = "/v1/items/{id}";

const METHODS_OF_AN_ITEM: &str = "GET,HEAD,PUT,DELETE";
const METHODS_OF_A_VERB: &str = "POST";

/// An id, and no verb.
pub(crate) struct Id(pub(crate) String);

/// An item and what is to be done to it.
pub(crate) struct ItemVerb {
    pub(crate) id: String,
    pub(crate) verb: Verb,
}

/// What can be done to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Take the head back.
    Rollback,
    /// Keep it from garbage collection.
    Pin,
    /// Let it go again.
    Unpin,
}

impl Verb {
    pub(crate) const ALL: [Self; 3] = [Self::Rollback, Self::Pin, Self::Unpin];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rollback => "rollback",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }

    /// The verb at the end of a path, as it stands in the request line.
    pub(crate) fn at_end_of(path: &str) -> Option<Self> {
        let last = path.rsplit('/').next()?;
        let (_, word) =
            last.rsplit_once(':').or_else(|| last.rsplit_once("%3A")).or_else(|| last.rsplit_once("%3a"))?;
        Self::from_word(word)
    }
}

impl<S: Sync + Send> FromRequestParts<S> for Id {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let segment = segment(parts, state).await?;
        match segment.rsplit_once(':') {
            None => Ok(Self(segment)),
            Some((_, word)) if Verb::from_word(word).is_some() => Err(not_allowed(METHODS_OF_A_VERB)),
            Some(_) => Err(Refused(no_such_path()).into_response()),
        }
    }
}

impl<S: Sync + Send> FromRequestParts<S> for ItemVerb {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let segment = segment(parts, state).await?;
        match segment.rsplit_once(':') {
            None => Err(not_allowed(METHODS_OF_AN_ITEM)),
            Some((id, word)) => match Verb::from_word(word) {
                Some(verb) => Ok(Self { id: id.to_owned(), verb }),
                None => Err(Refused(no_such_path()).into_response()),
            },
        }
    }
}

async fn segment<S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<String, Response> {
    match Path::<String>::from_request_parts(parts, state).await {
        Ok(Path(segment)) => Ok(segment),
        Err(_) => Err(Refused(Refusal::new(Code::Malformed, "the path is not UTF-8")).into_response()),
    }
}

/// The answer to a path that nothing is at.
pub(crate) fn no_such_path() -> Refusal {
    Refusal::new(Code::NotFound, "no such path; /openapi.json lists them all")
}

/// The answer to a method that a path does not have. The router adds what it knows of the path, which for an item and its
/// verbs is too much: they share a route.
pub(crate) async fn wrong_method(matched: MatchedPath, uri: Uri) -> Response {
    match (matched.as_str() == ITEM, Verb::at_end_of(uri.path())) {
        (false, _) => Refused(no_such_method()).into_response(),
        (true, None) => not_allowed(METHODS_OF_AN_ITEM),
        (true, Some(_)) => not_allowed(METHODS_OF_A_VERB),
    }
}

fn no_such_method() -> Refusal {
    Refusal::new(Code::MethodNotAllowed, "this path has other methods; the header `allow` lists them")
}

fn not_allowed(methods: &'static str) -> Response {
    let mut response = Refused(no_such_method()).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_found_in_raw_paths() {
        assert_eq!(Verb::at_end_of("/v1/items/itm_a:pin"), Some(Verb::Pin));
        assert_eq!(Verb::at_end_of("/v1/items/itm_a%3Arollback"), Some(Verb::Rollback));
        assert_eq!(Verb::at_end_of("/v1/items/itm_a:paint"), None);
        assert_eq!(Verb::at_end_of("/v1/items/itm_a"), None);
        assert_eq!(Verb::at_end_of("/v1/items/itm_a:pin/versions"), None);
    }
}
