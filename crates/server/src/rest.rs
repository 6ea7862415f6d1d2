//! REST under `/v1`, and what watches the server.
//!
//! Converts between HTTP with JSON and the engine. Knows nothing of how a write is judged or who may see what.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod dto;
mod names;
mod openapi;
mod params;
mod path;
mod routes;

pub(crate) use path::no_such_path;
pub(crate) use routes::probes::{healthz, readiness};

use crate::app::App;
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware;
use axum::routing::{delete, get, post, put};
use routes::{
    access, ask, batch, events, govern, ids, items, principals, probes, relations, reverify, reviews, roles,
    token, trail, trust, writes,
};
use std::sync::Arc;

/// Every REST route.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(probes::healthz))
        .route("/readyz", get(probes::readyz))
        .route("/metrics", get(probes::read_metrics))
        .route("/openapi.json", get(probes::read_openapi))
        .route("/v1/test-clock", post(probes::set_test_clock))
        .route("/v1/tenants", post(principals::create_tenant))
        .route("/v1/users", get(principals::list_users).post(principals::create_user))
        .route("/v1/users/{id}", get(principals::read_user).post(principals::act_on_user))
        .route("/v1/agents", get(principals::list_agents).post(principals::create_agent))
        .route("/v1/agents/{id}", get(principals::read_agent).post(govern::act_on_agent))
        .route("/v1/agents/{id}/feedback", get(govern::read_feedback))
        .route("/v1/resources", get(principals::list_resources).post(principals::create_resource))
        .route("/v1/resources/{id}", post(ask::act_on_resource))
        .route("/v1/ask", post(ask::ask))
        .route("/v1/keys", get(principals::list_keys).post(principals::create_key))
        .route("/v1/keys/{id}", delete(principals::revoke_key))
        .route("/v1/whoami", get(principals::whoami))
        .route("/v1/token", post(token::exchange_token))
        .route("/v1/ids", get(ids::complete_id))
        .route("/v1/items", get(items::list_items).post(items::write_item))
        .route("/v1/items:batch", post(batch::write_batch))
        .route("/v1/items:reverify", post(reverify::reverify_items))
        .route("/v1/items:flagged", get(reverify::list_flagged))
        .route(
            "/v1/items/{id}",
            get(items::read_item)
                .put(items::update_item)
                .delete(items::retract_item)
                .post(items::change_item),
        )
        .route("/v1/items/{id}/versions", get(items::list_versions))
        .route("/v1/items/{id}/provenance", get(items::read_provenance))
        .route("/v1/items/{id}/explain", get(access::explain_item))
        .route("/v1/search", post(items::search))
        .route("/v1/outcomes", post(items::report_outcome))
        .route("/v1/relations", post(relations::write_relations))
        .route("/v1/paths", post(relations::find_paths))
        .route("/v1/rounds", post(trust::declare_round))
        .route("/v1/trust", get(trust::read_trust))
        .route("/v1/trust:recalibrate", post(trust::recalibrate))
        .route("/v1/writes", get(writes::list_writes))
        .route("/v1/writes/{id}", get(writes::read_write).post(writes::reopen_write))
        .route("/v1/reviews", get(reviews::list_reviews))
        .route("/v1/reviews:events", get(events::follow_reviews))
        .route(
            "/v1/reviews/{id}",
            get(reviews::read_review)
                .put(reviews::edit_review)
                .delete(reviews::withdraw_review)
                .post(reviews::decide_review),
        )
        .route("/v1/policies", get(govern::list_policies))
        .route("/v1/policies/{id}", put(govern::set_policy).delete(govern::remove_policy))
        .route("/v1/schemas", get(govern::list_schemas).put(govern::set_schema))
        .route("/v1/edges", get(access::list_edges))
        .route(
            "/v1/edges/{graph}/{source}/{target}",
            post(access::grant_edge).put(access::put_edge).delete(access::revoke_edge),
        )
        .route("/v1/roles", get(roles::list_roles))
        .route("/v1/roles/{id}", get(roles::read_role).put(roles::set_role).delete(roles::remove_role))
        .route("/v1/roles/{id}/members/{member}", put(roles::assign_role).delete(roles::unassign_role))
        .route("/v1/access/who", get(access::who_sees))
        .route("/v1/access/what", get(access::what_is_seen))
        .route("/v1/explain", post(access::explain_pair))
        .route("/v1/audit", get(trail::read_audit))
        .route("/v1/audit:verify", post(trail::verify))
        .route("/v1/proofs/head", get(trail::read_head))
        .route("/v1/proofs/inclusion", get(trail::prove_inclusion))
        .route("/v1/proofs/consistency", get(trail::prove_consistency))
        .method_not_allowed_fallback(path::wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), names::add_names))
        .with_state(app)
}

/// The route that answers a request, as its template: good for a label or a log line, because no client can make one up.
pub(crate) fn route_of(request: &Request) -> String {
    let Some(matched) = request.extensions().get::<MatchedPath>() else { return "unmatched".to_owned() };
    path::template(matched, request.uri().path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The route that no description lists: the clock of tests.
    const UNDESCRIBED: (&str, &str) = ("/v1/test-clock", "post");

    /// Paths and methods as `router` above spells them; axum does not tell what it routes.
    fn routed() -> Vec<(String, &'static str)> {
        let source = include_str!("rest.rs");
        let routes =
            source.split(".route(").skip(1).map(|rest| rest.split("\n        .").next().unwrap_or(rest));
        let path = |route: &str| route.split('"').nth(1).unwrap_or_default().to_owned();
        let methods = |route: &str| {
            let named = |method: &&str| {
                route.contains(&format!("{method}(")) || route.contains(&format!(".{method}("))
            };
            ["get", "put", "post", "delete"].into_iter().filter(named).collect::<Vec<_>>()
        };
        routes
            .take_while(|route| route.contains("::"))
            .flat_map(|route| methods(route).into_iter().map(move |method| (path(route), method)))
            .collect()
    }

    /// The route that stands for all verbs of a path.
    fn stands_for_verbs(path: &str, method: &str) -> bool {
        method == "post" && path::FAMILIES.iter().any(|family| family.path == path)
    }

    #[test]
    fn every_route_is_described() {
        let description: Value = serde_json::from_slice(&openapi::bytes()).unwrap();
        let routed = routed();
        assert!(routed.len() > 40, "{routed:?}");
        for (path, method) in &routed {
            if UNDESCRIBED == (path.as_str(), *method) || stands_for_verbs(path, method) {
                continue;
            }
            assert!(description["paths"][path][method].is_object(), "{method} {path} is not described");
        }
        for family in path::FAMILIES {
            assert!(routed.contains(&(family.path.to_owned(), "post")), "{} has no verbs", family.path);
            for verb in family.verbs {
                let path = format!("{}:{verb}", family.path);
                assert!(description["paths"][&path]["post"].is_object(), "{path} is not described");
            }
        }
    }
}
