//! What governs items and agents, between the engine's words and the wire's.

use super::{period, texts};
use crate::rest::dto::*;
use tabellion_core::error::Refusal;
use tabellion_core::gate::OnConflict;
use tabellion_core::time::Timestamp;
use tabellion_engine::reply::{
    Contributed, Ground, HoldReply, LeftPrivate, QuarantineReply, Quarantined, RevertQuery, Reverted,
    RevertedItem, Skipped, SuspensionReply, Verdict,
};

fn named((id, name): (impl ToString, String)) -> NamedBody {
    NamedBody { id: id.to_string(), name }
}

impl From<QuarantineReply> for QuarantineBody {
    fn from(QuarantineReply { by, since, reason }: QuarantineReply) -> Self {
        Self { by: by.map(named), since: since.to_string(), reason }
    }
}

/// What a moderator is told of an item: who contributed it, and its quarantine.
pub(super) fn contributed(of: Option<Box<Contributed>>) -> (Option<ContributorBody>, Option<QuarantineBody>) {
    let Some(Contributed { user, agent, quarantine }) = of.map(|of| *of) else { return (None, None) };
    (Some(ContributorBody { user: named(user), agent: agent.map(named) }), quarantine.map(Into::into))
}

impl From<RevertedItem> for RevertedItemBody {
    fn from(item: RevertedItem) -> Self {
        let RevertedItem { id, user, agent, text, derived } = item;
        Self { id: id.to_string(), user: named(user), agent: agent.map(named), text, derived }
    }
}

/// What of an agent's writes is taken back.
pub(crate) fn revert_query(now: Timestamp, body: RevertBody) -> Result<RevertQuery, Refusal> {
    let (since, until) = period(now, &body.since, body.until.as_deref())?;
    let dry_run = body.dry_run.unwrap_or(false);
    let RevertBody { user, reason, found_false, .. } = body;
    Ok(RevertQuery { user, since, until, reason, dry_run, found_false })
}

impl From<Quarantined> for QuarantinedBody {
    fn from(quarantined: Quarantined) -> Self {
        Self { changed: quarantined.changed.into(), dependents: texts(&quarantined.dependents) }
    }
}

impl From<DecideBody> for Verdict {
    fn from(body: DecideBody) -> Self {
        Self {
            approve: body.decision == YesOrNo::Approve,
            reason: body.reason,
            ground: match body.category {
                Some(Category::FactualError) => Ground::Falsehood,
                Some(Category::PolicyViolation) => Ground::Violation,
                Some(Category::Other) | None => Ground::Other,
            },
            content_hash: body.content_hash,
            on_conflict: body.on_conflict.map(|outcome| match outcome {
                Outcome::Supersede => OnConflict::Supersede,
                Outcome::KeepBoth => OnConflict::KeepBoth,
            }),
        }
    }
}

impl From<Skipped> for SkippedBody {
    fn from(Skipped { id, code, message }: Skipped) -> Self {
        Self { id: id.to_string(), code: code.as_str(), message }
    }
}

impl From<LeftPrivate> for LeftPrivateBody {
    fn from(LeftPrivate { user, count }: LeftPrivate) -> Self {
        Self { user: named(user), count }
    }
}

impl From<Reverted> for RevertedBody {
    fn from(reverted: Reverted) -> Self {
        Self {
            written: texts(&reverted.written),
            derived: texts(&reverted.derived),
            retracted: reverted.retracted,
            rolled_back: reverted.rolled_back,
            skipped: reverted.skipped.into_iter().map(Into::into).collect(),
            items: reverted.items.into_iter().map(Into::into).collect(),
            held: reverted.held,
            queued: reverted.queued,
            flagged: reverted.flagged,
            private: reverted.private.into_iter().map(Into::into).collect(),
            dry_run: reverted.dry_run,
        }
    }
}

impl From<HoldReply> for HoldBody {
    fn from(hold: HoldReply) -> Self {
        Self {
            user: named(hold.user),
            action: hold.action.as_str(),
            reason: hold.reason,
            since: hold.since.to_string(),
            until: hold.until.to_string(),
        }
    }
}

impl From<SuspensionReply> for SuspensionBody {
    fn from(SuspensionReply { by, since, reason }: SuspensionReply) -> Self {
        Self { by: by.map(named), since: since.to_string(), reason }
    }
}
