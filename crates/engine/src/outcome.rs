//! Outcomes: what of a search was used, and how it went. This is what retrieval is measured by (GOV-12.3).
//!
//! Searches are remembered for a day, in memory and up to a limit: an outcome comes soon or not at all. The outcome itself is
//! a row of the trail, durable before the reply.

use crate::Call;
use crate::reply::{OutcomeReply, OutcomeReport};
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, VecDeque};
use tabellion_core::access::Caller;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::id::{AgentId, ItemId, SearchId, UserId};
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
    found: Vec<ItemId>,
    time: Timestamp,
    outcome: Option<Outcome>,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    used: BTreeSet<ItemId>,
    success: Option<bool>,
}

impl Searches {
    /// Remembers what a search found.
    pub(crate) fn keep(&self, id: SearchId, caller: &Caller, found: Vec<ItemId>, time: Timestamp) {
        let mut recent = self.0.lock();
        let caller = (caller.user(), caller.agent());
        recent.searches.insert(id, Search { caller, found, time, outcome: None });
        recent.order.push_back(id);
        while recent.order.len() > SEARCHES_MAX {
            if let Some(oldest) = recent.order.pop_front() {
                recent.searches.remove(&oldest);
            }
        }
    }

    /// Notes an outcome, and tells how many items the search had found. The same outcome again changes nothing.
    fn note(
        &self,
        caller: &Caller,
        report: &OutcomeReport,
        now: Timestamp,
    ) -> Result<(usize, Outcome, bool), Refusal> {
        let id: SearchId = report.search.parse().map_err(|_| Refusal::not_found())?;
        let mut recent = self.0.lock();
        let search = recent.searches.get_mut(&id).filter(|search| {
            search.caller == (caller.user(), caller.agent()) && now < search.time.plus(SEARCH_KEPT)
        });
        let search = search.ok_or_else(Refusal::not_found)?;
        let outcome = Outcome { used: used(&report.used, &search.found)?, success: report.success };
        match &search.outcome {
            Some(known) if *known == outcome => Ok((search.found.len(), outcome, false)),
            Some(_) => {
                Err(Refusal::new(Code::OutcomeKnown, "another outcome was reported for this search before"))
            }
            None => {
                search.outcome = Some(outcome.clone());
                Ok((search.found.len(), outcome, true))
            }
        }
    }
}

/// The items used, each of which the search must have found.
fn used(words: &[String], found: &[ItemId]) -> Result<BTreeSet<ItemId>, Refusal> {
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for (place, word) in words.iter().enumerate().take(USED_MAX) {
        match word.parse::<ItemId>() {
            Ok(id) if found.contains(&id) => drop(used.insert(id)),
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
    let (retrieved, outcome, is_new) = match noted {
        Ok(noted) => noted,
        Err(refusal) => return Err(tenant.refused(call, ACTION, Vec::new(), refusal).await),
    };
    let word = match outcome.success {
        Some(true) => "success",
        Some(false) => "failure",
        None => "unknown",
    };
    // Of nothing, nothing useless was shown.
    let precision = if retrieved == 0 { 1.0 } else { outcome.used.len() as f64 / retrieved as f64 };
    if is_new {
        let ids = [report.search.clone()].into_iter().chain(outcome.used.iter().map(ToString::to_string));
        tenant.sequencer.trail_now(tenant.row(call, ACTION, word, ids.collect())).await?;
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
