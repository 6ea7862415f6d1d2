//! Get, list, versions and provenance: reads by id, under the caller's predicate, at any moment.

use crate::reply::{Contributed, Found, ItemReply, ListQuery, Page, QuarantineReply, VersionReply};
use crate::search::redacted_classes;
use crate::sharing::Chain;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, short_ids, working};
use tabellion_core::access::{Caller, Disclosed, Power, Predicate, disclose};
use tabellion_core::canonical::hex;
use tabellion_core::claim::{SIGMA_TOPIC, contradiction};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{Against, Known};
use tabellion_core::id::{ItemId, KeyId, VersionId};
use tabellion_core::item::{Content, Layer, Status};
use tabellion_core::log::{Lsn, Payload, Shaped};
use tabellion_core::policy::Classes;
use tabellion_core::provenance::Provenance;
use tabellion_core::time::{PAST_WORDS, Period};
use tabellion_core::view::{Item, Moment, Row, Scope, Version, Views};

const PAGE_DEFAULT: u64 = 50;
/// Results of a search that are compared with each other.
const COMPARED_RESULTS_MAX: usize = 20;
/// Items that a read compares with.
const AGAINST_MAX: usize = 50;

pub(crate) async fn get(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    as_of: Option<&str>,
) -> Result<ItemReply, Refusal> {
    let result = settled(tenant, || get_item(tenant, &call.caller, id, as_of));
    if let Ok((item, _)) = &result {
        tenant.given(call, std::iter::once(item), None);
    }
    tenant.readers.note(&call.caller, tenant.now());
    tenant.read_shaped(call, "get", named(id), result).await
}

pub(crate) async fn list(tenant: &Tenant, call: &Call, query: ListQuery) -> Result<Page<ItemReply>, Refusal> {
    let result = settled(tenant, || list_items(tenant, &call.caller, &query));
    if let Ok((page, _)) = &result {
        tenant.given(call, page.rows.iter(), None);
    }
    let ids = result
        .as_ref()
        .map_or_else(|_| Vec::new(), |(page, _)| page.rows.iter().map(|item| item.id.to_string()).collect());
    tenant.readers.note(&call.caller, tenant.now());
    tenant.read_shaped(call, "list", ids, result).await
}

pub(crate) async fn versions(tenant: &Tenant, call: &Call, id: &str) -> Result<Vec<VersionReply>, Refusal> {
    let result = settled(tenant, || list_versions(tenant, &call.caller, id));
    tenant.read_done(call, "versions", named(id), result).await
}

pub(crate) async fn provenance(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    version: Option<&str>,
) -> Result<Provenance, Refusal> {
    let result = settled(tenant, || read_provenance(tenant, &call.caller, id, version));
    tenant.read_shaped(call, "provenance", named(id), result).await
}

/// How often a read is made again when who may see what has changed under it.
pub(crate) const READS_MAX: usize = 8;

/// Reads again if who may see what changed between the views that were read and the reply (SHARE-5).
pub(crate) fn settled<T>(tenant: &Tenant, read: impl Fn() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let epoch = || tenant.shared.views.read().access_epoch();
    for _ in 0..READS_MAX {
        let before = epoch();
        let result = read();
        if epoch() == before {
            return result;
        }
    }
    Err(access_keeps_changing())
}

pub(crate) fn access_keeps_changing() -> Refusal {
    let message = "who may see what keeps changing; try again";
    Refusal::new(Code::MinTokenTimeout, message).retry_after(Period::from_secs(1))
}

/// An id as the trail keeps it: what is no id is a text that a caller made up, and texts are not kept in the clear.
pub(crate) fn named(id: &str) -> Vec<String> {
    let is_id = id.parse::<ItemId>().is_ok() || id.parse::<KeyId>().is_ok();
    if is_id { vec![id.to_owned()] } else { Vec::new() }
}

/// The id, or the one answer for what is missing.
pub(crate) fn item_id(id: &str) -> Result<ItemId, Refusal> {
    id.parse().map_err(|_| short_ids::not_whole(id, Refusal::not_found()))
}

/// The moment that `as_of` names: a time, or a token that this caller was given.
pub(crate) fn moment(
    tenant: &Tenant,
    caller: &Caller,
    views: &Views,
    as_of: Option<&str>,
) -> Result<Moment, Refusal> {
    let Some(as_of) = as_of else { return Ok(tenant.moment(views)) };
    if let Some(time) = tenant.now().looking_back(as_of) {
        // Nothing is known of the future: a time to come is answered as the present.
        let time = time.min(tenant.now());
        return Ok(Moment { lsn: views.items.lsn_at(time), time });
    }
    let lsn = tenant.position(caller, as_of, "as_of").map_err(|refusal| {
        let expected = format!("{PAST_WORDS}; or a token that this server gave to this caller");
        let fault = Fault::new("/as_of", Code::TokenInvalid, expected);
        refusal.with(vec![fault])
    })?;
    Ok(Moment { lsn, time: views.items.time_of(lsn).unwrap_or_default() })
}

fn get_item(
    tenant: &Tenant,
    caller: &Caller,
    id: &str,
    as_of: Option<&str>,
) -> Result<(ItemReply, Shaped), Refusal> {
    let id = item_id(id)?;
    if as_of.is_none()
        && let Some(mut item) = tenant.working.get(caller, id, tenant.now())
    {
        let views = tenant.shared.views.read();
        item.token = tenant.token(caller, views.lsn());
        return shown(&Chain::of_reading(tenant, caller, &views), item);
    }
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, caller, &views);
    let at = moment(tenant, caller, &views, as_of)?;
    // What another item's newer statement has replaced is still read by its id, as history.
    let replaced = || {
        let item = views.items.visible_item(id, &predicate)?;
        let last = views.items.replaced_head(item, at)?;
        predicate.admits(last).then_some((item, last))
    };
    // A moderator reads what is in quarantine, by its id.
    let suspect = || {
        let item = views.items.visible_item(id, &predicate).filter(|_| caller.moderates())?;
        let head = views.items.head_in_quarantine(item, at)?;
        predicate.admits(head).then_some((item, head))
    };
    let head = views.items.visible_head(id, &predicate, at).or_else(replaced).or_else(suspect);
    let (item, head) = head.ok_or_else(Refusal::not_found)?;
    let sketch = Sketch::of(&views, item, head, at, &predicate).ok_or_else(Refusal::not_found)?;
    let reading = Chain::of_reading(tenant, caller, &views);
    let redacted = redacted_classes(tenant, caller, &views);
    let against = against(tenant, &views, head, (&predicate, redacted), at);
    drop(views);
    let item = ItemReply { against, ..fill(sketch, tenant, caller)? };
    shown(&reading, item)
}

/// A version as the caller is shown it, whatever became of it since; nothing if it is hidden.
pub(crate) fn shown_version(tenant: &Tenant, caller: &Caller, version: VersionId) -> Option<ItemReply> {
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, caller, &views);
    let version = views.items.find_version(version)?;
    let item = views.items.item_of(version)?;
    let sketch = Sketch::of(&views, item, version, tenant.moment(&views), &predicate)?;
    let reading = Chain::of_reading(tenant, caller, &views);
    drop(views);
    reading.shown(fill(sketch, tenant, caller).ok()?)
}

/// A text within its length; the rest of a longer one is a dot of three.
pub(crate) fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn shown(reading: &Chain, item: ItemReply) -> Result<(ItemReply, Shaped), Refusal> {
    let item = reading.shown(item).ok_or_else(Refusal::not_found)?;
    let shaped = reading.shaped(item.transformed);
    Ok((item, shaped))
}

/// What else the caller may see that speaks against a version, surest first. Where either is redacted for the caller, they
/// are not compared.
fn against(
    tenant: &Tenant,
    views: &Views,
    version: &Version,
    (predicate, redacted): (&Predicate, Classes),
    at: Moment,
) -> Vec<Against> {
    let index = tenant.shared.index.read();
    let row = views.items.row_of(version.id);
    let shown = row.filter(|row| version.layer.is_durable() && !index.redacts(*row, redacted));
    let Some(claim) = shown.and_then(|row| index.claims.get(row)) else {
        return Vec::new();
    };
    let (layers, namespace) = ([version.layer], views.items.namespace_of(version));
    let scope = Scope { predicate, at, tier: None, layers: &layers, namespace: Some(namespace), redacted };
    let near = index.claims.about(claim, AGAINST_MAX, SIGMA_TOPIC, |near| {
        Some(near) != row && !index.redacts(near, redacted) && scope.admits_row(&views.items, near)
    });
    let speaks = |(near, similarity): &(Row, f64)| {
        let found = contradiction(index.claims.get(*near)?, claim, SIGMA_TOPIC)?;
        let other = views.items.version(*near)?;
        let known = Known { item: views.items.item_of(other)?.id, version: other.id };
        Some(Against { known, method: found.method, score: found.score, similarity: *similarity, text: None })
    };
    let mut against: Vec<Against> = near.iter().filter_map(speaks).collect();
    against.sort_by(|a, b| b.score.total_cmp(&a.score));
    against
}

fn list_items(
    tenant: &Tenant,
    caller: &Caller,
    query: &ListQuery,
) -> Result<(Page<ItemReply>, Shaped), Refusal> {
    let limit = within(query.limit, PAGE_DEFAULT, tenant.limits.page_max, "/limit")?;
    let layer = query.layer.as_deref().map(layer_word).transpose()?;
    let skip = tenant.place(caller, query.cursor.as_deref())?;
    if query.quarantined && !caller.moderates() {
        let fault = Fault::new("/moderate", Code::MissingRequiredField, "why, for the audit log");
        let message = "what is in quarantine is listed for moderators: give the reason as `moderate`";
        return Err(Refusal::new(Code::SchemaInvalid, message).with(vec![fault]));
    }
    if layer == Some(Layer::Working) {
        return Ok(working::page(tenant, caller, query, (skip, limit)));
    }
    let reading = Chain::of_reading(tenant, caller, &tenant.shared.views.read());
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
    let mut from = Row::try_from(skip).unwrap_or(Row::MAX);
    let mut rows: Vec<(Row, ItemReply)> = Vec::new();
    // One more than is asked for: whether there is a next page is told by what may be shown alone (SHARE-40).
    while rows.len() < wanted {
        let sketches = sketches(tenant, caller, (query, layer), from, wanted - rows.len());
        let Some((last, _)) = sketches.last() else { break };
        from = last.saturating_add(1);
        for (place, sketch) in sketches {
            let Some(item) = unless_destroyed(fill(sketch, tenant, caller))? else { continue };
            rows.extend(reading.shown(item).map(|item| (place, item)));
        }
    }
    let next = if rows.len() == wanted { rows.pop().map(|(place, _)| u64::from(place)) } else { None };
    let rows: Vec<ItemReply> = rows.into_iter().map(|(_, item)| item).collect();
    let shaped = reading.shaped(rows.iter().any(|item| item.transformed));
    Ok((Page { rows, next: next.map(|place| tenant.cursor(caller, place)) }, shaped))
}

/// The next items of a list that the caller may see, each with its place.
fn sketches(
    tenant: &Tenant,
    caller: &Caller,
    (query, layer): (&ListQuery, Option<Layer>),
    from: Row,
    count: usize,
) -> Vec<(Row, Disclosed<Sketch>)> {
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, caller, &views);
    let at = tenant.moment(&views);
    let wanted = |head: &Version| {
        layer.is_none_or(|layer| layer == head.layer)
            && query.namespace.as_deref().is_none_or(|name| views.items.namespace_of(head) == name)
    };
    if query.quarantined {
        let found = views.items.quarantined_items(from).filter_map(|(place, item)| {
            let head = views.items.head_in_quarantine(item, at).filter(|head| wanted(head))?;
            Some((place, Sketch::of(&views, item, head, at, &predicate)?))
        });
        return found.take(count).collect();
    }
    let found = views.items.visible_items(&predicate, from).filter_map(|(place, item)| {
        let head = views.items.head_at(item, at).filter(|head| wanted(head))?;
        Some((place, Sketch::of(&views, item, head, at, &predicate)?))
    });
    found.take(count).collect()
}

fn list_versions(tenant: &Tenant, caller: &Caller, id: &str) -> Result<Vec<VersionReply>, Refusal> {
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, caller, &views);
    let at = tenant.moment(&views);
    let item = views.items.visible_item(item_id(id)?, &predicate).ok_or_else(Refusal::not_found)?;
    let reply = |version: &Version| VersionReply {
        version: version.id,
        operation: version.operation,
        status: views.items.status_at(version, at).unwrap_or(Status::Active),
        quarantined: item.is_quarantined_at(at.lsn) && views.items.is_active_at(version, at),
        parents: parents(&views, version, &predicate),
        agents: views.items.class_of(version).map(|class| class.agents.clone()).unwrap_or_default(),
        layer_version: version.layer_version,
        created_at: version.time,
        ended_at: match version.ended() {
            Some((lsn, _)) => views.items.time_of(lsn),
            None => views.items.expired_at(version, at),
        },
        valid_until: views.items.valid_until(version),
        token: tenant.token(caller, version.lsn),
    };
    Ok(views.items.versions_of(item).filter(|version| predicate.admits(version)).map(reply).collect())
}

/// The versions that a version replaced, as far as the reader may see them.
fn parents(views: &Views, version: &Version, predicate: &Predicate) -> Vec<VersionId> {
    let seen = views.items.parents_of(version).filter(|parent| predicate.admits(parent));
    seen.map(|parent| parent.id).collect()
}

fn read_provenance(
    tenant: &Tenant,
    caller: &Caller,
    id: &str,
    version: Option<&str>,
) -> Result<(Provenance, Shaped), Refusal> {
    let (lsn, superseded_by, reading, own) = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, caller, &views);
        let item = views.items.visible_item(item_id(id)?, &predicate).ok_or_else(Refusal::not_found)?;
        let chosen = match version {
            None => {
                let at = tenant.moment(&views);
                let suspect = || views.items.head_in_quarantine(item, at).filter(|_| caller.moderates());
                views.items.head_at(item, at).or_else(suspect)
            }
            Some(text) => {
                let wanted: VersionId = text.parse().map_err(|_| Refusal::not_found())?;
                views.items.versions_of(item).find(|version| version.id == wanted)
            }
        };
        let visible = chosen.filter(|version| predicate.admits(version));
        let chosen = visible.ok_or_else(Refusal::not_found)?;
        let replaces_it =
            |later: &&Version| views.items.parents_of(later).any(|parent| parent.id == chosen.id);
        let mut later = views.items.versions_of(item).filter(|version| predicate.admits(version));
        let superseded_by = later.find(replaces_it).map(|later| later.id.to_string());
        let reading = Chain::of_reading(tenant, caller, &views);
        (chosen.lsn, superseded_by, reading, chosen.owner == caller.user())
    };
    let (content, record) = content(tenant, lsn)?;
    if reading.denies(&content) {
        return Err(Refusal::not_found());
    }
    let record = Provenance { superseded_by, ..record };
    let shown = reading.shown_provenance(record.clone());
    let shaped = reading.shaped(shown != record);
    if own {
        return Ok((shown, shaped));
    }
    let user = shown.source_user_id.clone();
    let hidden = shown.without_contributor();
    let shown = if caller.moderates() { Provenance { source_user_id: user, ..hidden } } else { hidden };
    Ok((shown, shaped))
}

/// What a version says and where it comes from.
pub(crate) fn content(tenant: &Tenant, lsn: Lsn) -> Result<(Content, Provenance), Refusal> {
    let gone = || {
        let message =
            "the content was destroyed: its data key, or what was sealed under it, is not there any more";
        Refusal::new(Code::Gone, message)
    };
    let Some(Payload::Version { content, provenance, signature, .. }) = tenant.payload(lsn)? else {
        return Err(gone());
    };
    let unreadable =
        |_| Refusal::new(Code::StorageFailed, "the content could not be read; run `tabellion verify`");
    let content = serde_json::from_slice(&content).map_err(unreadable)?;
    let mut record: Provenance = serde_json::from_slice(&provenance).map_err(unreadable)?;
    record.provenance_signature = hex(&signature);
    Ok((content, record))
}

/// An item as the views know it: all but its content, taken while the views are locked.
pub(crate) struct Sketch {
    reply: ItemReply,
    lsn: Lsn,
    at: Lsn,
    /// The entry beside which the reason of its quarantine is sealed.
    quarantined: Option<Lsn>,
}

impl Sketch {
    pub(crate) fn of(
        views: &Views,
        item: &Item,
        version: &Version,
        at: Moment,
        predicate: &Predicate,
    ) -> Option<Disclosed<Self>> {
        let class = views.items.class_of(version);
        let trusted = views.items.row_of(version.id).map(|row| views.trust.stored(row)).unwrap_or_default();
        let created_at = views.items.versions_of(item).next().map_or(version.time, |first| first.time);
        let content = Content::plain(String::new(), String::new());
        let reply = ItemReply {
            id: item.id,
            version: version.id,
            content,
            layer: version.layer,
            tier: version.tier,
            namespace: views.items.namespace_of(version).to_owned(),
            confidence: version.confidence,
            trust: trusted.band(),
            rho: Some(trusted.rho()),
            evidence: Vec::new(),
            operation: version.operation,
            status: views.items.status_at(version, at).unwrap_or(Status::Active),
            parents: parents(views, version, predicate),
            agents: class.map(|class| class.agents.clone()).unwrap_or_default(),
            resources: class.map(|class| class.resources.clone()).unwrap_or_default(),
            pinned: item.is_pinned_at(at.lsn),
            created_at,
            updated_at: version.time,
            expires_at: version.expires_at,
            valid_until: views.items.valid_until(version),
            token: String::new(),
            transformed: false,
            against: Vec::new(),
            contributed: Some(Box::new(contributed(views, item, version))),
            shared: shared_copy(views, item, at, predicate),
        };
        let quarantined = item.quarantine().map(|one| one.lsn);
        disclose(Self { reply, lsn: version.lsn, at: at.lsn, quarantined }, version, predicate)
    }
}

/// Who contributed a version and put its item under quarantine, by name; the reason is read later.
fn contributed(views: &Views, item: &Item, version: &Version) -> Contributed {
    let name = |id| views.identity.user(id).map(|user| user.name.clone()).unwrap_or_default();
    let agent = version.agent.and_then(|agent| views.identity.agent(agent));
    let quarantine = item.quarantine().map(|one| QuarantineReply {
        by: one.by.user.map(|user| (user, name(user))),
        since: one.since,
        reason: None,
    });
    Contributed {
        user: (version.owner, name(version.owner)),
        agent: agent.map(|agent| (agent.id, agent.words.name.clone())),
        quarantine,
    }
}

fn shared_copy(views: &Views, item: &Item, at: Moment, predicate: &Predicate) -> Option<ItemId> {
    let copy = views.items.copy_of(item.id)?;
    views.items.head_at(copy, at).filter(|head| predicate.admits(head)).map(|_| copy.id)
}

/// Notes on each of the first results which of the others speak against it. Where either is redacted for the caller, they are
/// not compared.
pub(crate) fn compare_results(tenant: &Tenant, results: &mut [Found], redacted: Classes) {
    let views = tenant.shared.views.read();
    let index = tenant.shared.index.read();
    let claim = |found: &Found| {
        let row = views.items.row_of(found.item.version)?;
        let is_shown =
            found.item.layer.is_durable() && !found.item.transformed && !index.redacts(row, redacted);
        is_shown.then(|| index.claims.get(row)).flatten()
    };
    let first = results.len().min(COMPARED_RESULTS_MAX);
    let Some((compared, _)) = results.split_at_mut_checked(first) else { return };
    let all: Vec<(Known, &str, Layer)> = compared
        .iter()
        .map(|one| {
            (
                Known { item: one.item.id, version: one.item.version },
                one.item.namespace.as_str(),
                one.item.layer,
            )
        })
        .collect();
    let claims: Vec<_> = compared.iter().map(claim).collect();
    let mut found: Vec<Vec<Against>> = Vec::with_capacity(first);
    for (own, (_, namespace, layer)) in claims.iter().zip(&all) {
        let others = claims.iter().zip(&all).filter(|(_, other)| (other.1, other.2) == (*namespace, *layer));
        let speaks = others.filter_map(|(other, (known, _, _))| {
            let against = contradiction((*other)?, (*own)?, SIGMA_TOPIC)?;
            let similarity = against.similarity;
            Some(Against {
                known: *known,
                method: against.method,
                score: against.score,
                similarity,
                text: None,
            })
        });
        found.push(speaks.collect());
    }
    for (one, against) in compared.iter_mut().zip(found) {
        let own = one.item.version;
        one.item.against = against.into_iter().filter(|other| other.known.version != own).collect();
    }
}

/// Reads the content of what may be disclosed, and seals the token.
pub(crate) fn fill(
    sketch: Disclosed<Sketch>,
    tenant: &Tenant,
    caller: &Caller,
) -> Result<ItemReply, Refusal> {
    let sketch = sketch.into_inner();
    let (content, provenance) = content(tenant, sketch.lsn)?;
    let token = tenant.token(caller, sketch.at);
    let rho = sketch.reply.rho.filter(|_| caller.may(Power::Audit));
    let mut contributed = sketch.reply.contributed.filter(|_| caller.moderates());
    let quarantine = contributed.as_mut().and_then(|one| one.quarantine.as_mut());
    if let (Some(quarantine), Some(lsn)) = (quarantine, sketch.quarantined) {
        quarantine.reason = match tenant.payload(lsn) {
            Ok(Some(Payload::Reason(reason))) if !reason.is_empty() => Some(reason),
            _ => None,
        };
    }
    let evidence = provenance.evidence_refs;
    Ok(ItemReply { content, evidence, token, rho, contributed, ..sketch.reply })
}

/// What was read; nothing if its content was destroyed. A list, a search or a walk leaves it out and goes on, and only who asks
/// for the item itself is told.
pub(crate) fn unless_destroyed<T>(read: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match read {
        Err(refusal) if refusal.code == Code::Gone => Ok(None),
        read => read.map(Some),
    }
}

/// A number within its limit, or the fault.
pub(crate) fn within(number: Option<u64>, default: u64, max: u64, path: &str) -> Result<u64, Refusal> {
    let number = number.unwrap_or(default.min(max));
    if (1..=max).contains(&number) {
        return Ok(number);
    }
    let fault = Fault::new(path, Code::ConstraintViolation, format!("1 to {max}")).found(number.to_string());
    Err(Refusal::new(Code::SchemaInvalid, format!("`{path}` is out of range")).with(vec![fault]))
}

/// The layer that a word names, or the fault.
pub(crate) fn layer_word(word: &str) -> Result<Layer, Refusal> {
    Layer::from_word(word).ok_or_else(|| {
        let fault = Fault::new("/layer", Code::ConstraintViolation, format!("one of {}", Layer::words()));
        Refusal::new(Code::SchemaInvalid, "unknown layer").with(vec![fault])
    })
}
