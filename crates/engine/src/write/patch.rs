//! A change of some fields of an item: what is not named stays (JSON merge patch, RFC 7396).
//!
//! Invariant (no lost update): a patch is merged into one version and written only while that is the head; if another write came
//! in between, it is merged anew into that one, also when it had to wait.

use super::facts::OWN_WORDS;
use super::replay::request_print;
use super::{ACTION, ATTEMPTS_MAX, Manner, accept, keeps_changing, replayed_reply};
use crate::flow::Pace;
use crate::read::content;
use crate::reply::Written;
use crate::tenant::Tenant;
use crate::visibility::predicate;
use crate::{Call, Engine};
use serde_json::{Map, Value};
use tabellion_core::access::Predicate;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::{WriteDraft, read_write};
use tabellion_core::id::{ItemId, UserId, VersionId};
use tabellion_core::item::{Content, RELATION};
use tabellion_core::provenance::{Evidence, SourceType};
use tabellion_core::view::{Moment, Views};

/// The fields of a write that say what an item is, rather than how it is written.
const KEPT: [&str; 13] = [
    "text",
    "key",
    "kind",
    "layer",
    "namespace",
    "confidence",
    "triple",
    "fields",
    "tests",
    "tags",
    "classification",
    "domains",
    "evidence",
];
/// The fields that change what is stored although no version shows them as they were given.
const PLACED: [&str; 5] = ["tier", "ttl", "resources", "derived_from", "supersedes"];
/// The beginning of the address of a knowledge base, which is asked anew for every version.
const KNOWLEDGE: &str = "knowledge:";

/// The version that a patch is merged into.
struct Base {
    version: VersionId,
    owner: Option<UserId>,
    body: Map<String, Value>,
}

impl Engine {
    /// Changes the fields of an item that the patch names; the rest stays.
    ///
    /// # Errors
    /// As for a write; also when the item is missing or hidden.
    pub async fn patch(
        &self,
        call: &Call,
        id: &str,
        changes: Map<String, Value>,
    ) -> Result<Written, Refusal> {
        patch(&*self.tenant(call)?, call, id, changes).await
    }
}

/// Changes the fields of an item that the patch names.
async fn patch(
    tenant: &Tenant,
    call: &Call,
    id: &str,
    patch: Map<String, Value>,
) -> Result<Written, Refusal> {
    let expected = patch.get("expected_version").filter(|value| !value.is_null()).cloned();
    for attempt in 1..=ATTEMPTS_MAX {
        let base = id.parse().ok().and_then(|item| base(tenant, call, item).transpose()).transpose()?;
        let Some(base) = base else {
            return Err(tenant.refused(call, ACTION, Vec::new(), Refusal::not_found()).await);
        };
        let mut body = merged(&base.body, &patch);
        let is_no_change = changes_nothing(&base, &body, &patch) && base.owner == Some(call.caller.user());
        let is_head = expected.as_ref().is_none_or(|version| *version == base.version.to_string());
        if is_head {
            body.insert("expected_version".to_owned(), Value::from(base.version.to_string()));
        }
        let mut draft = read_write(Value::Object(body))?;
        draft.item = Some(id.to_owned());
        draft.patch = expected.is_none().then(|| patch.clone());
        // A patch with faults is told of them, although it would change nothing.
        if is_head && is_no_change && draft.clone().check().is_ok() {
            return replayed_reply(tenant, call, base.version);
        }
        if let Some(version) = applied_before(tenant, call, (id, draft.request_id.as_deref()), &patch)? {
            return replayed_reply(tenant, call, version);
        }
        let retries = expected.is_none() && attempt < ATTEMPTS_MAX;
        let manner = Manner { pace: Pace::Single, edits: None, together: None, retries };
        match accept(tenant, call, draft, manner).await {
            Err(refusal) if retries && refusal.code == Code::VersionConflict => {}
            result => return result,
        }
    }
    Err(keeps_changing())
}

/// A patch that waited, merged into what the item says by now. If somebody else changed a field that it names, it stays as it was: a
/// patch of the version before, which the gates refuse.
pub(crate) fn merged_anew(tenant: &Tenant, call: &Call, draft: WriteDraft) -> WriteDraft {
    let Some(patch) = &draft.patch else { return draft };
    let item = draft.item.as_ref().and_then(|item| item.parse().ok());
    let before = draft.expected_version.as_ref().and_then(|version| version.parse().ok());
    let head = item.and_then(|item| base(tenant, call, item).ok().flatten());
    let (Some(before), Some(head)) = (before, head) else { return draft };
    let old = based_on(tenant, call, before).ok().flatten();
    let mut named = patch.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
    let same = |(name, value): (&String, &Value)| {
        old.as_ref().is_some_and(|old| is_untouched((old.body.get(name), head.body.get(name)), value))
    };
    if head.version == before || !named.all(same) {
        return draft;
    }
    let mut body = merged(&head.body, patch);
    body.insert("expected_version".to_owned(), Value::from(head.version.to_string()));
    match read_write(Value::Object(body)) {
        Ok(merged) => WriteDraft { item: draft.item, patch: draft.patch, ..merged },
        Err(_) => draft,
    }
}

/// Whether what a patch changes says the same in two versions, or says already what the patch wants.
///
/// INVARIANT (bounded depth): as for merging.
fn is_untouched((old, new): (Option<&Value>, Option<&Value>), patch: &Value) -> bool {
    match (old, new, patch) {
        (Some(Value::Object(old)), Some(Value::Object(new)), Value::Object(patch)) => {
            patch.iter().all(|(name, value)| is_untouched((old.get(name), new.get(name)), value))
        }
        (old, new, patch) => old == new || new == Some(patch) || (new.is_none() && patch.is_null()),
    }
}

/// The version that this very request made before: it is of this item and says what the patch asks for.
fn applied_before(
    tenant: &Tenant,
    call: &Call,
    (id, request): (&str, Option<&str>),
    patch: &Map<String, Value>,
) -> Result<Option<VersionId>, Refusal> {
    let Some(print) = request.and_then(|request| request_print(tenant, call, request)) else {
        return Ok(None);
    };
    let made = {
        let views = tenant.shared.views.read();
        let known = views.items.requested(&print, tenant.now()).map(|(version, _)| version);
        let of_item = known
            .filter(|version| views.items.item_of(version).is_some_and(|item| item.id.to_string() == id));
        of_item.map(|version| version.id)
    };
    let Some(version) = made else { return Ok(None) };
    let base = based_on(tenant, call, version)?;
    let says_it = |base: &Base| changes_nothing(base, &merged(&base.body, patch), patch);
    Ok(base.filter(says_it).map(|_| version))
}

/// The head of an item as the body of a write; nothing if the caller does not see it.
fn base(tenant: &Tenant, call: &Call, id: ItemId) -> Result<Option<Base>, Refusal> {
    let now = tenant.now();
    if let Some(item) = tenant.working.get(&call.caller, id, now) {
        let mut body = body_of(&item.content);
        body.insert("layer".to_owned(), Value::from(item.layer.as_str()));
        body.insert("namespace".to_owned(), Value::from(item.namespace));
        body.insert("confidence".to_owned(), Value::from(item.confidence));
        body.insert("evidence".to_owned(), evidence_json(&item.evidence));
        // Working memory is never a replay: it is in no log.
        return Ok(Some(Base { version: item.version, owner: None, body }));
    }
    let head = {
        let views = tenant.shared.views.read();
        let predicate = predicate(tenant, &call.caller, &views);
        let at = Moment { lsn: views.lsn(), time: now };
        views.items.visible_head(id, &predicate, at).map(|(_, head)| head.id)
    };
    match head {
        Some(head) => based_on(tenant, call, head),
        None => Ok(None),
    }
}

/// A version that the caller sees as the body of a write.
fn based_on(tenant: &Tenant, call: &Call, version: VersionId) -> Result<Option<Base>, Refusal> {
    let lsn = tenant.shared.views.read().items.find_version(version).map(|version| version.lsn);
    let Some(lsn) = lsn else { return Ok(None) };
    let (content, record) = content(tenant, lsn)?;
    let views = tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, &views);
    let now = tenant.now();
    let at = Moment { lsn: views.lsn(), time: now };
    let Some(head) = views.items.find_version(version) else { return Ok(None) };
    let mut body = body_of(&content);
    let mut put = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    put("layer", Value::from(head.layer.as_str()));
    put("namespace", Value::from(views.items.namespace_of(head)));
    put("confidence", Value::from(head.confidence));
    let stands = |one: &Evidence| {
        let made_here = one.source_uri.starts_with(KNOWLEDGE) || one.source_uri.starts_with(OWN_WORDS);
        let cited = one.source_item_id.as_deref().unwrap_or(&one.source_uri);
        let seen = cited.parse().is_ok_and(|item| views.items.visible_head(item, &predicate, at).is_some())
            || cited.parse().is_ok_and(|version| sees(&views, &predicate, version));
        !made_here && (one.source_type != SourceType::MemoryItem || seen)
    };
    let evidence: Vec<Evidence> = record.evidence_refs.into_iter().filter(stands).collect();
    put("evidence", evidence_json(&evidence));
    // What the version carries is inherited; the change itself used nothing more unless it says so (AM-12).
    put("resources", Value::Array(Vec::new()));
    let derived = record.derived_from.iter();
    let derived = derived.filter(|id| id.parse().is_ok_and(|version| sees(&views, &predicate, version)));
    put("derived_from", derived.map(|id| Value::from(id.as_str())).collect());
    if let Some(end) = head.expires_at {
        let left = end.since(now).as_micros().div_ceil(1_000_000).max(1);
        put("ttl", Value::from(format!("PT{left}S")));
    }
    Ok(Some(Base { version, owner: Some(head.owner), body }))
}

fn sees(views: &Views, predicate: &Predicate, version: VersionId) -> bool {
    views.items.find_version(version).is_some_and(|version| predicate.admits(version))
}

/// A content as the fields of a write.
fn body_of(content: &Content) -> Map<String, Value> {
    let mut fields = content.fields.clone();
    let tests = fields.remove("tests").filter(Value::is_array);
    let secrecy = &content.secrecy;
    let mut body = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        body.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("text", Some(Value::from(content.text.as_str())));
    put("key", content.key.as_deref().map(Value::from));
    put("kind", Some(Value::from(content.kind.as_str())));
    put("triple", content.triple.as_ref().and_then(|triple| serde_json::to_value(triple).ok()));
    put("fields", Some(Value::Object(fields)));
    put("tests", tests);
    put("tags", Some(Value::from(content.tags.clone())));
    put("classification", Some(Value::from(secrecy.classification.as_str())));
    put("domains", Some(secrecy.domains.iter().map(|domain| Value::from(domain.as_str())).collect()));
    body
}

fn evidence_json(evidence: &[Evidence]) -> Value {
    evidence.iter().filter_map(|one| serde_json::to_value(one).ok()).collect()
}

/// The body of the next version.
fn merged(base: &Map<String, Value>, patch: &Map<String, Value>) -> Map<String, Value> {
    let mut body = base.clone();
    // A relation whose text was made of its parts says its new parts.
    let is_relation = base.get("kind").and_then(Value::as_str) == Some(RELATION);
    match (patch.get("text"), patch.contains_key("triple")) {
        (None, true) if is_relation => drop(body.remove("text")),
        // The triple said in parts what the old text said.
        (Some(text), false) if !is_relation && base.get("text") != Some(text) => drop(body.remove("triple")),
        _ => {}
    }
    for (name, value) in patch {
        match (body.get_mut(name), value) {
            (Some(Value::Object(into)), Value::Object(changes)) => merge(into, changes),
            // Null stands for an absent field; the reader of a write says so if there is no such field.
            _ => drop(body.insert(name.clone(), without_nulls(value))),
        }
    }
    body
}

/// INVARIANT (bounded depth): no transport reads JSON deeper than `JSON_DEPTH_MAX` or 100, so this recursion ends.
fn merge(into: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, value) in changes {
        match (into.get_mut(name), value) {
            (_, Value::Null) => drop(into.remove(name)),
            (Some(Value::Object(inner)), Value::Object(changes)) => merge(inner, changes),
            _ => drop(into.insert(name.clone(), without_nulls(value))),
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
}

/// Whether the next version would be the one that is there.
fn changes_nothing(base: &Base, body: &Map<String, Value>, patch: &Map<String, Value>) -> bool {
    let same = |name: &&str| {
        let is_empty = |value: &&Value| match value {
            Value::Null => true,
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        let of = |body: &Map<String, Value>| body.get(*name).filter(|value| !is_empty(value)).cloned();
        of(&base.body) == of(body)
    };
    !PLACED.iter().any(|name| patch.contains_key(*name)) && KEPT.iter().all(|name| same(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("{other} is no object"),
        }
    }

    fn check(base: Value, patch: Value, expected: Value) {
        assert_eq!(Value::Object(merged(&object(base), &object(patch))), expected);
    }

    #[test]
    fn patch_changes_only_what_it_names() {
        let base = json!({"text": "a", "tags": ["x"], "fields": {"a": 1, "b": {"c": 2, "d": 3}}});
        check(base.clone(), json!({}), base.clone());
        check(
            base.clone(),
            json!({"fields": {"b": {"c": null, "e": 4}, "f": {"g": null}}, "tags": ["y"], "key": "k"}),
            json!({"text": "a", "tags": ["y"], "fields": {"a": 1, "b": {"d": 3, "e": 4}, "f": {}}, "key": "k"}),
        );
        check(
            base,
            json!({"tags": null, "fields": {"a": null}}),
            json!({
                "text": "a", "tags": null, "fields": {"b": {"c": 2, "d": 3}}
            }),
        );
    }

    #[test]
    fn another_text_has_no_triple_of_the_old_one() {
        let base =
            json!({"kind": "fact", "text": "port 8080", "triple": {"subject": "port", "object": "8080"}});
        check(base.clone(), json!({"text": "port 9090"}), json!({"kind": "fact", "text": "port 9090"}));
        check(base.clone(), json!({"text": "port 8080"}), base.clone());
        let both =
            json!({"kind": "fact", "text": "port 9090", "triple": {"subject": "port", "object": "9090"}});
        check(base, json!({"text": "port 9090", "triple": {"object": "9090"}}), both);
    }

    #[test]
    fn patch_is_merged_anew_unless_its_own_fields_changed() {
        let same = |old: Value, new: Value, patch: Value| is_untouched((Some(&old), Some(&new)), &patch);
        assert!(
            same(json!(["a"]), json!(["a"]), json!(["b"])) && !same(json!(["a"]), json!(["c"]), json!(["b"]))
        );
        assert!(same(json!(["a"]), json!(["b"]), json!(["b"])) && is_untouched((None, None), &json!("x")));
        let (old, new) = (json!({"a": 1, "b": 1}), json!({"a": 1, "b": 2}));
        assert!(
            same(old.clone(), new.clone(), json!({"a": 3}))
                && !same(old.clone(), new.clone(), json!({"b": 3}))
        );
        assert!(same(old, new, json!({"c": 3})));
    }

    #[test]
    fn relation_with_another_part_says_so() {
        let base =
            json!({"kind": "relation", "text": "a likes b", "triple": {"subject": "a", "object": "b"}});
        let expected = json!({"kind": "relation", "triple": {"subject": "a", "object": "c"}});
        check(base, json!({"triple": {"object": "c"}}), expected);
    }
}
