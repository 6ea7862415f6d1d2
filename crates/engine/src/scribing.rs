//! What a model makes of a write, where a policy asks for it (SHARE-18).
//!
//! Invariant (nothing leaves early): a model is asked about nothing that a gate of this process refuses or a gate outside does
//! not accept, and it is shown what the steps before a paraphrase leave. No view is locked while it is asked. What it said is
//! kept with the write wherever that has to wait, so that it is asked once.

use crate::Call;
use crate::counsel;
use crate::ports::{Intent, JudgeError, Page};
use crate::tenant::Tenant;
use crate::write::{Asked, caught_up, look, timed};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::policy::{Note, Notes, Task};
use tabellion_core::time::Period;

/// When a write that needs a model is tried again first.
const TRY_AGAIN_AFTER: Period = Period::from_secs(1);

/// What a model is to be asked about a write.
pub(crate) struct Wish {
    pub(crate) intent: Intent,
    pub(crate) task: Task,
    pub(crate) page: Page,
}

/// What models made of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    private: Option<Notes>,
    shared: Option<Notes>,
}

impl Told {
    /// What was made of it for these readers, if anything was.
    pub(crate) const fn of(&self, intent: Intent) -> Option<&Notes> {
        match intent {
            Intent::Private => self.private.as_ref(),
            Intent::Shared => self.shared.as_ref(),
        }
    }

    fn take(&mut self, intent: Intent, notes: Notes) {
        match intent {
            Intent::Private => self.private = Some(notes),
            Intent::Shared => self.shared = Some(notes),
        }
    }

    /// As it is kept with a write that waits.
    pub(crate) fn to_json(&self) -> Value {
        let note = |note: &Note| json!({"key": note.key(), "text": note.text()});
        let all = |notes: &Option<Notes>| {
            notes.as_ref().map(|notes| notes.all().iter().map(note).collect::<Vec<Value>>())
        };
        json!({"private": all(&self.private), "shared": all(&self.shared)})
    }

    /// What was kept; what does not read as it was written counts as not said.
    pub(crate) fn of_json(value: Option<&Value>) -> Self {
        let note = |one: &Value| {
            let text = |name: &str| one.get(name).and_then(Value::as_str);
            Note::of(text("key"), text("text")?)
        };
        let notes = |name: &str| {
            let all = value?.get(name)?.as_array()?;
            Notes::of(all.iter().map(note).collect::<Option<Vec<_>>>()?)
        };
        Self { private: notes("private"), shared: notes("shared") }
    }
}

/// Has a model say anew what policies want said anew, and makes of the write what they make of it then.
///
/// # Errors
/// When a gate of this process refuses it: then nothing of it leaves. When a policy shares nothing that no model said anew,
/// and none answers: then the write waits.
pub(crate) async fn heard(tenant: &Tenant, call: &Call, asked: &mut Asked) -> Result<(), Refusal> {
    if asked.wishes.is_empty() {
        return Ok(());
    }
    let mut told = asked.told.clone();
    if tenant.advice.scribe().is_some() && asked.wishes.iter().any(|wish| told.of(wish.intent).is_none()) {
        caught_up(tenant, asked.strictness, asked.request.layer).await?;
        look(tenant, call, asked, tenant.now())?;
        if counsel::is_accepted(tenant, call, asked).await {
            ask(tenant, &asked.wishes, &mut told).await;
        }
    }
    asked.settle(tenant, call, told)?;
    if asked.lacks_model { Err(silent()) } else { Ok(()) }
}

/// The refusal of what may be shared in a model's words alone, while there are none.
pub(crate) fn silent() -> Refusal {
    let message =
        "the model that a policy requires gives no answer; what is shared follows by itself when it does";
    Refusal::new(Code::ScribeUnreachable, message).at(GateName::Policy).retry_after(TRY_AGAIN_AFTER)
}

/// Asks for everything at once that was not said yet.
async fn ask(tenant: &Tenant, wishes: &[Wish], told: &mut Told) {
    let Some(scribe) = tenant.advice.scribe() else { return };
    let open = wishes.iter().filter(|wish| told.of(wish.intent).is_none());
    let asking: Vec<_> = open
        .map(|wish| {
            let (scribe, page, intent, task) =
                (Arc::clone(scribe), wish.page.clone(), wish.intent, wish.task);
            let write = move || match task {
                Task::Paraphrase => scribe.rewrite(&page, intent).map(|note| vec![note]).and_then(all),
                Task::Extract => scribe.extract(&page, intent),
            };
            (intent, tokio::task::spawn_blocking(move || timed("scribe".to_owned(), write)))
        })
        .collect();
    for (intent, answer) in asking {
        match answer.await {
            Ok(Ok(notes)) => told.take(intent, notes),
            Ok(Err(error)) => failed(tenant, &error),
            Err(_) => {}
        }
    }
}

fn all(notes: Vec<Note>) -> Result<Notes, JudgeError> {
    Notes::of(notes).ok_or(JudgeError::Nonsense("more than a text may be"))
}

fn failed(tenant: &Tenant, error: &JudgeError) {
    metrics::counter!("tabellion_memory_scribe_failed_total", "reason" => error.reason()).increment(1);
    // No gate is called so: a name has no space.
    if tenant.advice.may_warn("the scribe", tenant.now()) {
        tracing::warn!(%error, "the scribe says nothing; writes are shaped without it, or shared later");
    }
}

/// What a held write becomes in a model's words, as those who decide see it.
pub(crate) fn shown(asked: &Asked) -> Map<String, Value> {
    let mut shown = Map::new();
    if asked.told != Told::default() {
        let content = &asked.request.content;
        shown.extend(content.key.iter().map(|key| ("key".to_owned(), json!(key))));
        shown.insert("text".to_owned(), json!(content.text));
    }
    shown
}
