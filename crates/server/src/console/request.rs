//! What did a browser send, and may it?

use super::session::{LIFETIME, Session};
use super::{Console, pages};
use crate::guard::RequestId;
use crate::rest::body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use std::sync::Arc;
use tabellion_core::error::Kind;
use tabellion_engine::Call;
use tokio::time::Instant;

const COOKIE: &str = "tabellion_console";
const FORM_BYTES_MAX: usize = 64 << 10;
/// What paths behind a sign-in begin with.
pub(super) const REVIEWS: &str = "/console/reviews";

/// A request of someone who is signed in.
pub(super) struct Person {
    /// Who.
    pub(super) call: Call,
    /// The session.
    pub(super) session: Session,
    /// Its number.
    pub(super) session_id: String,
}

impl FromRequestParts<Arc<Console>> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Arc<Console>) -> Result<Self, Response> {
        let sign_in = || to_sign_in(&parts.method, &parts.uri);
        let session_id = session_id(&parts.headers).ok_or_else(sign_in)?;
        let session = console.sessions.find(&session_id, Instant::now()).ok_or_else(sign_in)?;
        console.app.take(&session.key).map_err(|refusal| pages::refused(None, &refusal))?;
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
        match console.app.engine().recognise(&session.key).await {
            Ok(caller) => Ok(Self { call: Call { caller, request_id, trace: None }, session, session_id }),
            Err(refusal) if refusal.code.kind() == Kind::Unauthenticated => {
                console.sessions.end(&session_id);
                Err(sign_in())
            }
            Err(refusal) => Err(pages::refused(None, &refusal)),
        }
    }
}

/// The number of the session that the browser holds.
pub(super) fn session_id(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned())
}

/// The cookie that holds a session's number; without one, the cookie that makes the browser forget it.
pub(super) fn cookie(id: Option<&str>, is_secure: bool) -> Option<HeaderValue> {
    let (id, seconds) = id.map_or(("", 0), |id| (id, LIFETIME.as_secs()));
    let secure = if is_secure { "; Secure" } else { "" };
    let line = format!("{COOKIE}={id}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&line).ok()
}

/// The way to the form for signing in, and from there back to what was wanted.
fn to_sign_in(method: &Method, uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map(|path| path.as_str()).filter(|_| method == Method::GET);
    match wanted.and_then(own_path) {
        Some(path) => {
            let path: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
            see_other(&format!("/console/login?next={path}"))
        }
        None => see_other("/console/login"),
    }
}

/// A path of this console, and nothing that leads elsewhere.
pub(super) fn own_path(path: &str) -> Option<&str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/_?=-".contains(&byte);
    (path.starts_with(REVIEWS) && path.bytes().all(fits)).then_some(path)
}

/// Sends the browser on, by GET.
pub(super) fn see_other(path: &str) -> Response {
    match HeaderValue::from_str(path) {
        Ok(path) => (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// The fields of a form that one of these pages sent.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// A field; nothing, if it did not come.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        if !is_own(&parts.headers, &parts.uri) {
            return Err(pages::foreign());
        }
        let bytes = body::read(&parts.headers, body, FORM_BYTES_MAX).await;
        let bytes = bytes.map_err(|refusal| pages::refused(None, &refusal))?;
        Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}

/// Whether a form was sent by a page of this server, as far as the browser tells. The token in it says so too: this also
/// covers the form for signing in, which has none.
fn is_own(headers: &HeaderMap, uri: &Uri) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if let Some(site) = text("sec-fetch-site") {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text("origin") else { return true };
    let host = text("host").or_else(|| uri.authority().map(|authority| authority.as_str()));
    origin.split_once("://").map(|(_, place)| place) == host
}

/// Whether the browser came over TLS: to this server, or to a proxy before it that says so.
pub(super) fn came_over_tls(headers: &HeaderMap, own_tls: bool) -> bool {
    own_tls || headers.get("x-forwarded-proto").is_some_and(|value| value.as_bytes() == b"https")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_forms_of_this_server_are_taken() {
        let check = |pairs: &[(&'static str, &str)], expected: bool| {
            assert_eq!(is_own(&headers(pairs), &Uri::from_static("/console/login")), expected, "{pairs:?}");
        };
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "same-site"), ("origin", "http://h"), ("host", "h")], false);
        check(&[("origin", "http://127.0.0.1:7600"), ("host", "127.0.0.1:7600")], true);
        check(&[("origin", "http://evil.example"), ("host", "127.0.0.1:7600")], false);
        check(&[("origin", "null"), ("host", "127.0.0.1:7600")], false);
        check(&[], true);
    }

    #[test]
    fn nobody_is_sent_elsewhere() {
        assert_eq!(own_path("/console/reviews/rev_a"), Some("/console/reviews/rev_a"));
        assert_eq!(own_path("/console/reviews?state=approved"), Some("/console/reviews?state=approved"));
        for bad in [
            "",
            "//evil.example",
            "https://evil.example",
            "/console/reviews\r\nx: y",
            "/console/logout",
            "/console/reviews@x",
        ] {
            assert_eq!(own_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_cookie_is_for_this_site_and_no_script() {
        let line = cookie(Some("ab"), true).unwrap();
        assert_eq!(
            line,
            "tabellion_console=ab; Path=/console; Max-Age=28800; HttpOnly; SameSite=Strict; Secure"
        );
        assert!(cookie(None, false).unwrap().to_str().unwrap().contains("Max-Age=0"));
        let sent = headers(&[("cookie", "a=b; tabellion_console=ab; c=d")]);
        assert_eq!(session_id(&sent).as_deref(), Some("ab"));
        assert_eq!(session_id(&headers(&[("cookie", "xtabellion_console=ab")])), None);
    }
}
