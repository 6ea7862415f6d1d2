//! How does the server describe itself?
//!
//! Each handler says what it answers; what is true of every operation (credentials, limits, request numbers) is added
//! here, so that it is said once.

use super::dto::{NodeText, PolicyNameText, RELATION_SCHEMA, ReviewFilterWord, TagText, WriteBody};
use super::routes::{
    access, ask, batch, events, govern, ids, items, principals, probes, relations, reverify, reviews, roles,
    token, trail, trust, writes,
};
use crate::guard::REQUEST_ID;
use crate::refusal::RefusalBody;
use axum::body::Bytes;
use std::sync::OnceLock;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, Header, HeaderBuilder, PathItem, Ref, RefOr, Required, Response,
    ResponseBuilder,
};
use utoipa::{Modify, OpenApi, ToSchema};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tabellion",
        description = "The notary of agent memory: what is to be remembered is examined, sealed with its provenance, and \
                       enrolled in an append-only log.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
        contact()
    ),
    paths(
        probes::healthz, probes::readyz, probes::read_metrics, probes::read_openapi,
        principals::create_tenant,
        principals::list_users, principals::create_user, principals::read_user,
        principals::disable_user, principals::enable_user, principals::set_user_role,
        principals::list_agents, principals::create_agent, principals::read_agent,
        principals::list_resources, principals::create_resource,
        ask::retire_resource, ask::activate_resource, ask::delete_resource,
        principals::list_keys, principals::create_key, principals::revoke_key,
        principals::whoami, token::exchange_token,
        ids::complete_id, items::write_item, items::list_items, batch::write_batch,
        items::read_item, items::update_item, items::retract_item,
        items::rollback_item, items::pin_item, items::unpin_item, items::quarantine_item, items::release_item,
        reverify::reverify_items, reverify::list_flagged,
        items::list_versions, items::read_provenance,
        items::search, items::report_outcome, relations::write_relations, relations::find_paths, ask::ask, ask::call_resource,
        trust::declare_round, trust::read_trust, trust::recalibrate,
        writes::list_writes, writes::read_write, writes::reopen_write,
        reviews::list_reviews, reviews::read_review, reviews::decide_review, reviews::edit_review, reviews::withdraw_review,
        events::follow_reviews,
        govern::read_feedback, govern::suspend_agent, govern::resume_agent, govern::revert_agent,
        govern::set_policy, govern::remove_policy, govern::list_policies, govern::set_schema, govern::list_schemas,
        access::grant_edge, access::put_edge, access::revoke_edge, access::list_edges,
        roles::set_role, roles::read_role, roles::list_roles, roles::remove_role, roles::assign_role, roles::unassign_role,
        access::who_sees, access::what_is_seen, access::explain_item, access::explain_pair,
        access::retire_agent, access::activate_agent, access::delete_agent,
        trail::read_audit, trail::verify, trail::read_head, trail::prove_inclusion, trail::prove_consistency,
    ),
    components(schemas(RefusalBody, PolicyNameText, ReviewFilterWord)),
    security(("key" = [])),
    tags(
        (name = "items", description = "What is remembered"),
        (name = "writes", description = "What was put off or refused"),
        (name = "reviews", description = "What waits for a person"),
        (name = "trust", description = "How far what is remembered can be trusted"),
        (name = "governance", description = "What people set, stop and take back"),
        (name = "access", description = "Who may invoke and use what, and who sees what by it"),
        (name = "principals", description = "Who acts; for admins"),
        (name = "trail", description = "Who did what, and proofs of it"),
        (name = "operations", description = "For what watches the server"),
    ),
    modifiers(&EveryOperation)
)]
struct Description;

/// The description, made once.
pub(super) fn bytes() -> Bytes {
    static BYTES: OnceLock<Bytes> = OnceLock::new();
    BYTES.get_or_init(|| serde_json::to_vec(&Description::openapi()).unwrap_or_default().into()).clone()
}

/// Adds what is true of every operation.
struct EveryOperation;

/// What `PUT /v1/items/{id}` refers to.
const UPDATE: &str = "Update";

/// The operations that go without a body: every field of it may be left out.
const BODY_OPTIONAL: [&str; 16] = [
    "disable_user",
    "enable_user",
    "resume_agent",
    "rollback_item",
    "pin_item",
    "unpin_item",
    "quarantine_item",
    "release_item",
    "write_batch",
    "reverify_items",
    "grant_edge",
    "revoke_edge",
    "remove_policy",
    "remove_role",
    "assign_role",
    "unassign_role",
];

/// What any operation with a credential may answer.
const ALWAYS: [(&str, &str); 7] = [
    ("400", "cannot be read"),
    ("401", "no acceptable credential"),
    ("403", "the caller may not do this"),
    ("422", "breaks a rule"),
    ("429", "too many requests"),
    ("503", "not now; try again"),
    ("504", "took too long"),
];

impl Modify for EveryOperation {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_with(Components::new);
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("an API key, `tab_…`, or a JSON Web Token"))
            .build();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
        components.schemas.extend(update(components).map(|schema| (UPDATE.to_owned(), schema)));
        components.schemas.extend(relation(components).map(|schema| (RELATION_SCHEMA.to_owned(), schema)));
        for path in openapi.paths.paths.values_mut() {
            for operation in operations(path) {
                complete(operation);
            }
        }
    }
}

/// The body of an update: a write whose path says what it replaces.
fn update(components: &Components) -> Option<RefOr<Schema>> {
    let Some(RefOr::T(Schema::Object(write))) = components.schemas.get(WriteBody::name().as_ref()) else {
        return None;
    };
    let mut update = write.clone();
    update.properties.remove("supersedes");
    update.description = Some("The next version of an item: a write without `supersedes`.".to_owned());
    Some(RefOr::T(Schema::Object(update)))
}

/// A relation: a write that says in three parts what it says.
fn relation(components: &Components) -> Option<RefOr<Schema>> {
    let Some(RefOr::T(Schema::Object(write))) = components.schemas.get(WriteBody::name().as_ref()) else {
        return None;
    };
    let mut relation = write.clone();
    for name in ["kind", "triple"] {
        relation.properties.remove(name);
    }
    let parts = [("subject", NodeText::name()), ("predicate", TagText::name()), ("object", NodeText::name())];
    relation.required = parts.iter().map(|(part, _)| (*part).to_owned()).collect();
    let parts =
        parts.into_iter().map(|(part, schema)| (part.to_owned(), Ref::from_schema_name(schema).into()));
    relation.properties.extend(parts);
    relation.description = Some(
        "A relation: a write with `subject`, `predicate` and `object`; `text` may be left out.".to_owned(),
    );
    Some(RefOr::T(Schema::Object(relation)))
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut path.get, &mut path.put, &mut path.post, &mut path.delete].into_iter().flatten()
}

fn complete(operation: &mut Operation) {
    let is_probe = operation.security.is_some();
    if operation.operation_id.as_deref().is_some_and(|id| BODY_OPTIONAL.contains(&id))
        && let Some(RefOr::T(body)) = &mut operation.request_body
    {
        body.required = Some(Required::False);
    }
    if !is_probe {
        for (status, description) in ALWAYS {
            add(operation, status, description);
        }
        if operation.request_body.is_some() {
            add(operation, "413", "larger than the limit");
        }
    }
    add(operation, "500", "a fault of the server");
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        insert(response, REQUEST_ID.as_str(), header("the request's number", Type::String));
        match status.as_str() {
            "401" => insert(response, "www-authenticate", header("`Bearer`", Type::String)),
            "429" => insert(response, "retry-after", header("seconds to wait", Type::Integer)),
            "503" if !is_probe => insert(response, "retry-after", header("seconds to wait", Type::Integer)),
            _ => {}
        }
    }
}

fn add(operation: &mut Operation, status: &str, description: &str) {
    let refusal = Ref::from_schema_name(RefusalBody::name());
    let content = ContentBuilder::new().schema(Some(refusal)).build();
    let response =
        ResponseBuilder::new().description(description).content("application/json", content).build();
    operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
}

fn header(description: &str, kind: Type) -> Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(kind)))
        .description(Some(description))
        .build()
}

fn insert(response: &mut Response, name: &str, header: Header) {
    response.headers.insert(name.to_owned(), RefOr::T(header));
}
