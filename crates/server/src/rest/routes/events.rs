//! `/v1/reviews:events`: news of held writes, as server-sent events.

use crate::app::App;
use crate::guard::bearer;
use crate::refusal::Refused;
use crate::rest::call::Authenticated;
use crate::rest::dto::*;
use crate::rest::params::NoParams;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tabellion_core::error::Refusal;
use tabellion_engine::{Call, Notice};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Interval, interval};

/// Between two signs of life; whoever sits between server and client closes what stays silent for much longer.
const BEAT: Duration = Duration::from_secs(15);

/// Follow held writes
///
/// Server-sent events: `event: review` of the held writes that the caller may see, what happened and never what they say, and
/// `event: pair` of agents whose writes for the caller, or for anybody where the caller sets policies, are held. A comment
/// comes at once and every 15 s. Whoever falls far behind misses some; the list has everything.
#[utoipa::path(
    get, path = "/v1/reviews:events", tag = "reviews",
    responses((status = 200, description = "events, for as long as the client listens", body = NoticeBody, content_type = "text/event-stream"))
)]
pub(crate) async fn follow_reviews(
    State(app): State<Arc<App>>,
    Authenticated(call): Authenticated,
    headers: HeaderMap,
    _: NoParams,
) -> Result<Response, Refused> {
    let follower = Follower {
        notices: app.engine().notices(&call)?,
        end: Box::pin(app.end()),
        beat: interval(BEAT),
        secret: bearer(&headers).unwrap_or_default().to_owned(),
        request_id: call.request_id,
        app,
    };
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(follower.stream())).into_response())
}

/// One client that listens.
struct Follower {
    app: Arc<App>,
    secret: String,
    request_id: Option<String>,
    notices: Receiver<Notice>,
    beat: Interval,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Follower {
    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        futures::stream::unfold(
            self,
            |mut follower| async move { Some((Ok(follower.next().await?), follower)) },
        )
    }

    /// What to send next; nothing once the server ends, or the credential does.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let said = tokio::select! {
                () = &mut self.end => return None,
                _ = self.beat.tick() => self.caller().ok().map(|_| Some(comment("listening")))?,
                notice = self.notices.recv() => match notice {
                    Ok(notice) => self.told(notice).ok()?,
                    Err(RecvError::Lagged(_)) => Some(comment("some were missed; list the reviews")),
                    Err(RecvError::Closed) => return None,
                },
            };
            if said.is_some() {
                return said;
            }
        }
    }

    /// Who listens, asked anew each time: a revoked key ends here and now.
    fn caller(&self) -> Result<Call, Refusal> {
        let caller = self.app.engine().authenticate(&self.secret)?;
        Ok(Call { caller, request_id: self.request_id.clone(), trace: None })
    }

    /// The event of a notice, if this caller may hear of it.
    fn told(&self, notice: Notice) -> Result<Option<Bytes>, Refusal> {
        let call = self.caller()?;
        if !self.app.engine().may_hear(&call, &notice) {
            return Ok(None);
        }
        let notice = NoticeBody::from(notice);
        let data = serde_json::to_string(&notice).unwrap_or_default();
        Ok(Some(format!("event: {}\ndata: {data}\n\n", notice.event()).into()))
    }
}

fn comment(text: &str) -> Bytes {
    format!(": {text}\n\n").into()
}
