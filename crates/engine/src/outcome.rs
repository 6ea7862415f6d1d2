//! Outcomes: what of a search was used, and how it went. This is what retrieval is measured by (GOV-12.3).
//!
//! Searches are remembered for a day, in memory and up to a limit: an outcome comes soon or not at all. The outcome itself is
//! a row of the trail, durable before the reply. Of what was scored it is evidence too, in the same commit (CAL-33).

use crate::calibration::{self, Used};
use crate::reply::{OutcomeReply, OutcomeReport, SearchReply};
use crate::sequencer::{Draft, Objection, Proposal, TrailDraft};
use crate::tenant::Tenant;
use crate::{Call, write};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use tabellion_core::access::Caller;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, SearchId, UserId, VersionId};
use tabellion_core::log::{Event, ReportedOutcome};
use tabellion_core::time::{Period, Timestamp};

/// The name of this operation on the trail.
const ACTION: &str = "outcome";
/// Searches remembered, a tenant.
const SEARCHES_MAX: usize = 10_000;
/// How long a search is remembered.
const SEARCH_KEPT: Period = Period::from_days(1);
const USED_MAX: usize = 1_000;

/// The searches of the last day.
#[derive(Default)]
pub(crate) struct Searches(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    searches: HashMap<SearchId, Search>,
    order: VecDeque<SearchId>,
}

struct Search {
    caller: (UserId, AgentId),
    /// What it found, each as the version that it was.
    found: BTreeMap<ItemId, VersionId>,
    /// Whether it was shared work (SHARE-45).
    open: bool,
    time: Timestamp,
    outcome: Option<Outcome>,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    used: BTreeSet<ItemId>,
    success: Option<bool>,
}

/// An outcome, with what the search had found.
struct Noted {
    retrieved: usize,
    open: bool,
    /// What was used, as it was found.
    versions: Vec<VersionId>,
    outcome: Outcome,
    is_new: bool,
}

impl Searches {
    /// Remembers what a search found.
    pub(crate) fn keep(&self, caller: &Caller, reply: &SearchReply, open: bool, time: Timestamp) {
        let mut recent = self.0.lock();
        let caller = (caller.user(), caller.agent());
        let found = reply.results.iter().map(|one| (one.item.id, one.item.version)).collect();
        recent.searches.insert(reply.search, Search { caller, found, open, time, outcome: None });
        recent.order.push_back(reply.search);
        while recent.order.len() > SEARCHES_MAX {
            if let Some(oldest) = recent.order.pop_front() {
                recent.searches.remove(&oldest);
            }
        }
    }

    /// Notes an outcome. The same outcome again changes nothing.
    fn note(&self, caller: &Caller, report: &OutcomeReport, now: Timestamp) -> Result<Noted, Refusal> {
        let id: SearchId = report.search.parse().map_err(|_| Refusal::not_found())?;
        let mut recent = self.0.lock();
        let search = recent.searches.get_mut(&id).filter(|search| {
            search.caller == (caller.user(), caller.agent()) && now < search.time.plus(SEARCH_KEPT)
        });
        let search = search.ok_or_else(Refusal::not_found)?;
        let outcome = Outcome { used: used(&report.used, &search.found)?, success: report.success };
        let is_new = search.outcome.is_none();
        let known = search.outcome.get_or_insert_with(|| outcome.clone());
        if *known != outcome {
            let message = "another outcome was reported for this search before";
            return Err(Refusal::new(Code::OutcomeKnown, message));
        }
        let versions = outcome.used.iter().filter_map(|item| search.found.get(item).copied()).collect();
        Ok(Noted { retrieved: search.found.len(), open: search.open, versions, outcome, is_new })
    }
}

/// The items used, each of which the search must have found.
fn used(words: &[String], found: &BTreeMap<ItemId, VersionId>) -> Result<BTreeSet<ItemId>, Refusal> {
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for (place, word) in words.iter().enumerate().take(USED_MAX) {
        match word.parse::<ItemId>() {
            Ok(id) if found.contains_key(&id) => drop(used.insert(id)),
            _ => faults.push(Fault::new(
                format!("/used/{place}"),
                Code::ConstraintViolation,
                "the id of an item that the search found",
            )),
        }
    }
    if words.len() > USED_MAX {
        faults.push(Fault::new("/used", Code::ConstraintViolation, format!("at most {USED_MAX} ids")));
    }
    if faults.is_empty() {
        Ok(used)
    } else {
        Err(Refusal::new(Code::SchemaInvalid, "only what a search found can have been used").with(faults))
    }
}

pub(crate) async fn report(
    tenant: &Tenant,
    call: &Call,
    report: OutcomeReport,
) -> Result<OutcomeReply, Refusal> {
    let noted = tenant.searches.note(&call.caller, &report, tenant.now());
    let noted = match noted {
        Ok(noted) => noted,
        Err(refusal) => return Err(tenant.refused(call, ACTION, Vec::new(), refusal).await),
    };
    let (retrieved, outcome) = (noted.retrieved, &noted.outcome);
    let word = match outcome.success {
        Some(true) => "success",
        Some(false) => "failure",
        None => "unknown",
    };
    // Of nothing, nothing useless was shown.
    let precision = if retrieved == 0 { 1.0 } else { outcome.used.len() as f64 / retrieved as f64 };
    if noted.is_new {
        let ids = [report.search.clone()].into_iter().chain(outcome.used.iter().map(ToString::to_string));
        let row = tenant.row(call, ACTION, word, ids.collect());
        record(tenant, call, &noted, row).await?;
        metrics::counter!("tabellion_outcomes_total", "result" => word).increment(1);
        metrics::histogram!("tabellion_retrieval_precision").record(precision);
    }
    Ok(OutcomeReply {
        search: report.search,
        retrieved: retrieved as u64,
        used: outcome.used.len() as u64,
        precision,
    })
}

/// The entry that says how it went with what other agents wrote; an agent's own word says nothing of its writes (D17).
fn reported(
    tenant: &Tenant,
    call: &Call,
    versions: &[VersionId],
    good: bool,
) -> Result<Option<Draft>, Refusal> {
    let of_others = {
        let views = tenant.shared.views.read();
        let is_own = |version: &&VersionId| {
            let version = views.items.find_version(**version);
            version.is_none_or(|version| version.agent == Some(call.caller.agent()))
        };
        versions.iter().filter(|version| !is_own(version)).copied().collect::<Vec<_>>()
    };
    if of_others.is_empty() {
        return Ok(None);
    }
    let event = Event::OutcomeReported(ReportedOutcome { versions: of_others, good });
    tenant.draft(call.caller.actor(), event, None).map(Some)
}

/// Makes an outcome durable: the row of the trail, and in the same commit what it says of how far things can be trusted.
async fn record(tenant: &Tenant, call: &Call, noted: &Noted, trail: TrailDraft) -> Result<(), Refusal> {
    let drafts = match noted.outcome.success {
        Some(good) => {
            let used = Used { versions: &noted.versions, good, open: noted.open };
            let mut drafts = calibration::outcome(tenant, call, &used)?;
            drafts.extend(reported(tenant, call, &noted.versions, good)?);
            drafts
        }
        None => Vec::new(),
    };
    if drafts.is_empty() {
        return tenant.sequencer.trail_now(trail).await;
    }
    // What has been heard before is passed over when the entries are folded, so nothing has to hold.
    let proposal = Proposal { drafts, touches: Vec::new(), check: Box::new(|_, _| Ok(())), trail };
    match tenant.sequencer.propose(proposal).await {
        Ok(_) => Ok(()),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(write::keeps_changing()),
    }
}
