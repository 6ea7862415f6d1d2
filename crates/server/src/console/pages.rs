//! What does a reviewer see?
//!
//! Pages that work without a script, on a small screen and with a keyboard alone. Knows nothing of how a decision is made.

use super::markup::Html;
use super::request::REVIEWS;
use crate::dossier::{Comparison, Dossier, Factor, Piece, Source, is_kept_apart, visible_line};
use crate::status;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;
use tabellion_core::error::Refusal;
use tabellion_engine::reply::AgentReply;

/// Characters of a text in the list.
const PREVIEW_CHARS_MAX: usize = 200;

/// The states of a review, with their names for people.
const STATES: [(&str, &str); 5] = [
    ("pending", "Waiting"),
    ("approved", "Approved"),
    ("rejected", "Rejected"),
    ("withdrawn", "Withdrawn"),
    ("timed_out", "Timed out"),
];

/// What every page of a person who is signed in shows.
pub(super) struct Frame<'a> {
    /// The person's name.
    pub(super) name: &'a str,
    /// What the form for signing out must bring back.
    pub(super) form_token: &'a str,
}

/// What a decision said, to be kept if it was not accepted.
#[derive(Default)]
pub(super) struct Said<'a> {
    /// The reason.
    pub(super) reason: &'a str,
    /// The sort of a no.
    pub(super) category: &'a str,
}

/// A whole page.
fn page(title: &str, frame: Option<&Frame<'_>>, body: &Html) -> Html {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
        .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        .raw("<meta name=\"color-scheme\" content=\"light dark\"><title>")
        .text(title)
        .raw(" · Tabellion</title><link rel=\"stylesheet\" href=\"/console/console.css\"></head><body>")
        .raw("<a class=\"skip\" href=\"#main\">Skip to content</a><header><p><a class=\"brand\" href=\"/console/reviews\">Tabellion</a></p>");
    if let Some(frame) = frame {
        html.raw("<form method=\"post\" action=\"/console/logout\">");
        token(&mut html, frame.form_token);
        html.raw("<span class=\"who\">")
            .text(&visible_line(frame.name))
            .raw("</span> <button type=\"submit\">Sign out</button></form>");
    }
    html.raw("</header><main id=\"main\" tabindex=\"-1\">").put(body).raw("</main></body></html>\n");
    html
}

fn token(html: &mut Html, form_token: &str) {
    html.raw("<input type=\"hidden\" name=\"form_token\"").attr("value", form_token).raw(">");
}

fn alert(html: &mut Html, text: &str) {
    html.raw("<div class=\"alert\" role=\"alert\"><p>").text(text).raw("</p></div>");
}

/// A refusal as people read it.
fn said_no(refusal: &Refusal) -> String {
    let mut text = visible_line(&refusal.message);
    for fault in &refusal.errors {
        let expected =
            fault.expected.as_deref().map(|expected| format!(": expected {}", visible_line(expected)));
        text.push_str(&format!(" — {}{}", visible_line(&fault.path), expected.unwrap_or_default()));
    }
    format!("{text} ({})", refusal.code.as_str())
}

/// The page of a refusal that no other page can show.
pub(super) fn refused(frame: Option<&Frame<'_>>, refusal: &Refusal) -> Response {
    let mut body = Html::default();
    body.raw("<h1>That did not work</h1>");
    alert(&mut body, &said_no(refusal));
    body.raw("<p><a href=\"/console/reviews\">Back to the list</a></p>");
    page("That did not work", frame, &body).answer(status::http(refusal.code))
}

fn plain(title: &'static str, text: &'static str, status: StatusCode) -> Response {
    let mut body = Html::default();
    body.raw("<h1>").raw(title).raw("</h1>");
    alert(&mut body, text);
    body.raw("<p><a href=\"/console/reviews\">Back to the list</a></p>");
    page(title, None, &body).answer(status)
}

/// The answer to a form that no page of this session sent.
pub(super) fn foreign() -> Response {
    let text = "This form was not sent from a page of this session, so nothing was done. Open the page again and repeat.";
    plain("Not accepted", text, StatusCode::FORBIDDEN)
}

/// The answer to a path that nothing is at.
pub(super) fn missing() -> Response {
    plain("Nothing here", "There is no such page.", StatusCode::NOT_FOUND)
}

/// The form for signing in.
pub(super) fn login(next: Option<&str>, problem: Option<(&str, StatusCode)>) -> Response {
    let mut body = Html::default();
    body.raw("<h1>Sign in</h1>");
    if let Some((text, _)) = problem {
        alert(&mut body, text);
    }
    body.raw("<form class=\"panel\" method=\"post\" action=\"/console/login\">");
    if let Some(next) = next {
        body.raw("<input type=\"hidden\" name=\"next\"").attr("value", next).raw(">");
    }
    body.raw("<label for=\"key\">API key</label>")
        .raw("<input id=\"key\" name=\"key\" type=\"password\" required autocomplete=\"current-password\" aria-describedby=\"key-note\" autofocus>")
        .raw("<p id=\"key-note\" class=\"note\">The key of a person: one that names a user and no agent. It stays in the memory of this server for at most 8 hours and is written nowhere.</p>")
        .raw("<button class=\"yes\" type=\"submit\">Sign in</button></form>");
    if let Some(next) = next {
        body.raw("<p>Signed in already and came by a link? <a").attr("href", next).raw(">Go on</a>.</p>");
    }
    page("Sign in", None, &body).answer(problem.map_or(StatusCode::OK, |(_, status)| status))
}

/// The list of reviews in one state, the riskiest first.
pub(super) fn list(
    frame: &Frame<'_>,
    state: &str,
    reviews: &[Value],
    news: Option<&'static str>,
) -> Response {
    let mut body = Html::default();
    body.raw("<h1>Reviews</h1>");
    if let Some(news) = news {
        body.raw("<p class=\"news\" role=\"status\">").raw(news).raw("</p>");
    }
    states(&mut body, state);
    match (reviews.is_empty(), state) {
        (true, "pending") => drop(body.raw("<p>Nothing waits for you.</p>")),
        (true, _) => drop(body.raw("<p>There are none.</p>")),
        (false, "pending") => {
            body.raw("<p><a class=\"button\" accesskey=\"n\" href=\"/console/reviews/next\">Open the riskiest</a> <kbd>n</kbd></p>");
        }
        (false, _) => {}
    }
    body.raw("<ol class=\"queue\">");
    for review in reviews {
        entry(&mut body, review);
    }
    body.raw("</ol>");
    page("Reviews", Some(frame), &body).answer(StatusCode::OK)
}

/// The agents that may not write: who suspended each, since when and why.
pub(super) fn agents(frame: &Frame<'_>, agents: &[AgentReply]) -> Response {
    let mut body = Html::default();
    body.raw("<h1>Suspended and held agents</h1>");
    let suspended = agents.iter().filter_map(|agent| Some((agent, agent.suspended.as_ref()?)));
    let suspended: Vec<_> = suspended.collect();
    let held = || agents.iter().flat_map(|agent| agent.holds.iter().map(move |hold| (agent, hold)));
    if suspended.is_empty() && held().next().is_none() {
        body.raw("<p>No agent is suspended, and the writes of none are held.</p>");
    }
    body.raw("<ol class=\"queue\">");
    for (agent, suspension) in suspended {
        let by = suspension.by.as_ref().map_or("the server", |(_, name)| name.as_str());
        body.raw("<li class=\"panel\"><h2 dir=\"auto\">").text(&visible_line(&agent.name));
        body.raw("</h2><p class=\"note\">by <strong>").text(&visible_line(by));
        body.raw("</strong> since ")
            .text(&seconds(&suspension.since.to_string()))
            .raw("</p><p dir=\"auto\">");
        body.text(&visible_line(suspension.reason.as_deref().unwrap_or("no reason given"))).raw("</p></li>");
    }
    for (agent, hold) in held() {
        body.raw("<li class=\"panel\"><h2 dir=\"auto\">").text(&visible_line(&agent.name));
        body.raw("</h2><p class=\"note\">writes for <strong>").text(&visible_line(&hold.user.1));
        body.raw("</strong> ")
            .raw(hold.action.as_str())
            .raw(" since ")
            .text(&seconds(&hold.since.to_string()));
        body.raw(", until ")
            .text(&seconds(&hold.until.to_string()))
            .raw(" at the latest</p><p dir=\"auto\">");
        body.text(&visible_line(&hold.reason)).raw("</p></li>");
    }
    body.raw(
        "</ol><p class=\"note\"><code>tabellion agent resume NAME</code> lets an agent write again, and <code>--user NAME</code> for one user.</p>",
    );
    page("Suspended and held agents", Some(frame), &body).answer(StatusCode::OK)
}

fn states(body: &mut Html, current: &str) {
    body.raw("<nav aria-label=\"States\"><ul class=\"states\">");
    for (state, name) in STATES {
        body.raw("<li><a").attr("href", &format!("{REVIEWS}?state={state}"));
        if state == current {
            body.raw(" aria-current=\"page\"");
        }
        body.raw(">").raw(name).raw("</a></li>");
    }
    body.raw("<li><a href=\"/console/agents\">Suspended and held agents</a></li></ul></nav>");
}

fn entry(body: &mut Html, review: &Value) {
    let text = |name: &str| review.get(name).and_then(Value::as_str).unwrap_or_default();
    let risk = review.get("risk").and_then(Value::as_f64).unwrap_or_default();
    body.raw("<li class=\"panel\"><h2 dir=\"auto\"><a")
        .attr("href", &format!("{REVIEWS}/{}", text("id")))
        .raw(">");
    body.text(&preview(review)).raw("</a></h2><p class=\"note\">risk <strong>").text(&format!("{risk:.3}"));
    body.raw("</strong> · ").text(text("layer")).raw(" · by ").text(&seconds(text("deadline")));
    if text("hold") == "sync" && text("state") == "pending" {
        body.raw(" · <strong class=\"warn\">its writer waits</strong>");
    }
    if is_kept_apart(review) {
        body.raw(" · kept apart, trust ").text(text("trust"));
    }
    if review.get("overdue").and_then(Value::as_bool) == Some(true) {
        body.raw(" · <strong class=\"warn\">overdue</strong>");
    }
    body.raw("</p></li>");
}

fn preview(review: &Value) -> String {
    let text = |pointer: &str| review.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (key, text) = (text("/item/key"), text("/item/text"));
    let whole = if key.is_empty() { text.to_owned() } else { format!("{key}: {text}") };
    let mut words = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(PREVIEW_CHARS_MAX) {
        words.truncate(end);
        words.push('…');
    }
    visible_line(&words)
}

/// A time to the second, for those who read it.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", seconds.replacen('T', " ", 1)),
        None => time.to_owned(),
    }
}

/// One review with all that a decision needs, and the form for it.
pub(super) fn review(
    frame: &Frame<'_>,
    dossier: &Dossier,
    problem: Option<(&Refusal, Said<'_>)>,
) -> Response {
    let mut body = Html::default();
    body.raw(
        "<p><a accesskey=\"l\" href=\"/console/reviews\">All reviews</a> <kbd>l</kbd></p><h1>Review</h1>",
    );
    if let Some((refusal, _)) = &problem {
        alert(&mut body, &said_no(refusal));
    }
    standing(&mut body, dossier);
    body.raw("<section aria-labelledby=\"text\"><h2 id=\"text\">What it says</h2><div class=\"said\" dir=\"auto\">")
        .text(&dossier.text)
        .raw("</div>");
    facts(&mut body, &dossier.about);
    body.raw("</section>");
    dossier.compared.iter().for_each(|one| comparison(&mut body, one));
    causes(&mut body, dossier);
    risk(&mut body, dossier);
    evidence(&mut body, dossier);
    lineage(&mut body, dossier);
    let answered = problem.as_ref().map(|(refusal, _)| status::http(refusal.code));
    if dossier.state == "pending" {
        decision(&mut body, frame, dossier, &problem.map(|(_, said)| said).unwrap_or_default());
    }
    page("Review", Some(frame), &body).answer(answered.unwrap_or(StatusCode::OK))
}

fn standing(body: &mut Html, dossier: &Dossier) {
    body.raw("<p>");
    let name = STATES.iter().find(|(state, _)| *state == dossier.state).map_or("Unknown", |(_, name)| name);
    body.raw("<strong>")
        .raw(name)
        .raw("</strong> · risk <strong>")
        .text(&format!("{:.3}", dossier.risk))
        .raw("</strong>");
    if dossier.state == "pending" && dossier.writer_waits {
        body.raw(" · <strong class=\"warn\">its writer waits for you</strong>");
    }
    if dossier.state == "pending" && dossier.kept_apart {
        body.raw(" · kept apart until others bear it out or you let it in");
    }
    if dossier.overdue {
        body.raw(" · <strong class=\"warn\">overdue</strong>");
    }
    if dossier.state == "pending" {
        body.raw(" · <a href=\"#decide\">Decide</a>");
    }
    body.raw("</p>");
    facts(body, &dossier.facts);
}

fn facts(body: &mut Html, facts: &[(&'static str, String)]) {
    if facts.is_empty() {
        return;
    }
    body.raw("<dl>");
    for (name, value) in facts {
        body.raw("<div><dt>")
            .text(&name.replace('_', " "))
            .raw("</dt><dd dir=\"auto\">")
            .text(value)
            .raw("</dd></div>");
    }
    body.raw("</dl>");
}

fn comparison(body: &mut Html, one: &Comparison) {
    body.raw("<section><h2>Against ").text(&one.id).raw("</h2><p class=\"note\">").text(&one.why).raw("</p>");
    let Some(pieces) = &one.pieces else {
        body.raw("<p>Not visible to you, or no longer there.</p></section>");
        return;
    };
    body.raw("<div class=\"said\" dir=\"auto\">");
    for piece in pieces {
        match piece {
            Piece::Same(text) => body.text(text),
            Piece::Gone(text) => body.raw("<del>").text(text).raw("</del>"),
            Piece::New(text) => body.raw("<ins>").text(text).raw("</ins>"),
            Piece::Skipped(count) => body
                .raw("<span class=\"note\"> … ")
                .text(&count.to_string())
                .raw(" characters that stay … </span>"),
        };
    }
    body.raw("</div></section>");
}

fn causes(body: &mut Html, dossier: &Dossier) {
    body.raw("<section><h2>Why it waits</h2><ul>");
    for cause in &dossier.causes {
        body.raw("<li>").text(&cause.message).raw(" <span class=\"note\">").text(&cause.code).raw(", gate ");
        body.text(&cause.gate).raw("</span></li>");
    }
    body.raw("</ul></section>");
}

fn risk(body: &mut Html, dossier: &Dossier) {
    body.raw(
        "<section><h2>Risk</h2><table><thead><tr><th scope=\"col\">Factor</th><th scope=\"col\">Weight</th>",
    )
    .raw("<th scope=\"col\">Value</th><th scope=\"col\">Adds</th></tr></thead><tbody>");
    for Factor { name, weight, value } in &dossier.factors {
        body.raw("<tr><th scope=\"row\">").text(&name.replace('_', " ")).raw("</th>");
        for number in [*weight, *value, weight * value] {
            body.raw("<td>").text(&format!("{number:.3}")).raw("</td>");
        }
        body.raw("</tr>");
    }
    body.raw("</tbody></table></section>");
}

fn evidence(body: &mut Html, dossier: &Dossier) {
    body.raw("<section><h2>Evidence</h2>");
    if dossier.evidence.is_empty() {
        body.raw("<p>None.</p>");
    }
    body.raw("<ul>");
    for Source { cited, authority, read, excerpt } in &dossier.evidence {
        body.raw("<li><span dir=\"auto\">")
            .text(cited)
            .raw("</span><br><span class=\"note\">authority ")
            .text(authority);
        body.raw("; read ").text(read).raw("</span>");
        if !excerpt.is_empty() {
            body.raw("<blockquote class=\"said\" dir=\"auto\">").text(excerpt).raw("</blockquote>");
        }
        body.raw("</li>");
    }
    body.raw("</ul></section>");
}

fn lineage(body: &mut Html, dossier: &Dossier) {
    body.raw("<section><h2>Lineage</h2>");
    if dossier.derived_from.is_empty() {
        body.raw("<p>Derived from no other item.</p>");
    }
    body.raw("<ul>");
    for version in &dossier.derived_from {
        body.raw("<li><code>").text(version).raw("</code></li>");
    }
    body.raw("</ul><p class=\"note\">Content hash <code>")
        .text(&dossier.content_hash)
        .raw("</code></p></section>");
}

/// The sorts of a no, with their names for people.
const CATEGORIES: [(&str, &str); 3] = [
    ("OTHER", "not wanted here"),
    ("FACTUAL_ERROR", "not so: counts against the agent"),
    ("POLICY_VIOLATION", "breaks a rule"),
];

fn decision(body: &mut Html, frame: &Frame<'_>, dossier: &Dossier, said: &Said<'_>) {
    body.raw("<section aria-labelledby=\"decide\"><h2 id=\"decide\">Decide</h2><form class=\"panel\" method=\"post\"");
    body.attr("action", &format!("{REVIEWS}/{}", dossier.id)).raw(">");
    token(body, frame.form_token);
    body.raw("<input type=\"hidden\" name=\"content_hash\"").attr("value", &dossier.content_hash).raw(">");
    body.raw("<label for=\"reason\">Reason, kept with the decision</label>")
        .raw("<textarea id=\"reason\" name=\"reason\" rows=\"3\" maxlength=\"1024\" required>\n")
        .text(said.reason)
        .raw("</textarea>");
    if dossier.contradicts {
        body.raw("<label for=\"on_conflict\">If you approve it: what it contradicts</label><select id=\"on_conflict\" name=\"on_conflict\">")
            .raw("<option value=\"\">as the write asks</option><option value=\"supersede\">is superseded</option>")
            .raw("<option value=\"keep_both\">stays beside it</option></select>");
    }
    body.raw("<p><button class=\"yes\" accesskey=\"a\" type=\"submit\" name=\"decision\" value=\"approve\">Approve</button> <kbd>a</kbd></p>")
        .raw("<label for=\"category\">If you reject it: because it is</label><select id=\"category\" name=\"category\">");
    for (value, name) in CATEGORIES {
        body.raw("<option").attr("value", value).raw(if value == said.category { " selected>" } else { ">" });
        body.raw(name).raw("</option>");
    }
    body.raw("</select><p><button class=\"no\" accesskey=\"r\" type=\"submit\" name=\"decision\" value=\"reject\">Reject</button> <kbd>r</kbd></p>")
        .raw("<p class=\"note\">With the keyboard: Alt and the letter, in some browsers Alt, Shift and the letter.</p></form></section>");
}
