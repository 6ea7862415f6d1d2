//! Walks along relations: the strongest paths from a node, under the caller's predicate, at any moment.
//!
//! Invariant (hidden is missing): a relation that the caller may not see, or that ties an item which the caller may not see,
//! is not there for the walk. A node that nobody named and one that only hidden relations name both lead nowhere.

mod asked;
mod probe;

pub(crate) use probe::Walk;

use crate::Call;
use crate::calibration::{Trod, note_walk};
use crate::read::{Sketch, fill, moment, settled, unless_destroyed};
use crate::reply::{ItemReply, PathReply, PathsQuery, PathsReply, StepReply};
use crate::search::{indexed, redacted_classes};
use crate::sharing::Chain;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use asked::Asked;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;
use tabellion_core::access::{Caller, Disclosed, Power};
use tabellion_core::error::Refusal;
use tabellion_core::log::Shaped;
use tabellion_core::policy::Candidate;
use tabellion_core::view::{self, Direction, Hop, Kind, Moment, Node, Path, Row, Scope, Views, Walked};

/// How often a walk is made again without what a policy keeps back; after that, what is left is the answer.
const WALKS_MAX: usize = 64;

/// ρ of a version (CAL-32), the factor by which it weakens a path (CAL-36).
pub(crate) fn trust_of(views: &Views, row: Row) -> f64 {
    views.trust.rho(row)
}

pub(crate) async fn paths(tenant: &Tenant, call: &Call, query: PathsQuery) -> Result<PathsReply, Refusal> {
    let call = &Call { trace: query.trace_id.clone().or_else(|| call.trace.clone()), ..call.clone() };
    let result = run(tenant, &call.caller, &query).await;
    let ids = result.as_ref().map_or_else(|_| Vec::new(), |found| found.ids());
    if let Ok(found) = &result {
        tenant.given(call, found.items.values(), None);
        if let Some(walk) = found.best().filter(|_| query.as_of.is_none()) {
            let namespace = query.namespace.as_deref();
            note_walk(tenant, call, &Trod { walk: &walk, namespace, shared_work: false });
        }
    }
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    let mut row = tenant.row(call, "paths", outcome, ids);
    let asked = [query.from.as_deref(), query.to.as_deref()].map(|name| name.unwrap_or_default().as_bytes());
    row.record.query = Some(tenant.fingerprint(&[b"paths", asked[0], asked[1]]));
    row.record.shaped = result.as_ref().ok().and_then(|found| found.shaped.clone().noted());
    tenant.readers.note(&call.caller, tenant.now());
    tenant.trail_read(row).await?;
    result.map(|found| found.reply)
}

/// An answer, and what it is made of.
struct Answer {
    reply: PathsReply,
    from: Option<Node>,
    walked: Walked,
    items: BTreeMap<Row, ItemReply>,
    shaped: Shaped,
}

impl Answer {
    fn ids(&self) -> Vec<String> {
        self.items.values().map(|item| item.id.to_string()).collect()
    }

    /// The best path, as an agent walked it.
    fn best(&self) -> Option<Walk> {
        let hops = || self.walked.paths.first().into_iter().flat_map(|path| &path.hops);
        let nodes: Vec<Node> = self.from.into_iter().chain(hops().map(|hop| hop.to)).collect();
        let rows: Vec<Row> = hops().map(|hop| hop.row).collect();
        (!rows.is_empty()).then_some(Walk { nodes, rows })
    }
}

async fn run(tenant: &Tenant, caller: &Caller, query: &PathsQuery) -> Result<Answer, Refusal> {
    let asked = Asked::of(query)?;
    indexed(tenant, caller, query.min_token.as_deref()).await?;
    settled(tenant, || Walking { tenant, caller, query, asked: &asked }.answer())
}

/// A walk that can be made, and again.
struct Walking<'a> {
    tenant: &'a Tenant,
    caller: &'a Caller,
    query: &'a PathsQuery,
    asked: &'a Asked<'a>,
}

/// What a walk found while the views were locked.
struct Sketched {
    from: Option<Node>,
    walked: Walked,
    kinds: BTreeMap<Kind, String>,
    sketches: BTreeMap<Row, Disclosed<Sketch>>,
    at: Moment,
}

impl Walking<'_> {
    fn answer(&self) -> Result<Answer, Refusal> {
        let reading = Chain::of_reading(self.tenant, self.caller, &self.tenant.shared.views.read());
        let mut kept_back = RoaringBitmap::new();
        let mut walks = 0;
        loop {
            let Sketched { from, mut walked, kinds, sketches, at } = self.walked(&kept_back)?;
            walks += 1;
            let (items, refused) = self.shown(sketches, &reading)?;
            if !refused.is_empty() && walks < WALKS_MAX {
                kept_back |= refused;
                continue;
            }
            // A path is shown whole or not at all.
            let whole = |path: &Path| path.hops.iter().all(|hop| items.contains_key(&hop.row));
            walked.truncated |= !refused.is_empty();
            walked.paths.retain(whole);
            let items = within_limits(&mut walked, items, &reading, self.tenant);
            let shown = walked.paths.iter().map(|path| shown_path(path, &items, &kinds));
            let mut paths: Vec<PathReply> = shown.collect();
            if !self.caller.may(Power::Audit) {
                in_bands(&mut paths);
            }
            let reply = PathsReply {
                paths,
                truncated: walked.truncated,
                token: self.tenant.token(self.caller, at.lsn),
            };
            let shaped = reading.shaped(items.values().any(|item| item.transformed));
            return Ok(Answer { reply, from, walked, items, shaped });
        }
    }

    fn walked(&self, kept_back: &RoaringBitmap) -> Result<Sketched, Refusal> {
        let (tenant, caller) = (self.tenant, self.caller);
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, caller, &views);
        let redacted = redacted_classes(tenant, caller, &views);
        let index = tenant.shared.index.read();
        let at = moment(tenant, caller, &views, self.query.as_of.as_deref())?;
        let at = Moment { lsn: at.lsn.min(index.lsn()), ..at };
        let namespace = self.query.namespace.as_deref();
        let scope = Scope { predicate: &predicate, at, tier: None, layers: &[], namespace, redacted };
        let admits = |row: Row| !kept_back.contains(row) && index.may_walk(&views.items, &scope, row);
        let graph = index.relations.masked(at.lsn < index.lsn(), admits);
        let walked =
            self.asked.walk(&index.relations, |asked| view::walk(&graph, asked, |row| trust_of(&views, row)));
        let hops = || walked.paths.iter().flat_map(|path| path.hops.iter());
        let sketch = |hop: &Hop| {
            let version = views.items.version(hop.row)?;
            let item = views.items.item_of(version)?;
            Some((hop.row, Sketch::of(&views, item, version, at, &predicate)?))
        };
        let name = |hop: &Hop| Some((hop.kind, index.relations.kind_name(hop.kind)?.to_owned()));
        let (sketches, kinds) = (hops().filter_map(sketch).collect(), hops().filter_map(name).collect());
        Ok(Sketched { from: self.asked.begins(&index.relations), walked, kinds, sketches, at })
    }

    /// The relations as they may be shown, and those that may not.
    fn shown(
        &self,
        sketches: BTreeMap<Row, Disclosed<Sketch>>,
        reading: &Chain,
    ) -> Result<(BTreeMap<Row, ItemReply>, RoaringBitmap), Refusal> {
        let (limits, now) = (reading.limits(), self.tenant.now());
        let (mut items, mut refused) = (BTreeMap::new(), RoaringBitmap::new());
        for (row, sketch) in sketches {
            let Some(item) = unless_destroyed(fill(sketch, self.tenant, self.caller))? else {
                refused.insert(row);
                continue;
            };
            let candidate = Candidate { similarity: None, created_at: item.created_at, chars: 0 };
            let is_open = limits.admits(&candidate, now) && !reading.is_unsearchable(&item.content);
            match reading.shown(item).filter(|item| is_open && item.content.relation().is_some()) {
                Some(item) => drop(items.insert(row, item)),
                None => drop(refused.insert(row)),
            }
        }
        Ok((items, refused))
    }
}

/// The paths that need no more relations than the policies of the caller let be shown, and their relations.
fn within_limits(
    walked: &mut Walked,
    mut items: BTreeMap<Row, ItemReply>,
    reading: &Chain,
    tenant: &Tenant,
) -> BTreeMap<Row, ItemReply> {
    let mut used: Vec<Row> = Vec::new();
    for hop in walked.paths.iter().flat_map(|path| &path.hops) {
        if !used.contains(&hop.row) {
            used.push(hop.row);
        }
    }
    let candidate = |row: &Row| {
        let created_at = items.get(row).map(|item| item.created_at).unwrap_or_default();
        Candidate { similarity: None, created_at, chars: 0 }
    };
    let candidates: Vec<Candidate> = used.iter().map(candidate).collect();
    let allowed = reading.limits().choose(&candidates, tenant.now());
    let allowed: RoaringBitmap = allowed.iter().filter_map(|one| used.get(one.index).copied()).collect();
    walked.paths.retain(|path| path.hops.iter().all(|hop| allowed.contains(hop.row)));
    let rows: RoaringBitmap =
        walked.paths.iter().flat_map(|path| path.hops.iter().map(|hop| hop.row)).collect();
    items.retain(|row, _| rows.contains(*row));
    items
}

/// Exact trust is for those who audit (CAL-41): to others a path is as strong as the bands of its relations, in the same order.
fn in_bands(paths: &mut [PathReply]) {
    let mut most = 1.0_f64;
    for path in paths {
        most = most.min(path.relations.iter().map(|step| step.trust.typical()).product());
        path.strength = most;
    }
}

fn shown_path(path: &Path, items: &BTreeMap<Row, ItemReply>, kinds: &BTreeMap<Kind, String>) -> PathReply {
    let mut reply = PathReply { strength: path.strength, nodes: Vec::new(), relations: Vec::new() };
    for hop in &path.hops {
        let Some(item) = items.get(&hop.row) else { continue };
        let Some(triple) = item.content.relation() else { continue };
        let (near, far) = match hop.along {
            true => (&triple.subject, &triple.object),
            false => (&triple.object, &triple.subject),
        };
        if reply.nodes.is_empty() {
            reply.nodes.push(near.clone());
        }
        reply.nodes.push(far.clone());
        reply.relations.push(StepReply {
            id: item.id,
            version: item.version,
            kind: kinds.get(&hop.kind).cloned().unwrap_or_default(),
            direction: if hop.along { Direction::Out } else { Direction::In },
            trust: item.trust,
        });
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::TrustBand;
    use tabellion_core::id::{ItemId, VersionId};

    /// CAL-36, CAL-41: only auditors are told how strong a path is exactly; to others it is as strong as its bands, in the same
    /// order.
    #[test]
    fn strength_is_told_in_bands() {
        let step = |trust| StepReply {
            id: ItemId::from_bytes([1; 16]),
            version: VersionId::from_bytes([2; 16]),
            kind: "leads_to".into(),
            direction: Direction::Out,
            trust,
        };
        let path = |strength, bands: &[TrustBand]| PathReply {
            strength,
            nodes: Vec::new(),
            relations: bands.iter().copied().map(step).collect(),
        };
        let (low, medium, high) = (TrustBand::Low, TrustBand::Medium, TrustBand::High);
        let mut paths =
            [path(0.69, &[medium]), path(0.49, &[high, high]), path(0.1, &[low]), path(0.09, &[low])];
        in_bands(&mut paths);
        assert_eq!(paths.map(|path| path.strength), [0.5, 0.5, 0.25, 0.25]);
    }
}
