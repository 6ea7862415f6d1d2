//! What does a path name?
//!
//! A custom verb stands behind its id, `/v1/items/{id}:rollback`, so the router sees one segment. Here it is split: an id
//! never holds a colon. Each path behind which verbs stand has its own.

use crate::refusal::Refused;
use axum::extract::{FromRequestParts, MatchedPath, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use tabellion_core::error::{Code, Refusal};

const METHODS_OF_A_VERB: &str = "POST";

/// A path behind which verbs stand.
#[derive(Debug)]
pub(crate) struct Family {
    /// The path, as routed.
    pub(crate) path: &'static str,
    /// What it answers to without a verb; empty if to nothing.
    methods: &'static str,
    /// The verbs.
    pub(crate) verbs: &'static [&'static str],
}

/// What can be done to something that a path names.
pub(crate) trait Verb: Copy + 'static {
    /// Where it stands.
    const FAMILY: &'static Family;
    /// Each of them.
    const ALL: &'static [Self];

    /// The word in the path.
    fn as_str(self) -> &'static str;

    /// The verb that this word names.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.as_str() == word)
    }
}

macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident at $path:literal also $methods:literal { $($(#[$vdoc:meta])* $verb:ident = $word:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(crate) enum $name { $($(#[$vdoc])* $verb,)* }

            impl Verb for $name {
                const FAMILY: &'static Family = &Family { path: $path, methods: $methods, verbs: &[$($word,)*] };
                const ALL: &'static [Self] = &[$(Self::$verb,)*];

                fn as_str(self) -> &'static str {
                    match self { $(Self::$verb => $word,)* }
                }
            }
        )*

        /// Every path behind which verbs stand.
        pub(crate) const FAMILIES: &[&Family] = &[$($name::FAMILY,)*];
    };
}

verbs! {
    /// What can be done to an item.
    ItemVerb at "/v1/items/{id}" also "GET,HEAD,PUT,PATCH,DELETE" {
        /// Take the head back.
        Rollback = "rollback",
        /// Keep it from garbage collection.
        Pin = "pin",
        /// Let it go again.
        Unpin = "unpin",
        /// Keep it out of sight.
        Quarantine = "quarantine",
        /// Show it again.
        Release = "release",
    }

    /// What can be done to a write that is not memory.
    WriteVerb at "/v1/writes/{id}" also "GET,HEAD" {
        /// Send it through the gates once more.
        Reopen = "reopen",
    }

    /// What can be done to a held write.
    ReviewVerb at "/v1/reviews/{id}" also "GET,HEAD,PUT,DELETE" {
        /// Say yes or no.
        Decide = "decide",
    }

    /// What can be done with a resource.
    ResourceVerb at "/v1/resources/{id}" also "" {
        /// Call it.
        Call = "call",
        /// Let nobody call it; what was made with it stays.
        Retire = "retire",
        /// Put it back to work.
        Activate = "activate",
        /// Let it go for good, and hide what was made with it.
        Delete = "delete",
    }

    /// What can be done to a user.
    UserVerb at "/v1/users/{id}" also "GET,HEAD" {
        /// Take no credential of the user any more.
        Disable = "disable",
        /// Take them again.
        Enable = "enable",
        /// Change what the user may administer.
        Role = "role",
    }

    /// What can be done to an agent.
    AgentVerb at "/v1/agents/{id}" also "GET,HEAD" {
        /// Forbid it to write.
        Suspend = "suspend",
        /// Allow it again.
        Resume = "resume",
        /// Take back what it wrote.
        Revert = "revert",
        /// Let nobody call it; what it taught stays.
        Retire = "retire",
        /// Put it back to work.
        Activate = "activate",
        /// Let it go for good, and hide what it taught.
        Delete = "delete",
    }
}

impl Family {
    fn of(matched: &MatchedPath) -> Option<&'static Self> {
        FAMILIES.iter().copied().find(|family| family.path == matched.as_str())
    }

    fn verb(&self, word: &str) -> Option<&'static str> {
        self.verbs.iter().copied().find(|verb| *verb == word)
    }

    /// The verb at the end of a path, as it stands in the request line.
    fn verb_at_end_of(&self, path: &str) -> Option<&'static str> {
        let last = path.rsplit('/').next()?;
        let (_, word) =
            last.rsplit_once(':').or_else(|| last.rsplit_once("%3A")).or_else(|| last.rsplit_once("%3a"))?;
        self.verb(word)
    }

    /// The answer to a method that the path without a verb does not have.
    fn no_verb(&self) -> Response {
        if self.methods.is_empty() {
            return Refused(no_such_path()).into_response();
        }
        not_allowed(self.methods)
    }
}

/// The route that answers a path, verb included.
pub(super) fn template(matched: &MatchedPath, path: &str) -> String {
    match Family::of(matched).and_then(|family| family.verb_at_end_of(path)) {
        Some(verb) => format!("{}:{verb}", matched.as_str()),
        None => matched.as_str().to_owned(),
    }
}

/// An id, and no verb.
pub(crate) struct Id(pub(crate) String);

/// An id, and what is to be done.
pub(crate) struct Verbed<V> {
    pub(crate) id: String,
    pub(crate) verb: V,
}

impl<S: Sync + Send> FromRequestParts<S> for Id {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let family = parts.extensions.get::<MatchedPath>().and_then(Family::of);
        let segment = segment(parts, state).await?;
        let Some((_, word)) = segment.rsplit_once(':') else { return Ok(Self(segment)) };
        match family.and_then(|family| family.verb(word)) {
            Some(_) => Err(not_allowed(METHODS_OF_A_VERB)),
            // A name may hold a colon, an id never does.
            None if may_be_name(parts) => Ok(Self(segment)),
            None => Err(Refused(no_such_path()).into_response()),
        }
    }
}

impl<S: Sync + Send, V: Verb> FromRequestParts<S> for Verbed<V> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let segment = segment(parts, state).await?;
        let Some((id, word)) = segment.rsplit_once(':') else { return Err(V::FAMILY.no_verb()) };
        match V::from_word(word) {
            Some(verb) => Ok(Self { id: id.to_owned(), verb }),
            None => Err(Refused(no_such_path()).into_response()),
        }
    }
}

/// Whether what a path names may be named by its name.
fn may_be_name(parts: &Parts) -> bool {
    let matched = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    let families = ["/v1/users/{id}", "/v1/agents/{id}", "/v1/resources/{id}"];
    matched.is_some_and(|path| families.iter().any(|family| path.starts_with(family)))
}

/// An edge of an access graph: which graph, from whom, to what.
pub(crate) struct EdgeAt {
    pub(crate) graph: String,
    pub(crate) source: String,
    pub(crate) target: String,
}

impl EdgeAt {
    /// The three parts, as the engine takes them.
    pub(crate) fn parts(&self) -> (&str, &str, &str) {
        (&self.graph, &self.source, &self.target)
    }
}

impl<S: Sync + Send> FromRequestParts<S> for EdgeAt {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match Path::<(String, String, String)>::from_request_parts(parts, state).await {
            Ok(Path((graph, source, target))) => Ok(Self { graph, source, target }),
            Err(_) => Err(Refused(Refusal::new(Code::Malformed, "the path is not UTF-8")).into_response()),
        }
    }
}

/// A role and one of those who hold it.
pub(crate) struct MemberAt {
    pub(crate) role: String,
    pub(crate) member: String,
}

impl MemberAt {
    /// Both, as the engine takes them.
    pub(crate) fn parts(&self) -> (&str, &str) {
        (&self.role, &self.member)
    }
}

impl<S: Sync + Send> FromRequestParts<S> for MemberAt {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(Path((role, member))) => Ok(Self { role, member }),
            Err(_) => Err(Refused(Refusal::new(Code::Malformed, "the path is not UTF-8")).into_response()),
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

/// The answer to a method that a path does not have. The router adds what it knows of the path, which for an id and its
/// verbs is too much: they share a route.
pub(crate) async fn wrong_method(matched: MatchedPath, uri: Uri) -> Response {
    match Family::of(&matched) {
        None => Refused(no_such_method()).into_response(),
        Some(family) if family.verb_at_end_of(uri.path()).is_some() => not_allowed(METHODS_OF_A_VERB),
        Some(family) => family.no_verb(),
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
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(ItemVerb::FAMILY.verb_at_end_of(path), expected, "{path}");
        };
        check("/v1/items/itm_a:pin", Some("pin"));
        check("/v1/items/itm_a%3Arollback", Some("rollback"));
        check("/v1/items/itm_a:paint", None);
        check("/v1/items/itm_a:decide", None);
        check("/v1/items/itm_a", None);
        check("/v1/items/itm_a:pin/versions", None);
    }

    #[test]
    fn a_verb_is_one_of_its_own_path() {
        assert_eq!(ReviewVerb::from_word("decide"), Some(ReviewVerb::Decide));
        assert_eq!(ReviewVerb::from_word("pin"), None);
        assert_eq!(AgentVerb::ALL.len(), AgentVerb::FAMILY.verbs.len());
    }
}
