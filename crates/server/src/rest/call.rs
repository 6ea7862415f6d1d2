//! Who is calling?
//!
//! Asked before anything else of a request is looked at, the body above all. The credential alone decides (SHARE-28).

use crate::app::App;
use crate::guard::{RequestId, bearer, trace};
use crate::refusal::Refused;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::Call;

/// A request whose credential was accepted.
pub(crate) struct Authenticated(pub(crate) Call);

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refused> {
        let secret = bearer(&parts.headers).ok_or_else(no_credential)?;
        let caller = app.engine().authenticate(secret)?;
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
        Ok(Self(Call { caller, request_id, trace: trace(&parts.headers) }))
    }
}

fn no_credential() -> Refusal {
    Refusal::new(
        Code::Unauthenticated,
        "missing, unknown, revoked or expired key; send `Authorization: Bearer KEY`",
    )
}
