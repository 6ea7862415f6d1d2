//! Working memory: scratch of one (user, agent) pair. It is never in the log, never on disk, and ends with its time.
//!
//! A write to it passes the same gates; what it does not have is a past: an update replaces, a retraction forgets.

use crate::Call;
use crate::read::{layer_word, within};
use crate::reply::{Found, ItemReply, ListQuery, Page, SearchQuery, TrustBand, WriteStatus, Written};
use crate::sequencer::Objection;
use crate::sharing::Chain;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::write::{ACTION, check_token, gather, in_time, version_conflict};
use parking_lot::Mutex;
use std::collections::HashMap;
use tabellion_core::access::Caller;
use tabellion_core::canonical::{Hash, idempotency_token};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{Judged, Replaces, Strictness, WriteDraft, WriteRequest, judge};
use tabellion_core::id::{AgentId, ItemId, UserId, VersionId};
use tabellion_core::item::{Layer, Operation, Status};
use tabellion_core::log::Shaped;
use tabellion_core::policy::Classes;
use tabellion_core::rank::{Corpus, relevance};
use tabellion_core::text::{Analyser, Terms};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::view::Fields;

type Pair = (UserId, AgentId);

/// The working memory of a tenant.
#[derive(Default)]
pub(crate) struct Working(Mutex<HashMap<Pair, Vec<ItemReply>>>);

fn pair(caller: &Caller) -> Pair {
    (caller.user(), caller.agent())
}

fn lives(item: &ItemReply, now: Timestamp) -> bool {
    item.expires_at.is_none_or(|end| now < end)
}

/// What became of an item that was put.
enum Put {
    New(ItemReply),
    Known(ItemReply),
}

impl Working {
    /// Keeps an item, in place of another if it replaces one; the same content within its time is the same item.
    fn put(
        &self,
        caller: &Caller,
        mut item: ItemReply,
        replaces: Option<(ItemId, Option<VersionId>)>,
        max: usize,
    ) -> Result<Put, Refusal> {
        let now = item.updated_at;
        let mut all = self.0.lock();
        let items = all.entry(pair(caller)).or_default();
        items.retain(|item| lives(item, now));
        if let Some((id, expected)) = replaces {
            let place = items.iter_mut().find(|known| known.id == id).ok_or_else(Refusal::not_found)?;
            if expected.is_some_and(|expected| expected != place.version) {
                return Err(version_conflict());
            }
            (item.id, item.created_at, item.operation) = (place.id, place.created_at, Operation::Update);
            *place = item.clone();
            return Ok(Put::New(item));
        }
        let same = |known: &&ItemReply| known.content == item.content && known.namespace == item.namespace;
        if let Some(known) = items.iter().find(same) {
            return Ok(Put::Known(known.clone()));
        }
        if items.len() >= max {
            let full = Refusal::new(
                Code::WorkingFull,
                "working memory is full; retract items or wait until they lapse",
            );
            return Err(full.retry_after(Period::from_secs(60)));
        }
        items.push(item.clone());
        Ok(Put::New(item))
    }

    /// An item of this pair.
    pub(crate) fn get(&self, caller: &Caller, id: ItemId, now: Timestamp) -> Option<ItemReply> {
        if caller.moderates() {
            return None;
        }
        self.0.lock().get(&pair(caller))?.iter().find(|item| item.id == id && lives(item, now)).cloned()
    }

    /// The item of this pair with this version.
    fn with_version(&self, caller: &Caller, version: VersionId) -> Option<ItemId> {
        self.0.lock().get(&pair(caller))?.iter().find(|item| item.version == version).map(|item| item.id)
    }

    /// Every item of this pair, oldest first.
    fn all(&self, caller: &Caller, now: Timestamp) -> Vec<ItemReply> {
        if caller.moderates() {
            return Vec::new();
        }
        let all = self.0.lock();
        all.get(&pair(caller)).into_iter().flatten().filter(|item| lives(item, now)).cloned().collect()
    }

    /// The ids of this pair's items.
    pub(crate) fn ids(&self, caller: &Caller, now: Timestamp) -> Vec<ItemId> {
        self.all(caller, now).into_iter().map(|item| item.id).collect()
    }

    /// Forgets an item of this pair.
    pub(crate) fn remove(&self, caller: &Caller, id: ItemId, now: Timestamp) -> Option<ItemReply> {
        let mut all = self.0.lock();
        let items = all.get_mut(&pair(caller))?;
        let place = items.iter().position(|item| item.id == id && lives(item, now))?;
        Some(items.remove(place))
    }
}

/// A draft that replaces a working item without naming a layer stays in working memory.
pub(crate) fn claim(tenant: &Tenant, call: &Call, mut draft: WriteDraft) -> WriteDraft {
    let named = draft.item.as_deref().or(draft.supersedes.as_deref()).and_then(|id| id.parse().ok());
    let is_working = named.is_some_and(|id| tenant.working.get(&call.caller, id, tenant.now()).is_some());
    if draft.layer.is_none() && is_working {
        draft.layer = Some(Layer::Working.as_str().to_owned());
    }
    draft
}

/// Writes to working memory: the same gates and the same row on the trail, but no entry.
pub(crate) async fn write(
    tenant: &Tenant,
    call: &Call,
    request: WriteRequest,
    trace: Option<Hash>,
) -> Result<Written, Refusal> {
    let now = tenant.now();
    let facts = {
        let views = tenant.shared.views.read();
        gather(tenant, call, &views, &request, &predicate(tenant, &call.caller, &views))
    };
    let Judged::Admitted(admitted) = judge(request, &call.caller, &facts, &mut |_| {})? else {
        return Err(Refusal::new(Code::Internal, "working memory waits for nobody"));
    };
    let request = admitted.request();
    check_token(request, &idempotency_token(admitted.content(), &call.caller.agent(), request.layer))?;
    if let Err(Objection::Refused(refusal)) = in_time(request.deadline, now) {
        return Err(refusal);
    }
    let replaces = replaced(tenant, call, request)?;
    let item = ItemReply {
        id: ItemId::from_bytes(tenant.entropy.bytes()),
        version: VersionId::from_bytes(tenant.entropy.bytes()),
        content: request.content.clone(),
        layer: Layer::Working,
        tier: admitted.tier(),
        namespace: request.namespace.clone(),
        confidence: request.confidence,
        trust: TrustBand::Medium,
        rho: None,
        evidence: request.evidence.clone(),
        operation: Operation::Insert,
        status: Status::Active,
        parents: Vec::new(),
        agents: admitted.agents().to_vec(),
        resources: admitted.resources().to_vec(),
        pinned: false,
        created_at: now,
        updated_at: now,
        expires_at: request.expires_at(now, Strictness::default()),
        token: String::new(),
        transformed: false,
        valid_until: None,
        against: Vec::new(),
        contributed: None,
        shared: None,
    };
    let (status, kept) = match tenant.working.put(&call.caller, item, replaces, tenant.limits.working_max)? {
        Put::New(item) => (WriteStatus::Committed, item),
        Put::Known(item) => (WriteStatus::AlreadyCommitted, item),
    };
    let mut row =
        tenant.row(call, ACTION, status.as_str(), vec![kept.id.to_string(), kept.version.to_string()]);
    row.record.trace = trace;
    tenant.sequencer.trail_now(row).await?;
    let token = tenant.token(&call.caller, tenant.shared.views.read().lsn());
    Ok(Written {
        status,
        id: Some(kept.id),
        version: Some(kept.version),
        trust: TrustBand::Medium,
        token: Some(token),
        deferral: None,
        shared: None,
        owed: None,
        against: Vec::new(),
        superseded: Vec::new(),
        replaces: None,
    })
}

/// The working item that a write replaces, and the version it must have.
fn replaced(
    tenant: &Tenant,
    call: &Call,
    request: &WriteRequest,
) -> Result<Option<(ItemId, Option<VersionId>)>, Refusal> {
    let of_version =
        |version| tenant.working.with_version(&call.caller, version).ok_or_else(Refusal::not_found);
    Ok(match (request.replaces, request.expected_version) {
        (None, None) => None,
        (None, Some(expected)) => Some((of_version(expected)?, Some(expected))),
        (Some(Replaces::Item(item) | Replaces::Superseded(item)), expected) => Some((item, expected)),
        (Some(Replaces::SupersededVersion(version)), expected) => {
            Some((of_version(version)?, Some(expected.unwrap_or(version))))
        }
    })
}

/// One page of working items, as the read policies let the caller see them. What one keeps back is counted nowhere.
pub(crate) fn page(
    tenant: &Tenant,
    caller: &Caller,
    query: &ListQuery,
    (skip, limit): (u64, u64),
) -> (Page<ItemReply>, Shaped) {
    let (lsn, reading) = {
        let views = tenant.shared.views.read();
        (views.lsn(), Chain::of_reading(tenant, caller, &views))
    };
    let wanted = |item: &ItemReply| query.namespace.as_ref().is_none_or(|name| *name == item.namespace);
    let held = tenant.working.all(caller, tenant.now()).into_iter().filter(wanted);
    let mut rows: Vec<ItemReply> = held.filter_map(|item| reading.shown(item)).collect();
    let (skip, limit) =
        (usize::try_from(skip).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(usize::MAX));
    let more = rows.len() > skip.saturating_add(limit);
    rows = rows.into_iter().skip(skip).take(limit).collect();
    rows.iter_mut().for_each(|item| item.token = tenant.token(caller, lsn));
    let shaped = reading.shaped(rows.iter().any(|item| item.transformed));
    (Page { rows, next: more.then(|| tenant.cursor(caller, (skip + limit) as u64)) }, shaped)
}

/// The working items that fit a search of the present, unless it names other layers.
pub(crate) fn search(
    tenant: &Tenant,
    caller: &Caller,
    query: &SearchQuery,
    (words, quoted, redacted): (&Terms, &[Vec<String>], Classes),
) -> Result<Vec<Found>, Refusal> {
    let asked = query.layers.iter().map(|word| layer_word(word)).collect::<Result<Vec<_>, _>>()?;
    let wanted = asked.is_empty() || asked.contains(&Layer::Working);
    if query.as_of.is_some() || !wanted {
        return Ok(Vec::new());
    }
    let k = within(query.k, crate::search::K_DEFAULT, tenant.limits.k_max, "/k")?;
    let wanted = |item: &ItemReply| query.namespace.as_ref().is_none_or(|name| *name == item.namespace);
    let mut analyser = Analyser::default();
    let items: Vec<(ItemReply, Terms)> = tenant
        .working
        .all(caller, tenant.now())
        .into_iter()
        .filter(wanted)
        .map(|item| {
            let terms = Fields::of(&item.content, &mut analyser).shown(redacted);
            (item, terms)
        })
        .filter(|(_, terms)| quoted.iter().all(|phrase| terms.hold(phrase)))
        .collect();
    let corpus = Corpus {
        texts: items.len() as u64,
        words: items.iter().map(|(_, terms)| u64::from(terms.length)).sum(),
    };
    let weights: Vec<(&str, f64)> = words
        .words
        .iter()
        .map(|(word, _)| {
            let with_word = items.iter().filter(|(_, terms)| terms.count(word) > 0).count();
            (word.as_str(), corpus.word_weight(with_word as u64))
        })
        .collect();
    let lsn = tenant.shared.views.read().lsn();
    let mut found: Vec<Found> = items
        .into_iter()
        .filter_map(|(mut item, terms)| {
            let score: f64 = weights
                .iter()
                .map(|(word, weight)| corpus.bm25(*weight, terms.count(word), terms.length))
                .sum();
            item.token = tenant.token(caller, lsn);
            (score > 0.0).then(|| Found { item, score: relevance(score), relevance: relevance(score) })
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(usize::try_from(k).unwrap_or(usize::MAX));
    Ok(found)
}
