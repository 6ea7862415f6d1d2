//! `/v1/token`.

use crate::app::App;
use crate::refusal::{RefusalBody, Refused};
use crate::rest::body::{object_or_form, typed};
use crate::rest::call::Bearer;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use std::sync::Arc;

/// A token is for whoever asked for it, and for nobody's cache.
const UNCACHED: [(HeaderName, HeaderValue); 1] =
    [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];

/// Exchange an agent service's key and a user's token for a token of the pair
///
/// With the key of an agent without a user as the bearer. The token holds for at most 15 minutes, no longer than what it was
/// made from, and only while the user may invoke the agent. A form of RFC 8693 says the same as JSON.
#[utoipa::path(
    post, path = "/v1/token", tag = "principals", request_body = TokenExchangeBody,
    responses(
        (status = 200, description = "a token of the pair", body = ExchangedTokenBody),
        (status = 403, description = "no agent service, or no edge between the two", body = RefusalBody),
    )
)]
pub(crate) async fn exchange_token(
    State(app): State<Arc<App>>,
    bearer: Bearer,
    _: NoParams,
    request: Request,
) -> Result<([(HeaderName, HeaderValue); 1], Json<ExchangedTokenBody>), Refused> {
    let body: TokenExchangeBody = typed(object_or_form(request, &app).await?)?;
    let exchanged = app
        .engine()
        .exchange(&bearer.secret, &body.subject_token, body.expires_in, bearer.request_id)
        .await?;
    Ok((UNCACHED, Json(exchanged.into())))
}
