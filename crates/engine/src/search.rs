//! Search: candidates under the predicate, ranked, disclosed.

mod asked;
#[cfg(test)]
mod redacted;

use crate::calibration::{self, Searched, Trod, note_walk};
use crate::paths::{Walk, trust_of};
use crate::read::{
    READS_MAX, Sketch, access_keeps_changing, compare_results, fill, moment, unless_destroyed,
};
use crate::reply::{Found, SearchQuery, SearchReply};
use crate::rows::kept_rows;
use crate::sharing::Chain;
use crate::tenant::{Tenant, behind};
use crate::vectors::Vectors;
use crate::visibility::predicate;
use crate::{Call, working};
use asked::{Asked, Mode, Part};
use std::borrow::Cow;
use std::cell::RefCell;
use std::time::Duration;
use tabellion_core::access::{Caller, Disclosed, Predicate};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::SearchId;
use tabellion_core::item::Tier;
use tabellion_core::log::{Lsn, Shaped};
use tabellion_core::policy::{Candidate, Classes, Limits, shorten};
use tabellion_core::rank::{self, Knob, Places, Question, Relevant, days_named};
use tabellion_core::time::{Period, Timestamp};
use tabellion_core::trust::Stored;
use tabellion_core::vector::{Effort, Near, VectorView};
use tabellion_core::view::{Index, Moment, Row, Scope, SeenRows, Views, day_of};

pub(crate) use asked::K_DEFAULT;

/// How long a search that demands nothing waits for vectors: a dense one for the newest, any other for those of what the caller
/// has just written.
const VECTORS_WAIT: Duration = Duration::from_millis(300);

/// The newest versions among which a caller's own are looked for.
const OWN_AMONG: u32 = 10_000;

/// Results by meaning that a later write may be held against.
const PROBED: usize = 100;

/// Candidates that are weighed by how far they can be relied on.
const WEIGHED_MAX: usize = 200;

pub(crate) async fn search(tenant: &Tenant, call: &Call, query: SearchQuery) -> Result<SearchReply, Refusal> {
    let call = &Call { trace: query.trace_id.clone().or_else(|| call.trace.clone()), ..call.clone() };
    let result = run(tenant, call, &query).await;
    let ids = result.as_ref().map_or_else(
        |_| Vec::new(),
        |(reply, _)| reply.results.iter().map(|one| one.item.id.to_string()).collect(),
    );
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    if let Ok((reply, _)) = &result {
        let open = query.shared_work || tenant.round(call, None).is_some();
        tenant.searches.keep(&call.caller, reply, open, tenant.now());
        let scores = reply.results.iter().map(|one| one.score).collect();
        let words = query.query.as_deref().unwrap_or_default();
        tenant.given(call, reply.results.iter().map(|one| &one.item), Some((words, scores)));
    }
    let mut row = tenant.row(call, "search", outcome, ids);
    let words = query.query.as_deref().unwrap_or_default();
    row.record.query = Some(tenant.fingerprint(&[b"query", words.as_bytes()]));
    tenant.readers.note(&call.caller, tenant.now());
    row.record.shaped = result.as_ref().ok().and_then(|(_, shaped)| shaped.clone().noted());
    tenant.trail_read(row).await?;
    result.map(|(reply, _)| reply)
}

/// What is redacted for a caller: nothing that they search, write or compare may confirm it (SHARE-21).
///
/// The built-in classes that the read policies which hold for the caller redact, as the views that are read have them.
#[cfg(not(test))]
pub(crate) fn redacted_classes(tenant: &Tenant, caller: &Caller, views: &Views) -> Classes {
    Chain::of_reading(tenant, caller, views).redacted()
}

#[cfg(test)]
pub(crate) use redacted::redacted_classes;

async fn run(tenant: &Tenant, call: &Call, query: &SearchQuery) -> Result<(SearchReply, Shaped), Refusal> {
    let caller = &call.caller;
    let asked = Asked::of(tenant, query)?;
    let (vector, mode) = meaning(tenant, caller, &asked).await?;
    wait(tenant, caller, query, mode).await?;
    let nearest = RefCell::default();
    let looking = Looking { tenant, caller, query, asked: &asked, mode, vector: vector.as_deref(), nearest };
    // Again, if who may see what changed on the way to the reply (SHARE-5).
    let epoch = || tenant.shared.views.read().access_epoch();
    for _ in 0..READS_MAX {
        let before = epoch();
        let (results, at, reading) = looking.results()?;
        if epoch() != before {
            continue;
        }
        for one in &results {
            let age = tenant.now().since(one.item.updated_at).as_micros() as f64 / 1e6;
            metrics::histogram!("tabellion_retrieval_staleness_seconds").record(age);
        }
        let search = SearchId::from_bytes(tenant.entropy.bytes());
        let shaped = reading.shaped(results.iter().any(|one| one.item.transformed));
        let token = tenant.token(caller, at.lsn);
        let reply = SearchReply { results, mode: mode.as_str(), search, token };
        let (near, vector) = (&looking.nearest.borrow(), vector.as_deref());
        if let (Mode::Graph, None) = (mode, &query.as_of) {
            note_ties(tenant, call, query, &reply);
        }
        calibration::note(tenant, call, &Searched { query, reply: &reply, vector, near, lsn: at.lsn });
        return Ok((reply, shaped));
    }
    Err(access_keeps_changing())
}

/// The best relation that a search along relations found is a walk of one step.
fn note_ties(tenant: &Tenant, call: &Call, query: &SearchQuery, reply: &SearchReply) {
    let walk = {
        let views = tenant.shared.views.read();
        let index = tenant.shared.index.read();
        let mut rows = reply.results.iter().filter_map(|one| views.items.row_of(one.item.version));
        rows.find_map(|row| {
            index.relations.ends(row).map(|(from, to)| Walk { nodes: vec![from, to], rows: vec![row] })
        })
    };
    if let Some(walk) = walk {
        let (namespace, shared_work) = (query.namespace.as_deref(), query.shared_work);
        note_walk(tenant, call, &Trod { walk: &walk, namespace, shared_work });
    }
}

/// An item that may be disclosed, and how it ranks.
type Placed = (Disclosed<Sketch>, Ranked);

/// A search that can be run, and again.
struct Looking<'a> {
    tenant: &'a Tenant,
    caller: &'a Caller,
    query: &'a SearchQuery,
    asked: &'a Asked<'a>,
    mode: Mode,
    vector: Option<&'a [f32]>,
    /// The nearest by meaning of what is shared, or of everything.
    nearest: RefCell<Vec<Near>>,
}

impl Looking<'_> {
    fn results(&self) -> Result<(Vec<Found>, Moment, Chain), Refusal> {
        let reading = Chain::of_reading(self.tenant, self.caller, &self.tenant.shared.views.read());
        let (mut results, mut at) = (Vec::new(), None);
        for part in &self.asked.parts {
            let (found, moment) = self.part(*part, &reading)?;
            results.extend(found);
            at = Some(moment);
        }
        if matches!(self.mode, Mode::Hybrid | Mode::Lexical) && self.asked.includes(Tier::Private) {
            let words = tabellion_core::text::terms(self.asked.query);
            let quoted =
                if self.mode == Mode::Lexical { Question::of(self.asked.query).phrases } else { Vec::new() };
            let redacted = redacted_classes(self.tenant, self.caller, &self.tenant.shared.views.read());
            let working = working::search(self.tenant, self.caller, self.query, (&words, &quoted, redacted))?;
            let shown = |found: Found| Some(Found { item: reading.shown(found.item)?, ..found });
            results.extend(working.into_iter().filter_map(shown));
        }
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
        results.truncate(self.asked.parts.iter().map(|part| part.k).sum());
        let at =
            at.map_or_else(|| moment(self.tenant, self.caller, &self.tenant.shared.views.read(), None), Ok)?;
        let mut results = limited(results, &reading, self.tenant.now());
        let redacted = redacted_classes(self.tenant, self.caller, &self.tenant.shared.views.read());
        compare_results(self.tenant, &mut results, redacted);
        Ok((results, at, reading))
    }

    /// The best of one part. What a policy keeps back is left out before the cut, so that there are as many as qualify.
    fn part(&self, part: Part, reading: &Chain) -> Result<(Vec<Found>, Moment), Refusal> {
        let limits = reading.limits();
        let counts = |found: &Found| {
            let (similarity, created_at) = (Some(found.relevance), found.item.created_at);
            limits.admits(&Candidate { similarity, created_at, chars: 0 }, self.tenant.now())
        };
        let mut depth = part.k;
        loop {
            let (sketches, at) = self.sketches(Part { k: depth, ..part })?;
            let all = sketches.len() < depth;
            let (mut results, mut none_is_destroyed) = (Vec::with_capacity(part.k), true);
            for (sketch, one) in sketches {
                let Some(item) = unless_destroyed(fill(sketch, self.tenant, self.caller))? else {
                    none_is_destroyed = false;
                    continue;
                };
                if reading.is_unsearchable(&item.content) {
                    continue;
                }
                let (score, relevance) = (one.score, one.relevant.relevance);
                let found = reading.shown(item).map(|item| Found { item, score, relevance });
                results.extend(found.filter(counts));
                if results.len() == part.k {
                    return Ok((results, at));
                }
            }
            if all || (reading.is_verbatim() && none_is_destroyed) {
                return Ok((results, at));
            }
            depth = depth.saturating_mul(4);
        }
    }

    fn sketches(&self, part: Part) -> Result<(Vec<Placed>, Moment), Refusal> {
        let (tenant, caller, mode) = (self.tenant, self.caller, self.mode);
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, caller, &views);
        let redacted = redacted_classes(tenant, caller, &views);
        let index = tenant.shared.index.read();
        let vectors = tenant.shared.vectors.as_ref().map(|vectors| vectors.read());
        let at = moment(tenant, caller, &views, self.query.as_of.as_deref())?;
        // What a search goes by sets its moment: what has no words yet, or for a dense one no vector, is not there at all.
        let made = tenant.shared.vectors.as_ref().filter(|_| mode == Mode::Dense).map(Vectors::done);
        let at = Moment { lsn: at.lsn.min(index.lsn()).min(made.unwrap_or(at.lsn)), ..at };
        let kept = kept_rows(tenant, caller, &predicate, &views);
        let (vectors, seen) = (vectors.as_deref(), kept.as_deref());
        let searching = Searching { views: &views, index: &index, vectors, seen, at, redacted };
        let (ranked, nearest) = searching.ranked(self.asked, part, mode, self.vector, &predicate);
        if part.tier != Some(Tier::Private) {
            self.nearest.replace(nearest);
        }
        let sketch = |one: &Ranked| {
            let version = views.items.version(one.relevant.row)?;
            let item = views.items.item_of(version)?;
            Some((Sketch::of(&views, item, version, at, &predicate)?, *one))
        };
        Ok((ranked.iter().filter_map(sketch).collect(), at))
    }
}

/// As many, and as much of each, as the limits of the policies leave.
fn limited(mut results: Vec<Found>, reading: &Chain, now: Timestamp) -> Vec<Found> {
    let limits = reading.limits();
    if limits == Limits::default() {
        return results;
    }
    let candidate = |found: &Found| Candidate {
        similarity: Some(found.relevance),
        created_at: found.item.created_at,
        chars: found.item.content.text.chars().count() as u64,
    };
    let candidates: Vec<Candidate> = results.iter().map(candidate).collect();
    let allowed = limits.choose(&candidates, now);
    let mut kept = Vec::with_capacity(allowed.len());
    for (place, mut found) in results.drain(..).enumerate() {
        let Some(allowance) = allowed.iter().find(|one| one.index == place) else { continue };
        if let Some(chars) = allowance.chars {
            let cut = shorten(&found.item.content.text, chars).to_owned();
            found.item.transformed |= cut != found.item.content.text;
            found.item.content.text = cut;
        }
        kept.push(found);
    }
    kept
}

/// What the query means, and how it can be searched: without a model that answers, by words.
async fn meaning(
    tenant: &Tenant,
    caller: &Caller,
    asked: &Asked<'_>,
) -> Result<(Option<Cow<'static, [f32]>>, Mode), Refusal> {
    let Some(vectors) = &tenant.shared.vectors else { return Ok((None, asked.mode)) };
    if asked.mode == Mode::Lexical {
        return Ok((None, Mode::Lexical));
    }
    if let Some(given) = asked.vector {
        return Ok((Some(Cow::Owned(unit(given))), asked.mode));
    }
    let wait = Duration::from_millis(tenant.limits.embedding_wait_ms);
    let owner = (tenant.shared.tenant, caller.user());
    let bare = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, caller, &views);
        let redacted = redacted_classes(tenant, caller, &views);
        // A value means what any other of its class means: the vectors know the class alone.
        let shown = redacted.redact(asked.query);
        tenant.shared.index.read().sessions.without_names(&predicate, &shown, redacted)
    };
    match vectors.embedding().one(owner, &bare, wait).await {
        Ok(vector) => {
            vectors.answers();
            Ok((Some(Cow::Owned(vector.to_vec())), asked.mode))
        }
        Err(error) => {
            tracing::warn!(%error, "a query has no vector");
            match asked.mode {
                Mode::Dense => Err(Refusal::new(
                    Code::EmbedderUnavailable,
                    "the embedding model does not answer; try again, or search with mode `lexical`",
                )
                .retry_after(Period::from_secs(5))),
                Mode::Hybrid | Mode::Lexical => Ok((None, Mode::Lexical)),
                Mode::Graph => Ok((None, Mode::Graph)),
            }
        }
    }
}

/// What a caller gives may have any length; what it is compared with has one.
fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    vector.iter().map(|number| (f64::from(*number) / length) as f32).collect()
}

/// Waits until the index has what the log had when the question came, and the vectors what the caller demands.
async fn wait(tenant: &Tenant, caller: &Caller, query: &SearchQuery, mode: Mode) -> Result<(), Refusal> {
    let patience = Duration::from_millis(tenant.limits.min_token_wait_ms);
    let (demanded, latest) = indexed(tenant, caller, query.min_token.as_deref()).await?;
    let Some(vectors) = &tenant.shared.vectors else { return Ok(()) };
    // A hybrid search finds by its words what has no vector yet; a dense one would miss it.
    match (mode, demanded) {
        (Mode::Hybrid | Mode::Graph, Some(lsn)) => drop(vectors.reached(lsn, patience).await),
        (Mode::Dense, Some(lsn)) if !vectors.reached(lsn, patience).await => return Err(behind()),
        (Mode::Dense, None) => drop(vectors.reached(latest, VECTORS_WAIT).await),
        (Mode::Hybrid | Mode::Graph, None) if !vectors.is_failing() => {
            if let Some(own) = own_write_without_vector(tenant, caller, vectors.done()) {
                vectors.reached(own, VECTORS_WAIT).await;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The position of the newest version of the caller's user that has no vector yet: whoever writes and then searches expects to
/// find it by its meaning too.
fn own_write_without_vector(tenant: &Tenant, caller: &Caller, done: Lsn) -> Option<Lsn> {
    let views = tenant.shared.views.read();
    let end = Row::try_from(views.items.versions_len()).unwrap_or(Row::MAX);
    let newest = (end.saturating_sub(OWN_AMONG)..end).rev().filter_map(|row| views.items.version(row));
    let mut without = newest.take_while(|version| version.lsn > done);
    without.find(|version| version.owner == caller.user()).map(|version| version.lsn)
}

/// Waits until the index has what the log had when the question came: the position that the caller demands, and the latest.
pub(crate) async fn indexed(
    tenant: &Tenant,
    caller: &Caller,
    min_token: Option<&str>,
) -> Result<(Option<Lsn>, Lsn), Refusal> {
    let patience = Duration::from_millis(tenant.limits.min_token_wait_ms);
    let demanded = min_token.map(|token| tenant.position(caller, token, "min_token")).transpose()?;
    if let Some(lsn) = demanded {
        tenant.reached(lsn).await?;
    }
    let latest = tenant.shared.views.read().lsn();
    let indexed = tenant.shared.index.reached(latest, patience).await;
    if demanded.is_some_and(|lsn| !indexed && tenant.shared.index.read().lsn() < lsn) {
        return Err(behind());
    }
    Ok((demanded, latest))
}

/// A candidate, and what results are ordered by.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    relevant: Relevant,
    score: f64,
}

/// Everything that is searched, at one moment.
struct Searching<'a> {
    views: &'a Views,
    index: &'a Index,
    vectors: Option<&'a VectorView>,
    /// The rows that the caller sees, where they are kept.
    seen: Option<&'a SeenRows>,
    at: Moment,
    /// What is redacted for the caller.
    redacted: Classes,
}

impl Searching<'_> {
    fn ranked(
        &self,
        asked: &Asked<'_>,
        part: Part,
        mode: Mode,
        vector: Option<&[f32]>,
        predicate: &Predicate,
    ) -> (Vec<Ranked>, Vec<Near>) {
        let scope = Scope {
            predicate,
            at: self.at,
            tier: part.tier,
            layers: &asked.layers,
            namespace: asked.namespace,
            redacted: self.redacted,
        };
        let mut question = Question::of(asked.query);
        question.vector = vector;
        let years = self.index.sessions.years(&self.views.items, predicate);
        // Four digits of a number that is redacted are no year.
        let shown = self.redacted.redact(asked.query);
        question.days = days_named(&shown, day_of(self.at.time), years);
        question.find_quoting(&self.index.lexical, self.redacted);
        let items = &self.views.items;
        let rows =
            self.seen.map_or_else(|| items.visible_rows(predicate, self.at), |seen| seen.at(items, self.at));
        let trusting = !asked.without.contains(&Knob::Trust);
        let places = Places {
            items,
            index: self.index,
            vectors: self.vectors,
            scope: &scope,
            rows: &rows,
            effort: if asked.exact { Effort::Exact } else { Effort::Planned },
            roots: if trusting { self.views.trust.roots() } else { &[] },
        };
        let depth = part.k.max(WEIGHED_MAX);
        let nearest = match mode {
            Mode::Lexical | Mode::Graph => Vec::new(),
            Mode::Dense => rank::nearest(&places, &question, part.k.max(PROBED)),
            Mode::Hybrid => rank::nearest(&places, &question, rank::depth(depth)),
        };
        let (found, weighed) = match mode {
            Mode::Lexical => (rank::lexical(&places, &question, part.k), false),
            Mode::Dense => (rank::dense(&nearest, part.k), false),
            Mode::Hybrid => (rank::hybrid(&places, &question, &nearest, depth, &asked.without), true),
            Mode::Graph => {
                let trust = |row| if trusting { trust_of(self.views, row) } else { Stored::default().rho() };
                (rank::related(&places, &question, part.k, &asked.without, trust), false)
            }
        };
        let ranked = found.into_iter().map(|relevant| self.weigh(relevant, weighed)).collect();
        (self.chosen(ranked, part.k, asked.diversity), nearest)
    }

    /// By relevance alone, or weighed with how far the version can be relied on.
    fn weigh(&self, relevant: Relevant, weighed: bool) -> Ranked {
        let score = match self.views.items.version(relevant.row) {
            Some(version) if weighed => {
                let standing = self.index.standing(relevant.row, version.confidence);
                let items = &self.views.items;
                let is_pinned = items.item_of(version).is_some_and(|item| item.is_pinned_at(self.at.lsn));
                // A pin stops decay (AM-1).
                let age = if is_pinned { Period::default() } else { self.at.time.since(version.time) };
                standing.utility(relevant.relevance, rank::freshness(version.layer, age))
            }
            _ => relevant.relevance,
        };
        Ranked { relevant, score }
    }

    /// The best, or the best of those that differ enough from what was chosen before (maximal marginal relevance).
    fn chosen(&self, mut ranked: Vec<Ranked>, k: usize, diversity: f64) -> Vec<Ranked> {
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.relevant.row.cmp(&a.relevant.row)));
        let (Some(vectors), true) = (self.vectors, diversity > 0.0) else {
            ranked.truncate(k);
            return ranked;
        };
        let likeness = |a: &Ranked, b: &Ranked| {
            let (a, b) = (vectors.vector(a.relevant.row), vectors.vector(b.relevant.row));
            f64::from(rank::dot(a.unwrap_or_default(), b.unwrap_or_default()))
        };
        let mut chosen: Vec<Ranked> = Vec::with_capacity(k);
        // The nearest that was chosen so far, for each that was not.
        let mut nearest = vec![0.0f64; ranked.len()];
        while chosen.len() < k && !ranked.is_empty() {
            let worth = |(one, near): (&Ranked, &f64)| (1.0 - diversity) * one.score - diversity * near;
            let worths: Vec<f64> = ranked.iter().zip(&nearest).map(worth).collect();
            let best = (0..worths.len())
                .rev()
                .max_by(|a, b| worths.get(*a).unwrap_or(&0.0).total_cmp(worths.get(*b).unwrap_or(&0.0)));
            let Some(best) = best else { break };
            let one = ranked.remove(best);
            nearest.remove(best);
            for (other, near) in ranked.iter().zip(&mut nearest) {
                *near = near.max(likeness(&one, other));
            }
            chosen.push(one);
        }
        chosen
    }
}
