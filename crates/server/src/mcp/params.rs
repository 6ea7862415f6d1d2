//! What does each tool take?
//!
//! The types below are read by agents, through the schema that is made of them: a field's comment is what an agent is
//! told. Bounds are those of `core::gate` and the engine, told early; nothing is checked here but the shape.

mod relations;

pub(super) use relations::{FindPaths, WriteRelations};

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The body of a write.
// Only its schema is used: `core::gate::read_write` reads the arguments, and lists every fault.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct WriteItem {
    /// The statement to remember, complete on its own: names instead of pronouns, dates instead of "yesterday". One
    /// statement per item.
    #[schemars(length(min = 1, max = 65536))]
    text: String,
    /// The topic or the question that the statement answers, e.g. "API port". Helps to find it.
    #[schemars(length(min = 1, max = 256))]
    key: Option<String>,
    /// To correct or extend an item that exists: its id. The text becomes the item's next version, and what you leave out stays
    /// as it is; update_item does the same without the text.
    #[schemars(regex(pattern = r"^itm_[a-z2-7]{26}$"))]
    id: Option<String>,
    /// The version you read before changing the item. If someone changed it since, the write is refused with
    /// VERSION_CONFLICT instead of overwriting theirs.
    #[schemars(regex(pattern = r"^ver_[a-z2-7]{26}$"))]
    expected_version: Option<String>,
    /// The item or version that this statement replaces because it no longer holds. Not together with `id`.
    #[schemars(regex(pattern = r"^(itm|ver)_[a-z2-7]{26}$"))]
    supersedes: Option<String>,
    /// What to do if the statement contradicts one that is known. supersede: it takes the place of that one, which stays in the
    /// history. keep_both: both stay. review: a person decides. reject: refuse it. Default: a newer statement replaces your
    /// user's own older one.
    on_conflict: Option<OnConflict>,
    /// What sort of thing it is, e.g. fact, decision, preference, outcome. Default: note.
    #[schemars(regex(pattern = r"^[a-z0-9_.-]{1,64}$"))]
    kind: Option<String>,
    /// Which memory. working: scratch, gone in 15 minutes. session: this session, 8 hours. episodic (default): what
    /// happened or was learnt; stays, but under a strict policy, 90 days. semantic: what holds for good. procedural: how something is done.
    layer: Option<Layer>,
    /// Who may see it. auto (default): private unless a policy shares it. shared and both are refused with SHARING_OFF
    /// where sharing is off.
    tier: Option<Tier>,
    /// Where it belongs, e.g. a project. Default: default.
    #[schemars(regex(pattern = r"^[a-z0-9_.-]{1,64}$"))]
    namespace: Option<String>,
    /// How strictly it is to be judged: as the tenant's policy says (default), or stricter.
    write_policy: Option<WritePolicy>,
    /// How sure you are, from 0 to 1. Default: 0.5. Be honest: it is weighed against the evidence.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// The same statement in three parts, if it has them.
    triple: Option<Triple>,
    /// Named values that belong to the statement, as JSON.
    #[schemars(extend("maxProperties" = 64))]
    fields: Option<Map<String, Value>>,
    /// Words to find it by.
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    tags: Option<Vec<String>>,
    /// How secret it is: public, internal (default), confidential or restricted.
    classification: Option<String>,
    /// The fields of knowledge that it belongs to, such as medical.
    #[schemars(length(max = 16), inner(length(min = 1, max = 64)))]
    domains: Option<Vec<String>>,
    /// For layer procedural, the tests that it must pass, each {"name": "has steps", "expect": a JSON Schema over the
    /// content} or {"name": "ci", "runner": the name of a registered runner}: at least one.
    #[schemars(length(max = 16))]
    tests: Option<Vec<Map<String, Value>>>,
    /// The signed reports of the runners that tests name. Write without them first: TESTS_FAILED names the content_hash
    /// that the runner has to report on.
    #[schemars(length(max = 16))]
    test_reports: Option<Vec<TestReport>>,
    /// What the statement rests on. Cite what you saw: an item without evidence is trusted less.
    #[schemars(length(max = 32))]
    evidence: Option<Vec<Evidence>>,
    /// Names or ids of the resources you consulted for it, as registered with the tenant; [] if none.
    #[schemars(length(max = 32))]
    resources: Option<Vec<String>>,
    /// Ids of the versions it was concluded from.
    #[schemars(length(max = 32), inner(regex(pattern = r"^ver_[a-z2-7]{26}$")))]
    derived_from: Option<Vec<String>>,
    /// Why it should be remembered.
    #[schemars(length(min = 1, max = 1024))]
    justification: Option<String>,
    /// The session you are in.
    #[schemars(length(min = 1, max = 128))]
    session_id: Option<String>,
    /// The task you are on.
    #[schemars(length(min = 1, max = 128))]
    task_id: Option<String>,
    /// The trace that ties this to what you read before.
    #[schemars(length(min = 1, max = 128))]
    trace_id: Option<String>,
    /// Your program's version, e.g. 1.2.3.
    agent_version: Option<String>,
    /// How long it lives, as an ISO 8601 duration, e.g. P30D, P1Y or PT2H. Default: by layer.
    ttl: Option<String>,
    /// A UUID of your choice for this write. The same one with other content is refused with REQUEST_ID_REUSED.
    #[schemars(extend("format" = "uuid"))]
    request_id: Option<String>,
    /// Only if you compute the server's idempotency token yourself: it must match.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    idempotency_token: Option<String>,
    /// Past this time (RFC 3339) nothing is written.
    #[schemars(extend("format" = "date-time"))]
    deadline: Option<String>,
}

/// What a registered runner found, exactly as it signed it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct TestReport {
    /// The runner's name.
    #[schemars(regex(pattern = r"^[a-z0-9_.-]{1,64}$"))]
    runner: String,
    /// The content_hash of what it tested.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    content_hash: String,
    /// Whether every test passed.
    passed: bool,
    /// When (RFC 3339): at most 15 minutes ago.
    #[schemars(extend("format" = "date-time"))]
    ran_at: String,
    /// The runner's signature over the rest.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{128}$"))]
    signature: String,
}

/// A kind of memory.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum Layer {
    Working,
    Session,
    Episodic,
    Semantic,
    Procedural,
}

/// How strictly a write is judged.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum WritePolicy {
    Open,
    Standard,
    Strict,
}

/// What becomes of a write that contradicts something known.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum OnConflict {
    Supersede,
    KeepBoth,
    Review,
    Reject,
}

/// Who may see an item.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum Tier {
    Auto,
    Private,
    Shared,
    Both,
}

/// A statement in three parts.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct Triple {
    /// What it is about, e.g. api.
    #[schemars(length(min = 1, max = 1024))]
    subject: String,
    /// Which property, e.g. port.
    #[schemars(length(min = 1, max = 1024))]
    predicate: String,
    /// Its value, e.g. 8080.
    #[schemars(length(min = 1, max = 1024))]
    object: String,
}

/// A cited source.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct Evidence {
    /// What sort of source. agent_reasoning is your own conclusion and counts least.
    source_type: SourceType,
    /// Where it is, e.g. https://…, file:///…, chat://….
    #[schemars(length(min = 1, max = 2048))]
    source_uri: String,
    /// Which edition of it.
    #[schemars(length(min = 1, max = 128))]
    source_version: Option<String>,
    /// When you read it (RFC 3339), e.g. 2026-11-15T00:00:00Z.
    #[schemars(extend("format" = "date-time"))]
    accessed_at: String,
    /// How much it counts, from 0 to 1. Default: the most that its type allows; you may only lower it.
    #[schemars(range(min = 0, max = 1))]
    authority: Option<f64>,
    /// The words that support the statement, quoted exactly.
    #[schemars(length(max = 16384))]
    excerpt: Option<String>,
    /// SHA-256 of the excerpt, hex; checked.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    excerpt_hash: Option<String>,
    /// For evidence from memory: the item quoted.
    #[schemars(length(min = 1, max = 128))]
    source_item_id: Option<String>,
}

/// What sort of source.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum SourceType {
    Document,
    ApiResponse,
    ToolOutput,
    HumanInput,
    AgentReasoning,
    CodeExecution,
    MemoryItem,
}

/// What to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetItem {
    /// The item's id, as search_items, list_items and write_item return it.
    pub(super) id: String,
    /// Read it as it stood then: a time (RFC 3339) or a token of an earlier answer. Default: now.
    pub(super) as_of: Option<String>,
}

/// What to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListItems {
    /// Only this namespace.
    pub(super) namespace: Option<String>,
    /// Only this layer.
    #[schemars(with = "Option<Layer>")]
    pub(super) layer: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: Option<u64>,
    /// The `next` of the page before, to go on from there.
    pub(super) cursor: Option<String>,
}

/// What to search for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchItems {
    /// What you want to know, as a question or in words that the statement would use. A run of words in double quotes
    /// is looked for as it stands.
    #[schemars(length(min = 1))]
    pub(super) query: String,
    /// At most this many results. Default: 10.
    #[schemars(range(min = 1, max = 100))]
    pub(super) k: Option<u64>,
    /// Only your own items (private), or only what is shared (shared). Default: both.
    #[schemars(with = "Option<SearchTier>")]
    pub(super) tier: Option<String>,
    /// A name for the piece of work that this belongs to. Give the same to write_item for what you conclude from it.
    pub(super) trace_id: Option<String>,
    /// How to search. hybrid (default) goes by words, meaning and context; dense by meaning alone; lexical by words alone;
    /// graph by the relations of what the query names.
    #[schemars(with = "Option<SearchMode>")]
    pub(super) mode: Option<String>,
    /// Only these layers.
    #[schemars(with = "Option<Vec<Layer>>")]
    pub(super) layers: Option<Vec<String>>,
    /// Only this namespace.
    pub(super) namespace: Option<String>,
    /// Search the memory as it stood then: a time (RFC 3339) or a token.
    pub(super) as_of: Option<String>,
    /// The `token` of your write, to be sure that this search sees it.
    pub(super) min_token: Option<String>,
    /// Whether every text that you may see is compared, whatever it costs. Default: false.
    pub(super) exact: Option<bool>,
    /// How much results should differ from each other, 0 (default) to 1: raise it to see more sides of a matter.
    #[schemars(range(min = 0, max = 1))]
    pub(super) diversity: Option<f64>,
    /// Whether this is work that others may profit from: what they want to share later may be held against what you search for now.
    /// Default: false. In a declared round it is so anyway.
    pub(super) shared_work: Option<bool>,
}

/// What came of a search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportOutcome {
    /// The search, as search_items called it.
    pub(super) search: String,
    /// The ids of the results that you used.
    pub(super) used: Option<Vec<String>>,
    /// Whether what you used them for succeeded. Leave it out if you do not know.
    pub(super) success: Option<bool>,
}

/// Whose items.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
enum SearchTier {
    Private,
    Shared,
}

/// How to search.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum SearchMode {
    Hybrid,
    Dense,
    Lexical,
    Graph,
}

/// Whose versions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemVersions {
    /// The item's id.
    pub(super) id: String,
}

/// Which item to explain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainItem {
    /// The item's id.
    pub(super) id: String,
}

/// What to retract, pin or unpin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeItem {
    /// The item's id.
    pub(super) id: String,
    /// Why; it is kept in the trail.
    pub(super) reason: Option<String>,
}

/// What to roll back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RollbackItem {
    /// The item's id.
    pub(super) id: String,
    /// The version you want gone. It must be the head, else the call is refused with NOT_THE_HEAD; so you never take back
    /// a version that you have not seen. Default: the head.
    pub(super) version: Option<String>,
    /// Why; it is kept in the trail.
    pub(super) reason: Option<String>,
}

/// Which of your writes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OneWrite {
    /// The `pending_id` of a deferred write (rev_… or def_…), or the `refusal_id` of a refused one (ref_…).
    #[schemars(regex(pattern = r"^(rev|def|ref)_[a-z2-7]{26}$"))]
    pub(super) id: String,
}

/// Which of your writes to send again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReopenWrite {
    /// The `refusal_id` of the refused write.
    #[schemars(regex(pattern = r"^(def|ref)_[a-z2-7]{26}$"))]
    pub(super) id: String,
}

/// Which of your writes to take back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WithdrawWrite {
    /// The `pending_id` of a write that waits for a person.
    #[schemars(regex(pattern = r"^rev_[a-z2-7]{26}$"))]
    pub(super) id: String,
}

/// What to ask.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskAgents {
    /// The question, complete on its own.
    #[schemars(length(min = 1, max = 2000))]
    pub(super) query: String,
    /// plan (default): whoever coordinates is told who was asked what. full: the answers too; later answers then count as made
    /// from all of them, and fewer people may see them.
    #[schemars(extend("enum" = ["plan", "full"]))]
    pub(super) history: Option<String>,
    /// At most this many items of your user's own, and as many shared ones, for each turn. Default: 10.
    #[schemars(range(min = 1, max = 100))]
    pub(super) k: Option<u64>,
}

/// What to call, and with what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallResource {
    /// The resource, by name or id.
    #[schemars(length(min = 1, max = 128))]
    pub(super) resource: String,
    /// The arguments, as the resource's schema has them; for a knowledge base {"query": words, "top_k": number}.
    pub(super) args: Map<String, Value>,
    /// The trace that ties this to what you write afterwards.
    #[schemars(length(min = 1, max = 256))]
    pub(super) trace_id: Option<String>,
}

/// What a round is about, and who takes part.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeclareRound {
    /// What it is about, in a sentence or two.
    #[schemars(length(min = 1, max = 8192))]
    pub(super) goal: String,
    /// The other agents that take part, by name or id; you do anyway.
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub(super) agents: Option<Vec<String>>,
    /// Items that it is about.
    #[schemars(length(max = 64), inner(regex(pattern = r"^itm_[a-z2-7]{26}$")))]
    pub(super) items: Option<Vec<String>>,
    /// Texts that it is about: the question, the positions.
    #[schemars(length(max = 16), inner(length(min = 1, max = 8192)))]
    pub(super) texts: Option<Vec<String>>,
    /// Where it works, e.g. a project. Default: default.
    #[schemars(regex(pattern = r"^[a-z0-9_.-]{1,64}$"))]
    pub(super) namespace: Option<String>,
    /// Who sees what is written in it: who may invoke `all` that take part, or the writer's `own`. Default: all.
    #[schemars(regex(pattern = r"^(all|own)$"))]
    pub(super) visibility: Option<String>,
}

/// What to tell the trust of.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustOf {
    /// One item, or the `id` of a write that is kept apart.
    #[schemars(regex(pattern = r"^itm_[a-z2-7]{26}$"))]
    pub(super) item: Option<String>,
    /// The namespace whose waiting writes to list. Default: default.
    pub(super) namespace: Option<String>,
}

/// Whose numbers are asked for besides one's own rates.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Myself {
    /// The session whose writes are counted as well, as writes name it.
    pub(super) session_id: Option<String>,
}

/// Nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The schema of a tool's arguments: self-contained, and plain enough for clients that know little of JSON Schema.
pub(super) fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain).transform(&mut schema);
    schema.remove("title");
    schema.remove("description");
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Arc::new(object)
}

/// The schema of a change: that of a write, of which the id alone is required.
pub(super) fn update_schema() -> Arc<JsonObject> {
    let mut object = schema::<WriteItem>().as_ref().clone();
    object.insert("required".to_owned(), Value::from(vec!["id"]));
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.remove("supersedes");
        if let Some(Value::Object(id)) = properties.get_mut("id") {
            id.insert("description".to_owned(), Value::from("The item to change."));
        }
    }
    Arc::new(object)
}

/// Without nulls, which say the same as leaving a field out; without Rust's number formats and comment line breaks.
fn plain(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            object.insert("type".to_owned(), single);
        }
    }
    if object.get("type").is_some_and(|kind| kind != "string") {
        object.remove("format");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = object.remove("anyOf") {
        let kept: Vec<Value> = choices.into_iter().filter(|choice| choice["type"] != "null").collect();
        match <[Value; 1]>::try_from(kept) {
            Ok([Value::Object(only)]) => only.into_iter().for_each(|(name, value)| {
                object.entry(name).or_insert(value);
            }),
            Ok([other]) => drop(object.insert("anyOf".to_owned(), Value::Array(vec![other]))),
            Err(kept) => drop(object.insert("anyOf".to_owned(), Value::Array(kept))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tabellion_core::error::Code;
    use tabellion_core::gate::read_write;

    /// The schema promises exactly the fields that the gate reads; `id` is the tool's own.
    #[test]
    fn the_schema_of_a_write_is_what_the_gate_reads() {
        let schema = schema::<WriteItem>();
        let known = |value: Value, place: &str| {
            let draft = read_write(value).unwrap();
            assert!(
                draft.faults.iter().all(|fault| fault.code != Code::UnknownField),
                "{place}: {:?}",
                draft.faults
            );
        };
        let names = |schema: &Value| -> Vec<String> {
            schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        for name in names(&Value::Object(schema.as_ref().clone())) {
            if name != "id" {
                known(json!({ name.as_str(): null }), &name);
            }
        }
        for name in names(&schema["properties"]["triple"]) {
            known(json!({"triple": { name.as_str(): null }}), &name);
        }
        for name in names(&schema["properties"]["evidence"]["items"]) {
            known(json!({"evidence": [{ name.as_str(): null }]}), &name);
        }
        for name in names(&schema["properties"]["test_reports"]["items"]) {
            known(json!({"test_reports": [{ name.as_str(): null }]}), &name);
        }
        assert_eq!(schema["required"], json!(["text"]));
        assert_eq!(schema["additionalProperties"], json!(false));
    }

    #[test]
    fn schemas_stand_on_their_own() {
        for schema in [schema::<WriteItem>(), schema::<SearchItems>(), schema::<Nothing>()] {
            let text = Value::Object(schema.as_ref().clone()).to_string();
            let alien = ["$ref", "\"null\"", "uint64", "\"double\"", "\\n"];
            assert!(alien.iter().all(|word| !text.contains(word)), "{text}");
        }
        assert_eq!(schema::<Nothing>()["type"], "object");
    }
}
