//! What does each tool do? Read its arguments, ask the engine, and answer as REST does.

use super::params::{
    AskAgents, CallResource, ChangeItem, DeclareRound, ExplainItem, FindPaths, GetItem, ItemVersions,
    ListItems, Myself, Nothing, OneWrite, ReopenWrite, ReportOutcome, RollbackItem, SearchItems, TrustOf,
    WithdrawWrite, WriteRelations,
};
use super::text;
use super::tools::ToolName;
use crate::rest::body::{no_identity, typed};
use crate::rest::dto::{
    AnsweredBody, ChangedBody, ExplanationBody, FeedbackBody, FoundBody, ItemBody, ItemsBody, KeptBody,
    OutcomeNotedBody, PathsFoundBody, RelatedBody, RelationsBody, ResourceAnswerBody, ReviewBody, RoundBody,
    TrustBody, VersionsBody, WhoAmIBody, WithdrawnBody, WriteAnswer,
};
use rmcp::model::JsonObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::read_write;
use tabellion_core::id::ReviewId;
use tabellion_core::view::ReviewState;
use tabellion_engine::reply::{
    AskQuery, Changed, ListQuery, OutcomeReport, PathsQuery, RoundDraft, SearchQuery, TrustQuery, Written,
};
use tabellion_engine::{Call, Engine};

/// What a tool answers: for a model, and for programs.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) body: Value,
}

impl Answer {
    fn new(text: String, body: impl Serialize) -> Result<Self, Refusal> {
        let body = serde_json::to_value(body);
        let body = body.map_err(|_| Refusal::new(Code::Internal, "the answer has no JSON form"))?;
        Ok(Self { text, body })
    }

    fn changed(changed: Changed) -> Result<Self, Refusal> {
        Self::new(text::changed(&changed), ChangedBody::from(changed))
    }
}

/// Runs one tool for one caller.
pub(super) async fn run(
    engine: &Engine,
    call: &Call,
    tool: ToolName,
    mut arguments: JsonObject,
) -> Result<Answer, Refusal> {
    match tool {
        ToolName::WriteItem => {
            let written = write(engine, call, arguments).await?;
            Answer::new(text::written(&written), WriteAnswer::from(written))
        }
        ToolName::UpdateItem => {
            let Some(id) = id(&mut arguments)? else {
                let fault = Fault::new("/id", Code::MissingRequiredField, "the id of an item");
                let message = "1 field(s) break a rule: /id";
                return Err(Refusal::new(Code::SchemaInvalid, message).with(vec![fault]));
            };
            no_identity(&arguments)?;
            let written = engine.patch(call, &id, arguments).await?;
            Answer::new(text::written(&written), WriteAnswer::from(written))
        }
        ToolName::GetItem => {
            let asked: GetItem = read(arguments)?;
            let item = engine.get(call, &asked.id, asked.as_of.as_deref()).await?;
            Answer::new(text::item(&item), ItemBody::from(item))
        }
        ToolName::ListItems => {
            let page = engine.list(call, read::<ListItems>(arguments)?.into()).await?;
            Answer::new(text::items(&page), ItemsBody::from(page))
        }
        ToolName::SearchItems => {
            let found = engine.search(call, read::<SearchItems>(arguments)?.into()).await?;
            Answer::new(text::found(&found), FoundBody::from(found))
        }
        ToolName::WriteRelations => {
            let WriteRelations { relations } = read(arguments)?;
            let related = engine.write_relations(call, RelationsBody { relations }.drafts()).await?;
            Answer::new(text::related(&related), RelatedBody::from(related))
        }
        ToolName::FindPaths => {
            let found = engine.paths(call, read::<FindPaths>(arguments)?.into()).await?;
            Answer::new(text::paths(&found), PathsFoundBody::from(found))
        }
        ToolName::ReportOutcome => {
            let noted = engine.report_outcome(call, read::<ReportOutcome>(arguments)?.into()).await?;
            Answer::new(text::outcome(&noted), OutcomeNotedBody::from(noted))
        }
        ToolName::ItemVersions => {
            let asked: ItemVersions = read(arguments)?;
            let versions = engine.versions(call, &asked.id).await?;
            let text = text::versions(&versions);
            Answer::new(text, VersionsBody { versions: versions.into_iter().map(Into::into).collect() })
        }
        ToolName::ExplainItem => {
            let asked: ExplainItem = read(arguments)?;
            let explained = engine.explain(call, &asked.id).await?;
            Answer::new(text::explained(&explained), ExplanationBody::from(explained))
        }
        ToolName::RetractItem => {
            let asked: ChangeItem = read(arguments)?;
            Answer::changed(engine.retract(call, &asked.id, asked.reason).await?)
        }
        ToolName::RollbackItem => {
            let asked: RollbackItem = read(arguments)?;
            Answer::changed(engine.rollback(call, &asked.id, asked.version.as_deref(), asked.reason).await?)
        }
        ToolName::PinItem => {
            let asked: ChangeItem = read(arguments)?;
            Answer::changed(engine.pin(call, &asked.id, asked.reason).await?)
        }
        ToolName::UnpinItem => {
            let asked: ChangeItem = read(arguments)?;
            Answer::changed(engine.unpin(call, &asked.id, asked.reason).await?)
        }
        ToolName::GetWrite => {
            let asked: OneWrite = read(arguments)?;
            one_write(engine, call, &asked.id).await
        }
        ToolName::ListWrites => {
            let Nothing {} = read(arguments)?;
            open_writes(engine, call).await
        }
        ToolName::ReopenWrite => {
            let asked: ReopenWrite = read(arguments)?;
            let written = engine.reopen(call, &asked.id).await?;
            Answer::new(text::written(&written), WriteAnswer::from(written))
        }
        ToolName::WithdrawWrite => {
            let WithdrawWrite { id } = read(arguments)?;
            engine.withdraw(call, &id).await?;
            Answer::new(format!("withdrawn: {id}"), WithdrawnBody { status: "withdrawn", id })
        }
        ToolName::Feedback => {
            let Nothing {} = read(arguments)?;
            let feedback = engine.feedback(call, &call.caller.agent().to_string()).await?;
            Answer::new(text::feedback(&feedback), FeedbackBody::from(feedback))
        }
        ToolName::WhoAmI => {
            let Myself { session_id } = read(arguments)?;
            let who = engine.whoami(call, session_id.as_deref()).await?;
            Answer::new(text::whoami(&who), WhoAmIBody::from(who))
        }
        ToolName::Ask => {
            let AskAgents { query, history, k } = read(arguments)?;
            let answered = engine.ask(call, AskQuery { query, history, k }).await?;
            Answer::new(text::answered(&answered), AnsweredBody::from(answered))
        }
        ToolName::CallResource => {
            let CallResource { resource, args, trace_id } = read(arguments)?;
            let came = engine.call_resource(call, &resource, args, trace_id).await?;
            Answer::new(text::called(&came), ResourceAnswerBody::from(came))
        }
        ToolName::DeclareRound => {
            let round = engine.declare_round(call, read::<DeclareRound>(arguments)?.into()).await?;
            Answer::new(text::round(&round), RoundBody::from(round))
        }
        ToolName::Trust => {
            let TrustOf { item, namespace } = read(arguments)?;
            let told = engine.trust_told(call, &TrustQuery { namespace, item }).await?;
            Answer::new(text::trust(&told), TrustBody::from(told))
        }
    }
}

/// A write that waits for a person, or one that is kept.
async fn one_write(engine: &Engine, call: &Call, id: &str) -> Result<Answer, Refusal> {
    if id.parse::<ReviewId>().is_ok() {
        let review = engine.review(call, id).await?;
        return Answer::new(text::review(&review), ReviewBody::from(review));
    }
    let kept = engine.kept_write(call, id).await?;
    Answer::new(text::kept(&kept), KeptBody::from(kept))
}

/// What an agent's writes are that are not memory.
#[derive(Serialize)]
struct OpenWrites {
    writes: Vec<KeptBody>,
    reviews: Vec<ReviewBody>,
}

async fn open_writes(engine: &Engine, call: &Call) -> Result<Answer, Refusal> {
    let writes = engine.kept_writes(call).await?;
    let (user, agent) = (call.caller.user(), call.caller.agent());
    let mut reviews = engine.reviews(call, Some(ReviewState::Pending.as_str())).await?;
    // A reviewer sees others' too; this tool is about the caller's own.
    reviews.retain(|review| review.owner == user && review.agent == agent);
    let text = text::open_writes(&writes, &reviews);
    let writes = writes.into_iter().map(Into::into).collect();
    Answer::new(text, OpenWrites { writes, reviews: reviews.into_iter().map(Into::into).collect() })
}

/// Arguments of a memory operation: they name nobody, and nothing unknown.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Refusal> {
    no_identity(&arguments)?;
    typed(arguments)
}

/// Writes an item; with an id, changes of that item what is named.
async fn write(engine: &Engine, call: &Call, mut arguments: JsonObject) -> Result<Written, Refusal> {
    match id(&mut arguments)? {
        None => engine.write(call, read_write(Value::Object(arguments))?).await,
        Some(id) => {
            no_identity(&arguments)?;
            engine.patch(call, &id, arguments).await
        }
    }
}

/// The item that a write changes, taken out of its arguments.
fn id(arguments: &mut JsonObject) -> Result<Option<String>, Refusal> {
    match arguments.remove("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(_) => {
            let fault = Fault::new("/id", Code::TypeMismatch, "string");
            Err(Refusal::new(Code::SchemaInvalid, "1 field(s) break a rule: /id").with(vec![fault]))
        }
    }
}

impl From<ListItems> for ListQuery {
    fn from(asked: ListItems) -> Self {
        Self {
            namespace: asked.namespace,
            layer: asked.layer,
            limit: asked.limit,
            cursor: asked.cursor,
            quarantined: false,
        }
    }
}

impl From<SearchItems> for SearchQuery {
    fn from(asked: SearchItems) -> Self {
        Self {
            query: Some(asked.query),
            vector: None,
            k: asked.k,
            tier: asked.tier,
            k_user: None,
            k_cross: None,
            trace_id: asked.trace_id,
            mode: asked.mode,
            layers: asked.layers.unwrap_or_default(),
            namespace: asked.namespace,
            as_of: asked.as_of,
            min_token: asked.min_token,
            exact: asked.exact.unwrap_or(false),
            without: Vec::new(),
            diversity: asked.diversity,
            shared_work: asked.shared_work.unwrap_or(false),
        }
    }
}

impl From<DeclareRound> for RoundDraft {
    fn from(asked: DeclareRound) -> Self {
        Self {
            goal: asked.goal,
            agents: asked.agents.unwrap_or_default(),
            items: asked.items.unwrap_or_default(),
            texts: asked.texts.unwrap_or_default(),
            namespace: asked.namespace,
            visibility: asked.visibility,
        }
    }
}

impl From<FindPaths> for PathsQuery {
    fn from(asked: FindPaths) -> Self {
        Self {
            from: Some(asked.from),
            to: asked.to,
            types: asked.types.unwrap_or_default(),
            direction: asked.direction,
            depth: asked.depth,
            limit: asked.limit,
            namespace: asked.namespace,
            as_of: asked.as_of,
            min_token: asked.min_token,
            trace_id: asked.trace_id,
        }
    }
}

impl From<ReportOutcome> for OutcomeReport {
    fn from(asked: ReportOutcome) -> Self {
        Self { search: asked.search, used: asked.used.unwrap_or_default(), success: asked.success }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tabellion_core::gate::IDENTITY_FIELDS;

    fn object(value: Value) -> JsonObject {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    /// SHARE-28: no argument of any tool says who acts.
    #[test]
    fn identity_in_arguments_is_refused() {
        for name in IDENTITY_FIELDS {
            let refusal = no_identity(&object(json!({"text": "a", name: "x"}))).unwrap_err();
            assert_eq!(refusal.code, Code::IdentityInBody, "{name}");
            let refusal = read::<SearchItems>(object(json!({"query": "a", name: "x"}))).err().unwrap();
            assert_eq!(refusal.code, Code::IdentityInBody, "{name}");
        }
    }

    #[test]
    fn an_id_makes_a_write_a_change() {
        let mut arguments = object(json!({"id": "itm_a", "text": "a"}));
        assert_eq!(id(&mut arguments).unwrap().as_deref(), Some("itm_a"));
        assert_eq!(Value::Object(arguments), json!({"text": "a"}));
        assert_eq!(id(&mut object(json!({"id": null}))).unwrap(), None);
        assert_eq!(id(&mut object(json!({"id": 5}))).unwrap_err().errors[0].path, "/id");
    }

    #[test]
    fn unknown_arguments_are_refused() {
        let refusal = read::<ItemVersions>(object(json!({"id": "itm_a", "depth": 1}))).err().unwrap();
        assert_eq!(refusal.errors[0].code, Code::UnknownField);
        assert!(read::<Nothing>(object(json!({}))).is_ok());
    }
}
