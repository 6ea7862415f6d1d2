//! Verifying again what was once admitted: in rounds by the server itself, and when a curator asks (GOV-11.4).
//!
//! Nothing is taken back here. What does not stand is flagged until it is changed, retracted or stands again; how its writer
//! is thought of follows from the same entry. An entry is made only where a look finds something else than the last one; that
//! something which was never in doubt still stands is worth one only when a curator asked.

mod examine;

use crate::Call;
use crate::reply::{Flag, Reverified};
use crate::sequencer::{Draft, Objection, Proposal};
use crate::tenant::Tenant;
use crate::visibility::predicate;
pub(crate) use examine::rests_on;
use examine::{examine, rests_on_private};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tabellion_core::access::{Power, Predicate};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::Strictness;
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::item::Layer;
use tabellion_core::log::{Actor, Event, Recheck};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::{Moment, Row, Version, Views};

/// Versions that one pass looks at.
const BATCH: usize = 100;
/// Rows that one pass goes over in search of them.
const ROWS_MAX: Row = 20_000;
/// Passes of one call.
const PASSES_MAX: usize = 10;
/// Flags of one listing.
const PAGE: usize = 500;
/// Between a start and the first round, so that starting is not slowed by it.
const FIRST_AFTER: Period = Period::from_secs(600);
/// Between two passes.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Starts the thread that goes on verifying, for as long as the tenant is there; none if that is off.
pub(crate) fn start(tenant: &Arc<Tenant>) -> std::io::Result<()> {
    let Some(every) = tenant.governance.reverify_every else { return Ok(()) };
    let weak = Arc::downgrade(tenant);
    let round = Round { due: tenant.now().plus(FIRST_AFTER), at: None, every };
    std::thread::Builder::new().name("sweeps".into()).spawn(move || run(&weak, round)).map(drop)
}

/// Where the rounds are.
struct Round {
    /// When the next one begins.
    due: Timestamp,
    /// How far the present one is.
    at: Option<Row>,
    every: Period,
}

fn run(tenant: &Weak<Tenant>, mut round: Round) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    loop {
        let Some(tenant) = tenant.upgrade().filter(|tenant| tenant.sequencer.is_well()) else { return };
        let now = tenant.now();
        if round.at.is_none() && now >= round.due {
            round = Round { due: now.plus(round.every), at: Some(0), ..round };
        }
        if let Some(row) = round.at {
            match runtime.block_on(pass(&tenant, row, Asked::ByNobody)) {
                Ok(looked) => round.at = looked.next,
                // The words of many new texts are being taken apart: the next look goes on from here.
                Err(refusal) if refusal.code == Code::Overloaded => {}
                Err(refusal) => {
                    tracing::warn!(code = refusal.code.as_str(), "a sweep was broken off; it goes on")
                }
            }
        }
        drop(tenant);
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Who wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    ByNobody,
    ByCurator,
}

/// What one pass found.
struct Looked {
    found: Vec<Found>,
    next: Option<Row>,
}

/// What was found of one version; nothing if there was nothing to go by.
struct Found {
    item: ItemId,
    version: VersionId,
    finding: Option<Recheck>,
    before: Option<Recheck>,
}

impl Found {
    /// What is to be recorded: what differs from the last look.
    fn news(&self, asked: Asked) -> Option<Recheck> {
        let flagged = self.before.is_some_and(|before| !before.is_passed());
        match self.finding {
            None if flagged => Some(Recheck::Unopposed),
            Some(finding) if finding.is_passed() && !flagged && asked == Asked::ByNobody => None,
            finding => finding.filter(|finding| Some(*finding) != self.before),
        }
    }
}

/// Looks at the next versions from a row on, and records what is new.
async fn pass(tenant: &Tenant, from: Row, asked: Asked) -> Result<Looked, Refusal> {
    crate::write::caught_up(tenant, Strictness::Strict, Layer::Episodic).await?;
    let now = tenant.now();
    let (subjects, next) = subjects(&tenant.shared.views.read(), from, now);
    let mut found = Vec::with_capacity(subjects.len());
    for Subject { item, version, before } in subjects {
        // What cannot be read is for `verify` to tell; it keeps nobody from looking at the rest.
        if let Ok(finding) = examine(tenant, &version, now) {
            found.push(Found { item, version: version.id, finding, before });
        }
    }
    record(tenant, &found, asked).await?;
    Ok(Looked { found, next })
}

/// A version that is to be looked at.
struct Subject {
    item: ItemId,
    version: Version,
    /// What was last found of it.
    before: Option<Recheck>,
}

/// The durable heads from a row on, and where to go on.
fn subjects(views: &Views, from: Row, now: Timestamp) -> (Vec<Subject>, Option<Row>) {
    let at = Moment { lsn: views.lsn(), time: now };
    let mut subjects = Vec::new();
    let mut row = from;
    while let Some(version) = views.items.version(row) {
        if subjects.len() == BATCH || row - from >= ROWS_MAX {
            return (subjects, Some(row));
        }
        row += 1;
        if !version.layer.is_durable() || !views.items.is_active_at(version, at) {
            continue;
        }
        let Some(item) = views.items.item_of(version).filter(|item| !item.is_quarantined_at(at.lsn)) else {
            continue;
        };
        let before = views.checks.of(version.id).map(|check| check.finding);
        subjects.push(Subject { item: item.id, version: version.clone(), before });
    }
    (subjects, None)
}

async fn record(tenant: &Tenant, found: &[Found], asked: Asked) -> Result<(), Refusal> {
    for finding in found.iter().filter_map(|one| one.finding) {
        metrics::counter!("tabellion_memory_reverified_total", "finding" => finding.as_str()).increment(1);
    }
    let news: Vec<(&Found, Recheck)> = found.iter().filter_map(|one| Some((one, one.news(asked)?))).collect();
    if news.is_empty() {
        return Ok(());
    }
    let entry = |(one, finding): &(&Found, Recheck)| -> Result<Draft, Refusal> {
        let event = Event::ItemReverified { item: one.item, version: one.version, finding: *finding };
        tenant.draft(Actor::SERVER, event, None)
    };
    let mut drafts = news.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    let opposed = news.iter().filter(|(_, finding)| *finding == Recheck::Contradicted);
    let opposed: Vec<VersionId> = opposed.map(|(one, _)| one.version).collect();
    drafts.extend(crate::calibration::contradicted(tenant, &opposed, None)?);
    let ids = news.iter().map(|(one, _)| one.version.to_string()).collect();
    let trail = tenant.server_row("reverify", "ok", ids);
    // What is said of a version stays true of it, whatever became of its item meanwhile.
    let proposal = Proposal { drafts, touches: Vec::new(), check: Box::new(|_, _| Ok(())), trail };
    match tenant.sequencer.propose(proposal).await {
        Ok(_) => Ok(()),
        Err(Objection::Refused(refusal)) => Err(refusal),
        Err(Objection::Stale | Objection::Replayed(_)) => Err(crate::write::keeps_changing()),
    }
}

/// Flags what rests on versions that were taken back a moment ago, over however many steps, without waiting for the next round.
/// Says which heads those are.
pub(crate) async fn flag_dependents(
    tenant: &Tenant,
    withdrawn: &[VersionId],
) -> Result<Vec<VersionId>, Refusal> {
    let found: Vec<Found> = {
        let views = tenant.shared.views.read();
        let at = tenant.moment(&views);
        let dependents = crate::govern::dependents(&views, withdrawn, &|_| true);
        let found = dependents.into_iter().filter_map(|id| {
            let version = views.items.find_version(id)?;
            let item = views.items.item_of(version)?;
            let is_head = views.items.head_at(item, at).is_some_and(|head| head.id == id);
            let before = views.checks.of(id).map(|check| check.finding);
            let finding = Some(Recheck::SourceWithdrawn);
            (is_head && version.layer.is_durable()).then_some(Found {
                item: item.id,
                version: id,
                finding,
                before,
            })
        });
        found.collect()
    };
    record(tenant, &found, Asked::ByNobody).await?;
    Ok(found.into_iter().map(|one| one.version).collect())
}

/// Looks again at once, from a place on, for a curator.
pub(crate) async fn now(tenant: &Tenant, call: &Call, cursor: Option<&str>) -> Result<Reverified, Refusal> {
    let from = call.caller.must(Power::Policies).and_then(|()| tenant.place(&call.caller, cursor));
    let from = match from {
        Ok(from) => Row::try_from(from).unwrap_or(Row::MAX),
        Err(refusal) => return Err(tenant.refused(call, "reverify", Vec::new(), refusal).await),
    };
    let result = passes(tenant, call, from).await;
    tenant.read_done(call, "reverify", Vec::new(), result).await
}

async fn passes(tenant: &Tenant, call: &Call, from: Row) -> Result<Reverified, Refusal> {
    let mut reply = Reverified::default();
    let mut at = Some(from);
    for _ in 0..PASSES_MAX {
        let Some(row) = at else { break };
        let looked = pass(tenant, row, Asked::ByCurator).await?;
        at = looked.next;
        reply.checked += looked.found.len() as u64;
        for finding in looked.found.iter().filter_map(|one| one.finding) {
            match finding.proves() {
                Some(true) => reply.passed += 1,
                Some(false) => reply.failed += 1,
                None => reply.aged += 1,
            }
        }
        let seen = looked.found.iter().filter(|one| one.finding.is_some_and(|finding| !finding.is_passed()));
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, &call.caller, &views);
        reply.flagged.extend(
            seen.filter_map(|one| flag(&views, one.version, &|version| is_told(&views, version, &predicate))),
        );
    }
    reply.next = at.map(|row| tenant.cursor(&call.caller, u64::from(row)));
    Ok(reply)
}

/// Whether a caller may be told of what was found of a version. What rests on private items is told to their owner alone: that
/// one of them was taken back shows in the finding (SHARE-39).
fn is_told(views: &Views, version: &Version, predicate: &Predicate) -> bool {
    predicate.admits(version) && (version.owner == predicate.owner() || !rests_on_private(views, version))
}

/// The flag of a version, if it has one and may be seen.
fn flag(views: &Views, version: VersionId, admits: &dyn Fn(&Version) -> bool) -> Option<Flag> {
    let check = views.checks.of(version).filter(|check| !check.finding.is_passed())?;
    let version = views.items.find_version(version).filter(|version| admits(version))?;
    Some(Flag {
        item: views.items.item_of(version)?.id,
        version: version.id,
        layer: version.layer,
        finding: check.finding,
        since: check.time,
    })
}

/// The flags that stand, newest first, as far as the caller may see them.
pub(crate) async fn flagged(tenant: &Tenant, call: &Call) -> Result<Vec<Flag>, Refusal> {
    let flags = {
        let views = tenant.shared.views.read();
        let at = tenant.moment(&views);
        let predicate = predicate(tenant, &call.caller, &views);
        let is_head = |version: &Version| {
            let item = views.items.item_of(version);
            let head = item.and_then(|item| views.items.head_at(item, at));
            head.is_some_and(|head| head.id == version.id) && is_told(&views, version, &predicate)
        };
        let mut flags: Vec<Flag> =
            views.checks.flagged().filter_map(|(version, _)| flag(&views, version, &is_head)).collect();
        flags.sort_by_key(|flag| (std::cmp::Reverse(flag.since), flag.item));
        flags.truncate(PAGE);
        flags
    };
    let ids = flags.iter().map(|flag| flag.item.to_string()).collect();
    tenant.read_done(call, "list_flagged", ids, Ok(flags)).await
}

/// Whether a content is gone for good: there is nothing left to verify.
fn is_gone(refusal: &Refusal) -> bool {
    refusal.code == Code::Gone
}
