//! The page on which people decide: `/console/reviews`.
//!
//! HTML made here, without a script. The handlers ask the engine as those of REST do and decide nothing. INVARIANT (nothing
//! runs): every answer carries a policy that lets a browser load our style and nothing else, whatever a text says.

mod markup;
mod pages;
mod request;
mod session;

use crate::app::App;
use crate::dossier::Dossier;
use crate::readable::{Readable, ids_in};
use crate::rest::dto::ReviewBody;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use pages::{Frame, Said};
use request::{Form, Person, REVIEWS, came_over_tls, cookie, own_path, see_other, session_id};
use serde_json::{Value, json};
use session::Sessions;
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::OnConflict;
use tabellion_core::time::Timestamp;
use tabellion_engine::ports::{Clock, SystemClock};
use tabellion_engine::reply::{Ground, ReviewReply, Verdict, WriteStatus};
use tabellion_engine::{Call, Engine};
use tokio::time::Instant;

/// The built-in agent through which a person acts whose key names none.
const DIRECT: &str = "direct";

const STYLE: &str = include_str!("console/console.css");

/// What a browser may do with any answer from here.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Without any referrer a browser would hide where a form came from.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What the pages share.
struct Console {
    app: Arc<App>,
    sessions: Sessions,
    /// Whether this server itself speaks TLS.
    tls: bool,
}

impl Console {
    fn now(&self) -> Timestamp {
        self.app.clock().map_or_else(|| SystemClock.now(), |clock| clock.now())
    }
}

/// Every page.
pub(crate) fn router(app: &Arc<App>, tls: bool) -> Router {
    let console = Console { app: Arc::clone(app), sessions: Sessions::default(), tls };
    Router::new()
        .route("/console", get(home))
        .route("/console/", get(home))
        .route("/console/console.css", get(style))
        .route("/console/login", get(sign_in_form).post(sign_in))
        .route("/console/logout", post(sign_out))
        .route("/console/reviews", get(list))
        .route("/console/reviews/next", get(next))
        .route("/console/agents", get(agents))
        .route("/console/reviews/{id}", get(show).post(decide))
        .route("/console/{*rest}", any(async || pages::missing()))
        .layer(from_fn(with_headers))
        .with_state(Arc::new(console))
}

async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn home() -> Response {
    see_other(REVIEWS)
}

async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

/// A parameter of the query.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

async fn sign_in_form(uri: Uri) -> Response {
    let next = parameter(&uri, "next");
    pages::login(next.as_deref().and_then(own_path), None)
}

async fn sign_in(State(console): State<Arc<Console>>, headers: HeaderMap, form: Form) -> Response {
    let (key, next) = (form.get("key").trim(), own_path(form.get("next")));
    if let Err(refusal) = must_be_person(&console, key).await {
        let status = crate::status::http(refusal.code);
        return pages::login(next, Some((&refusal.message, status)));
    }
    if let Some(before) = session_id(&headers) {
        console.sessions.end(&before);
    }
    let id = console.sessions.begin(key, Instant::now());
    with_cookie(see_other(next.unwrap_or(REVIEWS)), Some(&id), &console, &headers)
}

async fn must_be_person(console: &Console, key: &str) -> Result<(), Refusal> {
    let caller = console.app.engine().recognise(key).await.map_err(|refusal| {
        let unknown = refusal.code == Code::Unauthenticated;
        let words = || Refusal::new(Code::Unauthenticated, "This key is unknown, revoked or expired.");
        if unknown { words() } else { refusal }
    })?;
    let who = console.app.engine().whoami(&Call { caller, request_id: None, trace: None }, None).await?;
    if who.agent.1 == DIRECT {
        return Ok(());
    }
    let message =
        "This key acts through an agent. Only a person decides: use a key that names a user and no agent.";
    Err(Refusal::new(Code::HumanRequired, message))
}

fn with_cookie(mut response: Response, id: Option<&str>, console: &Console, headers: &HeaderMap) -> Response {
    if let Some(cookie) = cookie(id, came_over_tls(headers, console.tls)) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

async fn sign_out(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    person: Person,
    form: Form,
) -> Response {
    if !person.session.gave(form.get("form_token")) {
        return pages::foreign();
    }
    console.sessions.end(&person.session_id);
    with_cookie(see_other("/console/login"), None, &console, &headers)
}

/// The name that the pages show.
async fn name(console: &Console, call: &Call) -> String {
    console.app.engine().whoami(call, None).await.map(|who| who.user.1).unwrap_or_default()
}

fn frame<'a>(name: &'a str, person: &'a Person) -> Frame<'a> {
    Frame { name, form_token: &person.session.form_token }
}

async fn list(State(console): State<Arc<Console>>, person: Person, uri: Uri) -> Response {
    let state = parameter(&uri, "state").unwrap_or_else(|| "pending".to_owned());
    let name = name(&console, &person.call).await;
    let frame = frame(&name, &person);
    match console.app.engine().reviews(&person.call, Some(&state)).await {
        Ok(reviews) => {
            let reviews: Vec<Value> = reviews.into_iter().map(as_sent).collect();
            pages::list(&frame, &state, &reviews, parameter(&uri, "news").and_then(|word| news(&word)))
        }
        Err(refusal) => pages::refused(Some(&frame), &refusal),
    }
}

/// The agents that may not write, for whoever may see them.
async fn agents(State(console): State<Arc<Console>>, person: Person) -> Response {
    let name = name(&console, &person.call).await;
    let frame = frame(&name, &person);
    match console.app.engine().agents(&person.call).await {
        Ok(agents) => pages::agents(&frame, &agents),
        Err(refusal) => pages::refused(Some(&frame), &refusal),
    }
}

/// What a decision came to. By a word, so that no link can put a text of its own on the page.
fn news(word: &str) -> Option<&'static str> {
    match word {
        "committed" => Some("Approved: it is remembered now."),
        "merged" => Some("Approved: it was added to an item that said the same."),
        "deferred" => Some("Your yes is noted. Another person must say yes too."),
        "rejected" => Some("Rejected: its author is told why."),
        _ => None,
    }
}

async fn next(State(console): State<Arc<Console>>, person: Person) -> Response {
    match console.app.engine().reviews(&person.call, Some("pending")).await {
        Ok(reviews) => match reviews.first() {
            Some(review) => see_other(&format!("{REVIEWS}/{}", review.id)),
            None => see_other(REVIEWS),
        },
        Err(refusal) => pages::refused(None, &refusal),
    }
}

async fn show(State(console): State<Arc<Console>>, person: Person, Path(id): Path<String>) -> Response {
    let name = name(&console, &person.call).await;
    let frame = frame(&name, &person);
    match dossier(&console, &person.call, &id).await {
        Ok(dossier) => pages::review(&frame, &dossier, None),
        Err(refusal) => pages::refused(Some(&frame), &refusal),
    }
}

async fn dossier(console: &Console, call: &Call, id: &str) -> Result<Dossier, Refusal> {
    let engine = console.app.engine();
    let review = as_sent(engine.review(call, id).await?);
    let mut items = Vec::new();
    for id in Dossier::touched(&review) {
        // What cannot be read is hidden from this person or gone; the page says so.
        if let Ok(item) = engine.get(call, &id, None).await {
            items.push((id, json!({"text": item.content.text})));
        }
    }
    let readable = readable(engine, call, &review);
    let items: Vec<(String, Value)> =
        items.into_iter().map(|(id, item)| (readable.text(&id), item)).collect();
    // The page is reached by the whole id.
    Ok(Dossier { id: own_id(id), ..Dossier::of(&readable.answer(&review), &items, console.now()) })
}

/// Names in place of the ids of a review.
fn readable(engine: &Engine, call: &Call, review: &Value) -> Readable {
    let ids = ids_in(review);
    let names = engine.names(call, ids.iter().copied()).unwrap_or_default();
    Readable::of(&ids, &json!(names))
}

/// A review as REST sends it.
fn as_sent(review: ReviewReply) -> Value {
    serde_json::to_value(ReviewBody::from(review)).unwrap_or_default()
}

async fn decide(
    State(console): State<Arc<Console>>,
    person: Person,
    Path(id): Path<String>,
    form: Form,
) -> Response {
    if !person.session.gave(form.get("form_token")) {
        return pages::foreign();
    }
    // A browser sends its line breaks as two characters.
    let reason = form.get("reason").trim().replace("\r\n", "\n");
    let (reason, category) = (reason.as_str(), form.get("category"));
    let approve = match form.get("decision") {
        "approve" => true,
        "reject" => false,
        _ => return see_other(&format!("{REVIEWS}/{}", own_id(&id))),
    };
    let verdict = Verdict {
        approve,
        reason: reason.to_owned(),
        ground: match category {
            "FACTUAL_ERROR" => Ground::Falsehood,
            "POLICY_VIOLATION" => Ground::Violation,
            _ => Ground::Other,
        },
        content_hash: Some(form.get("content_hash").to_owned()),
        on_conflict: OnConflict::from_word(form.get("on_conflict")),
    };
    match console.app.engine().decide(&person.call, &id, verdict).await {
        Ok(written) => see_other(&format!("{REVIEWS}?news={}", news_of(written.status))),
        Err(refusal) => not_decided(&console, &person, &id, &refusal, Said { reason, category }).await,
    }
}

/// An id with nothing in it that could lead elsewhere.
fn own_id(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

const fn news_of(status: WriteStatus) -> &'static str {
    match status {
        // A replay of the same yes: the item is remembered.
        WriteStatus::Committed | WriteStatus::AlreadyCommitted | WriteStatus::Quarantined => "committed",
        WriteStatus::Merged => "merged",
        WriteStatus::Deferred => "deferred",
        WriteStatus::Rejected => "rejected",
    }
}

/// The review again, with what stood in the way; the reason given is kept.
async fn not_decided(
    console: &Console,
    person: &Person,
    id: &str,
    refusal: &Refusal,
    said: Said<'_>,
) -> Response {
    let name = name(console, &person.call).await;
    let frame = frame(&name, person);
    match dossier(console, &person.call, id).await {
        Ok(dossier) => pages::review(&frame, &dossier, Some((refusal, said))),
        Err(_) => pages::refused(Some(&frame), refusal),
    }
}
