//! Search: candidates under the predicate, ranked, disclosed.

use crate::read::{Sketch, fill, layer_word, moment, within};
use crate::reply::{Found, SearchQuery, SearchReply};
use crate::tenant::{Tenant, behind};
use crate::{Call, working};
use tabellion_core::access::{Caller, visible_to};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::rank::relevance;
use tabellion_core::text::terms;
use tabellion_core::view::{Hit, Moment, Scope};

/// Results of a search that does not say how many.
pub(crate) const K_DEFAULT: u64 = 10;
const QUERY_BYTES_MAX: usize = 8_192;

pub(crate) async fn search(tenant: &Tenant, call: &Call, query: SearchQuery) -> Result<SearchReply, Refusal> {
    let result = run(tenant, &call.caller, &query).await;
    let ids = result.as_ref().map_or_else(
        |_| Vec::new(),
        |reply| reply.results.iter().map(|one| one.item.id.to_string()).collect(),
    );
    let outcome = result.as_ref().map_or_else(|refusal| refusal.code.as_str(), |_| "ok");
    let mut row = tenant.row(call, "search", outcome, ids);
    row.record.query = Some(tenant.fingerprint(&[b"query", query.query.as_bytes()]));
    tenant.trail_read(row).await?;
    result
}

async fn run(tenant: &Tenant, caller: &Caller, query: &SearchQuery) -> Result<SearchReply, Refusal> {
    check_query(query)?;
    let k = within(query.k, K_DEFAULT, tenant.limits.k_max, "/k")?;
    let layers = query.layers.iter().map(|word| layer_word(word)).collect::<Result<Vec<_>, _>>()?;
    let wait = std::time::Duration::from_millis(tenant.limits.min_token_wait_ms);
    let asked = match &query.min_token {
        Some(token) => {
            let lsn = tenant.position(caller, token, "min_token")?;
            tenant.reached(lsn).await?;
            Some(lsn)
        }
        None => None,
    };
    let latest = tenant.shared.views.read().lsn();
    if !tenant.shared.index.reached(latest, wait).await && asked.is_some() {
        return Err(behind());
    }
    let words = terms(&query.query);
    let predicate = visible_to(caller);
    let (sketches, at) = {
        let views = tenant.shared.views.read();
        let index = tenant.shared.index.read();
        let at = moment(tenant, caller, &views, query.as_of.as_deref())?;
        // What the index has not yet taken in is not there at all: one moment for everything.
        let at = Moment { lsn: at.lsn.min(index.lsn()), ..at };
        let scope =
            Scope { predicate: &predicate, at, layers: &layers, namespace: query.namespace.as_deref() };
        let weighed: Vec<(&str, f64)> = words.words.iter().map(|(word, _)| (word.as_str(), 1.0)).collect();
        let scores = index.lexical.scores(&views.items, &weighed, &scope);
        let hits = scores.into_iter().map(|(row, score)| Hit { row, score }).collect();
        let hits = best(hits, usize::try_from(k).unwrap_or(usize::MAX));
        let sketch = |hit: &tabellion_core::view::Hit| {
            let version = views.items.version(hit.row)?;
            Some((Sketch::of(&views, views.items.item_of(version)?, version, at, &predicate)?, hit.score))
        };
        (hits.iter().filter_map(sketch).collect::<Vec<_>>(), at)
    };
    let mut results = Vec::with_capacity(sketches.len());
    for (sketch, score) in sketches {
        let relevance = relevance(score);
        results.push(Found { item: fill(sketch, tenant, caller)?, score: relevance, relevance });
    }
    results.extend(working::search(tenant, caller, query, &words)?);
    results.sort_by(|a, b| b.score.total_cmp(&a.score));
    results.truncate(usize::try_from(k).unwrap_or(usize::MAX));
    Ok(SearchReply { results, mode: "lexical", token: tenant.token(caller, at.lsn) })
}

/// The best `k`, ties to the newer.
fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    let order = |a: &Hit, b: &Hit| b.score.total_cmp(&a.score).then(b.row.cmp(&a.row));
    if hits.len() > k && k > 0 {
        hits.select_nth_unstable_by(k - 1, order);
    }
    hits.truncate(k);
    hits.sort_unstable_by(order);
    hits
}

fn check_query(query: &SearchQuery) -> Result<(), Refusal> {
    if query.query.trim().is_empty() || query.query.len() > QUERY_BYTES_MAX {
        let fault = Fault::new(
            "/query",
            Code::ConstraintViolation,
            format!("1 to {QUERY_BYTES_MAX} bytes, not blank"),
        );
        return Err(Refusal::new(Code::SchemaInvalid, "nothing to search for").with(vec![fault]));
    }
    match query.mode.as_deref() {
        None | Some("hybrid" | "lexical") => Ok(()),
        Some("dense" | "graph") => {
            let fault = Fault::new("/mode", Code::ModeUnavailable, "hybrid or lexical");
            Err(Refusal::new(
                Code::ModeUnavailable,
                "this server has no such view; search with mode `hybrid` or `lexical`",
            )
            .with(vec![fault]))
        }
        Some(_) => {
            let fault =
                Fault::new("/mode", Code::ConstraintViolation, "one of hybrid, dense, lexical, graph");
            Err(Refusal::new(Code::SchemaInvalid, "unknown mode").with(vec![fault]))
        }
    }
}
