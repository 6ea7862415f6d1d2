//! What every call has in common: who calls, and how a refusal goes back.

use super::refusal;
use crate::app::App;
use crate::guard::Patience;
use crate::refusal::Refused;
use crate::rest::call::Authenticated;
use axum::extract::Request as HttpRequest;
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response as HttpResponse};
use std::sync::Arc;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::IDENTITY_FIELDS;
use tabellion_core::log::LogName;
use tabellion_engine::{Call, Engine};
use tonic::{Extensions, Request, Response, Status};

/// The service over one engine.
#[derive(Clone)]
pub(super) struct Memory {
    app: Arc<App>,
}

/// Lets in whoever has a credential; the call it proves travels with the request (SHARE-28).
pub(super) async fn admit(
    Authenticated(call): Authenticated,
    mut request: HttpRequest,
    next: Next,
) -> HttpResponse {
    if let Err(refused) = nobody_named(request.headers()) {
        return Refused(refused).into_response();
    }
    request.extensions_mut().insert(call);
    let response = next.run(request).await;
    // tonic refuses by itself what it cannot read; its status is not one of ours, because those carry their code.
    let unread = Status::from_header_map(response.headers())
        .filter(|_| !response.headers().contains_key(refusal::CODE));
    match unread.and_then(|status| refusal::unreadable(status.code())) {
        Some(refused) => Refused(refused).into_response(),
        None => response,
    }
}

/// Refuses metadata that would claim an identity, as a body that does is refused.
fn nobody_named(metadata: &HeaderMap) -> Result<(), Refusal> {
    let claims = |name: &&str| IDENTITY_FIELDS.contains(&name.replace('-', "_").as_str());
    let Some(name) = metadata.keys().map(HeaderName::as_str).find(claims) else { return Ok(()) };
    let expected = "no such metadata: the credential says who acts";
    let fault = Fault::new(format!("/metadata/{name}"), Code::IdentityInBody, expected);
    let message = "identity comes from the credential, not from other metadata";
    Err(Refusal::new(Code::IdentityInBody, message).with(vec![fault]))
}

impl Memory {
    pub(super) const fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    pub(super) const fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Answers one call: the operation's reply as a message, or its refusal as a status.
    pub(super) async fn answer<Q, R, A, F>(
        &self,
        request: Request<Q>,
        operation: impl FnOnce(Engine, Call, Q) -> F,
    ) -> Result<Response<A>, Status>
    where
        F: Future<Output = Result<R, Refusal>> + Send,
        A: From<R>,
    {
        let (_, extensions, asked) = request.into_parts();
        let call = caller(&extensions)?;
        drop(extensions);
        let request_id = call.request_id.clone();
        let replied = operation(self.app.engine().clone(), call, asked).await;
        replied
            .map(|reply| Response::new(reply.into()))
            .map_err(|refused| refusal::status(refused, request_id))
    }
}

/// Lets a write take as long as a person needs.
pub(super) fn patient<Q>(request: Request<Q>) -> Request<Q> {
    if let Some(patience) = request.extensions().get::<Arc<Patience>>() {
        patience.grant();
    }
    request
}

/// The call that `admit` proved.
pub(super) fn caller(extensions: &Extensions) -> Result<Call, Status> {
    let no_layer = || refusal::status(Refusal::new(Code::Internal, "no credential was asked for"), None);
    extensions.get::<Call>().cloned().ok_or_else(no_layer)
}

/// The log of this name; the memory's if none is given.
pub(super) fn log_named(word: Option<&str>) -> Result<LogName, Refusal> {
    let Some(word) = word else { return Ok(LogName::Memory) };
    LogName::from_word(word).ok_or_else(|| {
        let fault = Fault::new("/log", Code::ConstraintViolation, "one of memory, audit");
        Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /log").with(vec![fault])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_named_by_their_words() {
        assert_eq!(log_named(None), Ok(LogName::Memory));
        assert_eq!(log_named(Some("audit")), Ok(LogName::Audit));
        assert_eq!(log_named(Some("")).unwrap_err().errors[0].path, "/log");
    }

    /// SHARE-28: metadata beside the credential names nobody.
    #[test]
    fn metadata_claims_no_identity() {
        let check = |name: &'static str, passes: bool| {
            let metadata = HeaderMap::from_iter([(HeaderName::from_static(name), "x".parse().unwrap())]);
            assert_eq!(nobody_named(&metadata).is_ok(), passes, "{name}");
        };
        for name in ["user", "user_id", "user-id", "agent", "tenant-id", "owner"] {
            check(name, false);
        }
        for name in ["user-agent", "authorization", "x-request-id", "traceparent", "grpc-timeout"] {
            check(name, true);
        }
    }

    /// SHARE-28: a call that no credential let in does not reach the engine.
    #[test]
    fn no_credential_no_call() {
        assert_eq!(caller(&Extensions::new()).unwrap_err().code(), tonic::Code::Internal);
    }
}
