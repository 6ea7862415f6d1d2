//! Who is calling?
//!
//! Asked before anything else of a request is looked at, the body above all. The credential alone decides (SHARE-28).

use crate::app::App;
use crate::guard::{RequestId, bearer, trace};
use crate::refusal::Refused;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use tabellion_core::access::unauthenticated;
use tabellion_core::error::Code;
use tabellion_engine::Call;

/// A request whose credential was accepted.
pub(crate) struct Authenticated(pub(crate) Call);

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let secret = bearer(&parts.headers).ok_or_else(unauthenticated)?;
        let caller = app.engine().recognise(secret).await?;
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
        Ok(Self(Call { caller, request_id, trace: trace(&parts.headers) }))
    }
}

/// A request whose credential is known, also if it is an agent service's, which is no caller.
pub(crate) struct Bearer {
    /// The credential.
    pub(crate) secret: String,
    /// The request's number.
    pub(crate) request_id: Option<String>,
}

impl FromRequestParts<Arc<App>> for Bearer {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let secret = bearer(&parts.headers).ok_or_else(unauthenticated)?.to_owned();
        match app.engine().recognise(&secret).await {
            Err(refusal) if refusal.code != Code::PairRequired => return Err(refusal.into()),
            Ok(_) | Err(_) => {}
        }
        Ok(Self { secret, request_id: parts.extensions.get::<RequestId>().map(|id| id.0.clone()) })
    }
}
