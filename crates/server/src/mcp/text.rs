//! How does an answer read to a model that sees text alone?
//!
//! One line per thing. What was remembered is quoted as a JSON string, so that no text can pass for a line of ours.

use std::fmt::Write;
use tabellion_core::error::Refusal;
use tabellion_core::id::ItemId;
use tabellion_core::view::Direction;
use tabellion_engine::Related;
use tabellion_engine::reply::{
    AskReply, CallReply, Changed, Deferral, ExplainReply, Feedback, Found, ItemReply, ItemTrust, KeptReply,
    OutcomeReply, Page, PathReply, PathsReply, ReviewReply, RoundReply, SearchReply, StagedWriteTrust,
    TrustReply, TurnReply, VersionReply, WhoAmI, Written,
};

pub(super) fn written(written: &Written) -> String {
    let status = written.status.as_str();
    if let Some(deferral) = &written.deferral {
        let Deferral { pending_id, code, message, .. } = deferral;
        let staged = written.id.map(|id| format!(", to be {id}")).unwrap_or_default();
        let first = format!("{status}: {pending_id}{staged}, {}: {message}", code.as_str());
        let against = written.against.iter();
        let against =
            against.map(|one| format!("contradicts {}", named(one.known.item, one.text.as_deref())));
        return lines(first, against.chain(replaced_review(written)));
    }
    let (Some(id), Some(version)) = (written.id, written.version) else { return status.to_owned() };
    let owed = written.owed.as_ref().map(|owed| format!(", to be shared as {}", owed.pending_id));
    let shared = written.shared.map(|copy| format!(", shared as {copy}")).or(owed).unwrap_or_default();
    let first = format!("{status}: {id} as {version}, trust {}{shared}", written.trust.as_str());
    let against = written
        .against
        .iter()
        .map(|one| format!("contradicts {} ({}, {:.2})", one.known.item, one.method.as_str(), one.score));
    let replaced =
        written.superseded.iter().map(|one| format!("superseded {}", named(one.item, one.text.as_deref())));
    lines(first, against.chain(replaced).chain(replaced_review(written)))
}

/// The held write whose place a write took.
fn replaced_review(written: &Written) -> Option<String> {
    written.replaces.map(|review| format!("in place of the held write {review}, which ended as withdrawn"))
}

/// An item by its id, with what it says in front where that is shown.
fn named(item: ItemId, text: Option<&str>) -> String {
    text.map_or_else(|| item.to_string(), |text| format!("{} ({item})", quoted(text)))
}

/// What a refused write contradicts, and the calls that would let it through.
fn contradicted(refusal: &Refusal) -> impl Iterator<Item = String> {
    let against = refusal.in_the_way.iter().flat_map(|one| &one.against);
    let found = against.map(|one| format!("this contradicts {}", named(one.known.item, one.text.as_deref())));
    let way_out = refusal.errors.iter().find(|fault| fault.path == "/on_conflict");
    let offered = |word: &str| {
        let expected = way_out.and_then(|fault| fault.expected.as_deref());
        expected.is_some_and(|expected| expected.contains(word))
    };
    let calls = [
        ("supersede replaces", "to replace it, call write_item again with on_conflict=supersede"),
        ("keep_both keeps", "to keep both, call write_item again with on_conflict=keep_both"),
        ("review has", "to have a person decide, call write_item again with on_conflict=review"),
    ];
    let calls = calls.into_iter().filter(|(word, _)| offered(word)).map(|(_, call)| call.to_owned());
    found.chain(calls.collect::<Vec<_>>())
}

pub(super) fn changed(changed: &Changed) -> String {
    format!("{}: {}, version {}", changed.status.as_str(), changed.id, changed.version)
}

pub(super) fn item(item: &ItemReply) -> String {
    let key = item.content.key.as_ref().map(|key| format!(" {}:", quoted(key))).unwrap_or_default();
    format!(
        "{}{key} {} ({}, {}, trust {}, confidence {:.2}, {}, {})",
        item.id,
        quoted(&item.content.text),
        item.layer.as_str(),
        item.status.as_str(),
        item.trust.as_str(),
        item.confidence,
        item.updated_at,
        item.version,
    )
}

pub(super) fn items(page: &Page<ItemReply>) -> String {
    let more = if page.next.is_some() { "; there are more, see `next`" } else { "" };
    lines(format!("{} item(s){more}", page.rows.len()), page.rows.iter().map(item))
}

pub(super) fn found(reply: &SearchReply) -> String {
    let line = |found: &Found| format!("{:.3} {}", found.score, item(&found.item));
    lines(format!("{} result(s), {} search", reply.results.len(), reply.mode), reply.results.iter().map(line))
}

pub(super) fn related(related: &Related) -> String {
    let line = |result: &Result<Written, Refusal>| match result {
        Ok(one) => written(one),
        Err(refusal) => format!("rejected: {}: {}", refusal.code.as_str(), refusal.message),
    };
    lines(format!("{} relation(s)", related.len()), related.iter().map(line))
}

pub(super) fn paths(reply: &PathsReply) -> String {
    let line = |path: &PathReply| {
        let mut nodes = path.nodes.iter().map(|node| quoted(node));
        let mut line = format!("{:.3} {}", path.strength, nodes.next().unwrap_or_default());
        for (step, node) in path.relations.iter().zip(nodes) {
            let arrow = match step.direction {
                Direction::In => format!(" <-{}- ", step.kind),
                Direction::Out | Direction::Both => format!(" -{}-> ", step.kind),
            };
            line.push_str(&arrow);
            line.push_str(&node);
        }
        line
    };
    let more = if reply.truncated { ", stopped early" } else { "" };
    lines(format!("{} path(s){more}", reply.paths.len()), reply.paths.iter().map(line))
}

pub(super) fn outcome(noted: &OutcomeReply) -> String {
    format!("noted: {} of {} results were used", noted.used, noted.retrieved)
}

pub(super) fn versions(versions: &[VersionReply]) -> String {
    let line = |version: &VersionReply| {
        format!(
            "{} {} {} {}",
            version.version,
            version.operation.as_str(),
            version.standing(),
            version.created_at
        )
    };
    lines(format!("{} version(s)", versions.len()), versions.iter().map(line))
}

pub(super) fn explained(explained: &ExplainReply) -> String {
    let state = if explained.visible { "visible" } else { "hidden" };
    let first = format!("{} is {state}, {}", explained.item, explained.tier.as_str());
    let agents = explained.agents.iter().map(|agent| format!("contributed by {agent}"));
    let resources = explained.resources.iter().map(|resource| format!("consulted {resource}"));
    let hindrances = explained
        .hindrances
        .iter()
        .map(|one| format!("{} {}", one.as_str(), one.id().unwrap_or_default()).trim_end().to_owned());
    lines(first, agents.chain(resources).chain(hindrances))
}

pub(super) fn kept(kept: &KeptReply) -> String {
    let said = kept.write.get("text").and_then(serde_json::Value::as_str).unwrap_or_default();
    let why = match (&kept.due, &kept.code) {
        (Some(due), _) => format!("deferred, tried again at {due}"),
        (None, Some(code)) => format!("refused, {code}: {}", kept.message.as_deref().unwrap_or_default()),
        (None, None) => "refused".to_owned(),
    };
    format!("{} {} ({why})", kept.id, quoted(said))
}

pub(super) fn review(review: &ReviewReply) -> String {
    let said = review.write.get("text").and_then(serde_json::Value::as_str).unwrap_or_default();
    let why = review.reason.as_ref().map(|reason| format!(", {}", quoted(reason))).unwrap_or_default();
    let became = review.version.map(|version| format!(", version {version}")).unwrap_or_default();
    let state = review.state.as_str();
    format!("{} {} ({state}{why}{became}, risk {:.2})", review.id, quoted(said), review.risk)
}

pub(super) fn open_writes(writes: &[KeptReply], reviews: &[ReviewReply]) -> String {
    let first = format!("{} kept, {} waiting for a person", writes.len(), reviews.len());
    lines(first, writes.iter().map(kept).chain(reviews.iter().map(review)))
}

pub(super) fn feedback(feedback: &Feedback) -> String {
    let reputation = feedback.reputation.map_or("too few to tell".to_owned(), |share| format!("{share:.2}"));
    let decided = feedback.decided.iter().map(|(layer, approved, rejected)| {
        format!("{}: {approved} approved, {rejected} rejected", layer.as_str())
    });
    let topics = feedback.topics.iter().map(|one| {
        let (topic, layer) = (quoted(&one.topic), one.layer.as_str());
        format!("about {topic}, {layer}: {} approved, {} rejected", one.approved, one.rejected)
    });
    let rejections = feedback.rejections.iter().map(review);
    lines(format!("reputation {reputation}"), decided.chain(topics).chain(rejections))
}

pub(super) fn whoami(who: &WhoAmI) -> String {
    let (user, agent) = (quoted(&who.user.1), quoted(&who.agent.1));
    let allowance = &who.allowance;
    let rates = allowance
        .rates
        .iter()
        .map(|(layer, rate)| format!("{} {}/{}", layer.as_str(), rate.used, rate.limit));
    let rates = match allowance.exempt {
        true => "no limits on writes".to_owned(),
        false => format!("writes of the last minute: {}", rates.collect::<Vec<_>>().join(", ")),
    };
    let session = allowance.session.map(|one| format!("; of this session: {}/{}", one.used, one.limit));
    let first = format!(
        "user {user} ({}) through agent {agent} ({}), role {}; {rates}{}",
        who.user.0,
        who.agent.0,
        who.role.as_str(),
        session.unwrap_or_default()
    );
    let held = who.holds.iter().map(|hold| {
        let (action, reason) = (hold.action.as_str(), &hold.reason);
        format!("writes are {action} until {}: {reason}", hold.until)
    });
    let suspended = who.suspended.iter().map(|one| {
        let reason = one.reason.as_deref().map(|reason| format!(": {}", quoted(reason))).unwrap_or_default();
        format!("the agent is suspended since {}{reason}", one.since)
    });
    lines(first, held.chain(suspended))
}

pub(super) fn answered(reply: &AskReply) -> String {
    let line = |turn: &TurnReply| {
        let answer = turn.answer.as_ref().map_or_else(|| "no answer".to_owned(), |answer| quoted(answer));
        format!("{} was asked {}: {answer}", turn.name, quoted(&turn.subquery))
    };
    lines(format!("{} ({})", quoted(&reply.answer), reply.stopped.as_str()), reply.turns.iter().map(line))
}

pub(super) fn called(reply: &CallReply) -> String {
    format!("{} answered: {}", reply.name, reply.result)
}

pub(super) fn round(round: &RoundReply) -> String {
    let RoundReply { id, agents, namespace, expires_at, visibility } = round;
    let visibility = visibility.as_str();
    let first = format!(
        "{id} until {expires_at}, in namespace {namespace}, visibility {visibility}: use it as trace_id"
    );
    lines(first, agents.iter().map(|agent| format!("{agent} takes part")))
}

pub(super) fn trust(told: &TrustReply) -> String {
    if let Some(ItemTrust { id, trust, status, reasons, .. }) = &told.item {
        return lines(format!("{id}: trust {}, {status}", trust.as_str()), reasons.iter().cloned());
    }
    let line =
        |one: &StagedWriteTrust| format!("{} waits as {}, trust {}", one.id, one.review, one.trust.as_str());
    let first = format!("{} write(s) wait in namespace {}", told.staged.len(), told.namespace);
    lines(first, told.staged.iter().map(line))
}

pub(super) fn refused(refusal: &Refusal) -> String {
    let faults = refusal.errors.iter().map(|fault| {
        let mut line = format!("{} {}", fault.path, fault.code.as_str());
        if let Some(expected) = &fault.expected {
            let _infallible = write!(line, ": expected {expected}");
        }
        if let Some(actual) = &fault.actual {
            let _infallible = write!(line, ", not {}", quoted(actual));
        }
        line
    });
    let first = format!("refused, {}: {}", refusal.code.as_str(), refusal.message);
    lines(first, contradicted(refusal).chain(faults))
}

fn lines(first: String, rest: impl Iterator<Item = String>) -> String {
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::error::{Code, Fault};

    #[test]
    fn a_text_cannot_pass_for_another_line() {
        assert_eq!(quoted("a\nitm_b \"high\""), r#""a\nitm_b \"high\"""#);
    }

    #[test]
    fn a_refusal_says_what_to_change() {
        let fault = Fault::new("/confidence", Code::ConstraintViolation, "a number from 0 to 1").found("1.2");
        let refusal = Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule").with(vec![fault]);
        let expected = "refused, SCHEMA_INVALID: 1 field(s) break a rule\n\
            /confidence CONSTRAINT_VIOLATION: expected a number from 0 to 1, not \"1.2\"";
        assert_eq!(refused(&refusal), expected);
    }
}
