//! Search: candidates under the predicate, ranked, disclosed.

mod asked;
#[cfg(test)]
mod redacted;

use crate::read::{Sketch, fill, moment};
use crate::reply::{Found, SearchQuery, SearchReply};
use crate::tenant::{Tenant, behind};
use crate::vectors::Vectors;
use crate::visibility::predicate;
use crate::{Call, working};
use asked::{Asked, Mode};
use std::borrow::Cow;
use std::time::Duration;
use tabellion_core::access::{Caller, Predicate};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::id::SearchId;
use tabellion_core::log::Lsn;
use tabellion_core::policy::Classes;
use tabellion_core::rank::{self, Places, Question, Relevant, days_named};
use tabellion_core::time::Period;
use tabellion_core::vector::{Effort, VectorView};
use tabellion_core::view::{Index, Moment, Scope, Views, day_of};

pub(crate) use asked::K_DEFAULT;

/// How long a dense search that demands nothing waits for the newest vectors.
const VECTORS_WAIT: Duration = Duration::from_millis(250);

/// Candidates that are weighed by how far they can be relied on.
const WEIGHED_MAX: usize = 200;

pub(crate) async fn search(tenant: &Tenant, call: &Call, query: SearchQuery) -> Result<SearchReply, Refusal> {
    let result = run(tenant, &call.caller, &query).await;
    let ids = result.as_ref().map_or_else(
        |_| Vec::new(),
        |reply| reply.results.iter().map(|one| one.item.id.to_string()).collect(),
    );
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    if let Ok(reply) = &result {
        let found = reply.results.iter().map(|one| one.item.id).collect();
        tenant.searches.keep(reply.search, &call.caller, found, tenant.now());
    }
    let mut row = tenant.row(call, "search", outcome, ids);
    let words = query.query.as_deref().unwrap_or_default();
    row.record.query = Some(tenant.fingerprint(&[b"query", words.as_bytes()]));
    tenant.readers.note(&call.caller, tenant.now());
    tenant.trail_read(row).await?;
    result
}

/// What is redacted for a caller: nothing that they search, write or compare may confirm it (SHARE-21).
///
/// The built-in classes that the read policies which hold for the caller redact, as the views that are read have them.
#[cfg(not(test))]
pub(crate) fn redacted_classes(_tenant: &Tenant, _caller: &Caller, _views: &Views) -> Classes {
    Classes::NONE
}

#[cfg(test)]
pub(crate) use redacted::redacted_classes;

async fn run(tenant: &Tenant, caller: &Caller, query: &SearchQuery) -> Result<SearchReply, Refusal> {
    let asked = Asked::of(tenant, query)?;
    let (vector, mode) = meaning(tenant, caller, &asked).await?;
    wait(tenant, caller, query, mode).await?;
    let words = tabellion_core::text::terms(asked.query);
    let (sketches, at, redacted) = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, caller, &views);
        let redacted = redacted_classes(tenant, caller, &views);
        let index = tenant.shared.index.read();
        let vectors = tenant.shared.vectors.as_ref().map(|vectors| vectors.read());
        let at = moment(tenant, caller, &views, query.as_of.as_deref())?;
        // What a search goes by sets its moment: what has no words yet, or for a dense one no vector, is not there at all.
        let made = tenant.shared.vectors.as_ref().filter(|_| mode == Mode::Dense).map(Vectors::done);
        let at = Moment { lsn: at.lsn.min(index.lsn()).min(made.unwrap_or(at.lsn)), ..at };
        let searching = Searching { views: &views, index: &index, vectors: vectors.as_deref(), at, redacted };
        let ranked = searching.ranked(&asked, mode, vector.as_deref(), &predicate);
        let sketch = |one: &Ranked| {
            let version = views.items.version(one.relevant.row)?;
            let item = views.items.item_of(version)?;
            Some((Sketch::of(&views, item, version, at, &predicate)?, *one))
        };
        (ranked.iter().filter_map(sketch).collect::<Vec<_>>(), at, redacted)
    };
    let mut results = Vec::with_capacity(sketches.len());
    for (sketch, one) in sketches {
        let item = fill(sketch, tenant, caller)?;
        let age = tenant.now().since(item.updated_at).as_micros() as f64 / 1e6;
        metrics::histogram!("tabellion_retrieval_staleness_seconds").record(age);
        results.push(Found { item, score: one.score, relevance: one.relevant.relevance });
    }
    if mode != Mode::Dense {
        let quoted = if mode == Mode::Lexical { Question::of(asked.query).phrases } else { Vec::new() };
        results.extend(working::search(tenant, caller, query, (&words, &quoted, redacted))?);
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    results.truncate(asked.k);
    let search = SearchId::from_bytes(tenant.entropy.bytes());
    Ok(SearchReply { results, mode: mode.as_str(), search, token: tenant.token(caller, at.lsn) })
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
    let redacted = redacted_classes(tenant, caller, &tenant.shared.views.read());
    // A value means what any other of its class means: the vectors know the class alone.
    let shown = redacted.redact(asked.query);
    let bare = tenant.shared.index.read().sessions.without_names(caller.user(), &shown, redacted);
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
    let demanded: Option<Lsn> = match &query.min_token {
        Some(token) => Some(tenant.position(caller, token, "min_token")?),
        None => None,
    };
    if let Some(lsn) = demanded {
        tenant.reached(lsn).await?;
    }
    let latest = tenant.shared.views.read().lsn();
    let indexed = tenant.shared.index.reached(latest, patience).await;
    if demanded.is_some_and(|lsn| !indexed && tenant.shared.index.read().lsn() < lsn) {
        return Err(behind());
    }
    let Some(vectors) = &tenant.shared.vectors else { return Ok(()) };
    // A hybrid search finds by its words what has no vector yet; a dense one would miss it.
    match (mode, demanded) {
        (Mode::Hybrid, Some(lsn)) => drop(vectors.reached(lsn, patience).await),
        (Mode::Dense, Some(lsn)) if !vectors.reached(lsn, patience).await => return Err(behind()),
        (Mode::Dense, None) => drop(vectors.reached(latest, VECTORS_WAIT).await),
        _ => {}
    }
    Ok(())
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
    at: Moment,
    /// What is redacted for the caller.
    redacted: Classes,
}

impl Searching<'_> {
    fn ranked(
        &self,
        asked: &Asked<'_>,
        mode: Mode,
        vector: Option<&[f32]>,
        predicate: &Predicate,
    ) -> Vec<Ranked> {
        let (at, redacted) = (self.at, self.redacted);
        let scope = Scope { predicate, at, layers: &asked.layers, namespace: asked.namespace, redacted };
        let mut question = Question::of(asked.query);
        question.vector = vector;
        // Four digits of a number that is redacted are no year.
        let shown = redacted.redact(asked.query);
        question.days =
            days_named(&shown, day_of(self.at.time), self.index.sessions.years(predicate.owner()));
        question.find_quoting(&self.index.lexical, redacted);
        let rows = self.views.items.visible_rows(predicate, self.at);
        let places = Places {
            items: &self.views.items,
            index: self.index,
            vectors: self.vectors,
            scope: &scope,
            rows: &rows,
            effort: if asked.exact { Effort::Exact } else { Effort::Planned },
        };
        let (found, weighed) = match mode {
            Mode::Lexical => (rank::lexical(&places, &question, asked.k), false),
            Mode::Dense => (rank::dense(&places, &question, asked.k), false),
            Mode::Hybrid => {
                let depth = asked.k.max(WEIGHED_MAX);
                (rank::hybrid(&places, &question, depth, &asked.without), true)
            }
        };
        let ranked = found.into_iter().map(|relevant| self.weigh(relevant, weighed)).collect();
        self.chosen(ranked, asked)
    }

    /// By relevance alone, or weighed with how far the version can be relied on.
    fn weigh(&self, relevant: Relevant, weighed: bool) -> Ranked {
        let score = match self.views.items.version(relevant.row) {
            Some(version) if weighed => {
                let standing = self.index.standing(relevant.row, version.confidence);
                let age = self.at.time.since(version.time);
                standing.utility(relevant.relevance, rank::freshness(version.layer, age))
            }
            _ => relevant.relevance,
        };
        Ranked { relevant, score }
    }

    /// The best, or the best of those that differ enough from what was chosen before (maximal marginal relevance).
    fn chosen(&self, mut ranked: Vec<Ranked>, asked: &Asked<'_>) -> Vec<Ranked> {
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.relevant.row.cmp(&a.relevant.row)));
        let (Some(vectors), true) = (self.vectors, asked.diversity > 0.0) else {
            ranked.truncate(asked.k);
            return ranked;
        };
        let likeness = |a: &Ranked, b: &Ranked| {
            let (a, b) = (vectors.vector(a.relevant.row), vectors.vector(b.relevant.row));
            f64::from(rank::dot(a.unwrap_or_default(), b.unwrap_or_default()))
        };
        let mut chosen: Vec<Ranked> = Vec::with_capacity(asked.k);
        // The nearest that was chosen so far, for each that was not.
        let mut nearest = vec![0.0f64; ranked.len()];
        while chosen.len() < asked.k && !ranked.is_empty() {
            let worth =
                |(one, near): (&Ranked, &f64)| (1.0 - asked.diversity) * one.score - asked.diversity * near;
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
