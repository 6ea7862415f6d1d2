//! What policies make of a text: on the way into the memory of its user, into the shared pool, and out to a reader
//! (SHARE-14 to 20).

use crate::Call;
use crate::owed::Owed;
use crate::ports::{Intent, Page};
use crate::reply::ItemReply;
use crate::scribing::{Told, Wish};
use crate::tenant::Tenant;
use crate::visibility::predicate;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use std::collections::BTreeSet;
use std::sync::Arc;
use tabellion_core::access::Caller;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{GateName, Replaces, WriteRequest};
use tabellion_core::id::{AgentId, ItemId};
use tabellion_core::item::{Classification, Content, Secrecy, Tier, TierWish, Triple};
use tabellion_core::log::{AgentStatus, Lsn, Shaped};
use tabellion_core::policy::{
    Asks, Classes, Composed, Ground, Limits, NameClass, Names, Pair, Person, PolicyKind, Share, Subject,
    shorten,
};
use tabellion_core::provenance::{Evidence, Provenance, SourceType};
use tabellion_core::seal::Secret;
use tabellion_core::view::{Class, IdentityView, Version, Views};

/// The user that a first start makes; its name is a common word and names nobody.
const FIRST_USER: &str = "admin";

/// Everybody's names, ready to be found in a text, and how many users they were taken from.
#[derive(Default)]
pub(crate) struct Directory(Mutex<Option<(usize, Arc<Names>)>>);

impl Directory {
    fn names(&self, identity: &IdentityView) -> Arc<Names> {
        let count = identity.users().len();
        let mut kept = self.0.lock();
        if let Some((_, names)) = kept.as_ref().filter(|(known, _)| *known == count) {
            return Arc::clone(names);
        }
        let people: Vec<Person> = identity
            .users()
            .iter()
            .filter(|user| user.name != FIRST_USER)
            .map(|user| Person {
                class: NameClass::User,
                name: user.name.clone(),
                aliases: vec![user.id.to_string()],
            })
            .collect();
        let names = Arc::new(Names::of(&people));
        *kept = Some((count, Arc::clone(&names)));
        names
    }
}

/// What holds for one caller, with what it takes to do it.
#[derive(Clone)]
pub(crate) struct Chain {
    composed: Composed,
    /// Where the policies in it were set.
    policies: Vec<Lsn>,
    names: Arc<Names>,
    key: Secret,
}

impl Chain {
    fn of(tenant: &Tenant, views: &Views, composed: Composed) -> Self {
        Self {
            policies: views.policies.set_at(&composed),
            composed,
            names: tenant.directory.names(&views.identity),
            key: tenant.shared.keys.tenant_secret().derive("tabellion/v1/pseudonym"),
        }
    }

    /// What holds for what a caller reads. A person reads through all of their agents, under the policies of each (SHARE-12).
    pub(crate) fn of_reading(tenant: &Tenant, caller: &Caller, views: &Views) -> Self {
        let mut composed = composed(tenant, caller, views, PolicyKind::Read, caller.agent());
        if caller.is_person() {
            let at = tenant.moment(views);
            let works = |agent: &AgentId| views.graphs.status_at(*agent, at.lsn) == AgentStatus::Active;
            for agent in views.graphs.agents_of(caller.user(), at).into_iter().filter(works) {
                composed = composed.and(&self::composed(tenant, caller, views, PolicyKind::Read, agent));
            }
        }
        Self::of(tenant, views, composed)
    }

    fn ground<T>(&self, run: impl FnOnce(&Ground<'_>) -> T) -> T {
        run(&Ground { names: &[&self.names], key: &self.key })
    }

    pub(crate) fn content(&self, content: &Content) -> Content {
        self.ground(|ground| self.composed.content(content, ground))
    }

    /// A content as it may be written; nothing if it may not. Who sees it hangs on its labels, so what a step would take a
    /// label from, or give one, is not written at all (SHARE-31).
    pub(crate) fn written(&self, content: &Content) -> Option<Content> {
        let made = self.content(content);
        let is_labelled_alike = Class::labels_of(&made.tags) == Class::labels_of(&content.tags);
        let says_something = !made.text.trim().is_empty();
        (is_labelled_alike && says_something && !self.denies(content)).then_some(made)
    }

    /// What a model is asked to do with what is written.
    pub(crate) const fn asks(&self) -> Option<Asks> {
        self.composed.asks()
    }

    /// What a model may be shown of a content.
    fn page(&self, content: &Content) -> Page {
        let text = |text: &String| self.ground(|ground| self.composed.for_model(text, ground));
        Page { key: content.key.as_ref().map(text), text: text(&content.text) }
    }

    pub(crate) fn evidence(&self, evidence: &[Evidence]) -> Vec<Evidence> {
        self.ground(|ground| evidence.iter().map(|one| self.composed.evidence(one, ground)).collect())
    }

    pub(crate) fn text(&self, text: &str) -> String {
        self.ground(|ground| self.composed.transform(text, ground))
    }

    /// Whether a policy keeps a content back.
    pub(crate) fn denies(&self, content: &Content) -> bool {
        let denies = |content: &Content| self.composed.denies(&Subject::from(content)).is_some();
        denies(content) || tie(content).is_some_and(|tie| denies(&tie))
    }

    /// Whether everything passes as it is.
    pub(crate) fn is_verbatim(&self) -> bool {
        self.composed.is_verbatim()
    }

    /// The built-in classes that are redacted.
    pub(crate) fn redacted(&self) -> Classes {
        self.composed.detectors().built_in()
    }

    /// Whether a pattern of a policy's own is redacted in a content. The index knows the words that it matches, so whoever may
    /// not see them does not find the text at all (SHARE-21).
    pub(crate) fn is_unsearchable(&self, content: &Content) -> bool {
        let detectors = self.composed.detectors();
        detectors.finds_custom(&content.text)
            || tie(content).is_some_and(|tie| detectors.finds_custom(&tie.text))
            || content.key.as_ref().is_some_and(|key| detectors.finds_custom(key))
    }

    pub(crate) fn limits(&self) -> Limits {
        self.composed.limits()
    }

    /// An item as it may be shown; nothing if it may not.
    pub(crate) fn shown(&self, item: ItemReply) -> Option<ItemReply> {
        if self.is_verbatim() {
            return Some(item);
        }
        if self.denies(&item.content) {
            return None;
        }
        let mut content = self.content(&item.content);
        if let Some(chars) = self.limits().chars {
            content.text = shorten(&content.text, chars).to_owned();
        }
        let evidence = self.evidence(&item.evidence);
        let transformed = content != item.content || evidence != item.evidence;
        Some(ItemReply { content, evidence, transformed, ..item })
    }

    /// What the trail says of what was made of it.
    pub(crate) fn shaped(&self, transformed: bool) -> Shaped {
        Shaped { policies: self.policies.clone(), transformed }
    }

    /// A record of provenance as it may be shown.
    pub(crate) fn shown_provenance(&self, mut record: Provenance) -> Provenance {
        record.evidence_refs = self.evidence(&record.evidence_refs);
        let texts = [&mut record.retrieval_query, &mut record.agent_justification];
        for text in texts.into_iter().flatten() {
            *text = self.text(text);
        }
        record
    }
}

/// What a relation says by its triple, whatever its text is: the names in it are what is walked.
fn tie(content: &Content) -> Option<Content> {
    let Triple { subject, predicate, object } = content.relation()?;
    Some(Content { text: [subject.as_str(), predicate, object].join("\n"), ..content.clone() })
}

fn composed(tenant: &Tenant, caller: &Caller, views: &Views, kind: PolicyKind, agent: AgentId) -> Composed {
    views.policies.composed(kind, Pair { user: caller.user(), agent }, tenant.now())
}

/// Whether what a caller writes may be shared.
pub(crate) fn is_on(tenant: &Tenant, caller: &Caller, views: &Views) -> bool {
    composed(tenant, caller, views, PolicyKind::WriteShared, caller.agent()).share() == Share::On
}

/// What others are given of a write.
pub(crate) struct Copy {
    pub(crate) chain: Chain,
    pub(crate) content: Content,
    /// Whether a model must say it anew first, and has not: then it follows when one has (SHARE-18).
    pub(crate) lacks_model: bool,
}

/// What policies make of a write.
pub(crate) struct Shape {
    pub(crate) content: Content,
    pub(crate) tier: Tier,
    pub(crate) copy: Option<Copy>,
    /// What a model has to be asked first.
    pub(crate) wishes: Vec<Wish>,
    /// Whether what is written is for others, and a model must say it anew first.
    pub(crate) lacks_model: bool,
    /// What the trail says of it.
    pub(crate) shaped: Shaped,
    /// Whether what others are given of it rests on private items.
    pub(crate) rests_on_private: bool,
}

/// Makes of a write what policies make of it: what its user keeps, or what others see, or both (SHARE-19). The copy for
/// others is made of what was sent, not of what is kept.
///
/// Until models were asked, `told` is nothing, and what they are to be asked is in the answer.
pub(crate) fn shape(
    tenant: &Tenant,
    call: &Call,
    request: &WriteRequest,
    told: Option<&Told>,
    rests_on_private: bool,
) -> Result<Shape, Refusal> {
    let views = tenant.shared.views.read();
    let mut shaping = Shaping {
        tenant,
        call,
        views: &views,
        told,
        rests_on_private,
        wishes: Vec::new(),
        shaped: Shaped::default(),
    };
    let is_for_others = match request.tier {
        TierWish::Shared => true,
        TierWish::Private | TierWish::Both => false,
        TierWish::Auto => replaced(&views, request).is_some_and(|version| version.tier == Tier::Shared),
    };
    if !is_on(tenant, &call.caller, &views) {
        let content = shaping.kept(request)?;
        let tier = if is_for_others { Tier::Shared } else { Tier::Private };
        return Ok(shaping.end(content, tier, None, false));
    }
    if is_for_others {
        let Copy { content, lacks_model, .. } = shaping.copied(request)?;
        return Ok(shaping.end(content, Tier::Shared, None, lacks_model));
    }
    let copy = match request.tier {
        TierWish::Private => None,
        TierWish::Both => Some(shaping.copied(request)?),
        TierWish::Auto | TierWish::Shared => shaping.copied(request).ok(),
    };
    let content = shaping.kept(request)?;
    Ok(shaping.end(content, Tier::Private, copy, false))
}

/// What it takes to shape a write.
struct Shaping<'a> {
    tenant: &'a Tenant,
    call: &'a Call,
    views: &'a Views,
    told: Option<&'a Told>,
    /// Whether it is known to rest on private items, whatever the trace says by now.
    rests_on_private: bool,
    wishes: Vec<Wish>,
    shaped: Shaped,
}

impl Shaping<'_> {
    fn composed(&self, kind: PolicyKind) -> Composed {
        composed(self.tenant, &self.call.caller, self.views, kind, self.call.caller.agent())
    }

    /// What its user keeps.
    fn kept(&mut self, request: &WriteRequest) -> Result<Content, Refusal> {
        let chain = Chain::of(self.tenant, self.views, self.composed(PolicyKind::WritePrivate));
        self.made(&chain, &request.content, Intent::Private).ok_or_else(|| {
            blocked("/text", "a policy keeps this from being remembered; leave out what it forbids")
        })
    }

    /// What others are given, or why they are given nothing.
    fn copied(&mut self, request: &WriteRequest) -> Result<Copy, Refusal> {
        let mut composed = self.composed(PolicyKind::WriteShared);
        self.rests_on_private |= rests_on_private(self.tenant, self.call, self.views, request);
        if self.rests_on_private {
            composed = composed.for_private_parents().ok_or_else(|| {
                let message =
                    "a policy keeps what rests on private items from being shared; write it with tier `private`";
                blocked("/tier", message)
            })?;
        }
        let chain = Chain::of(self.tenant, self.views, composed);
        let content = self.made(&chain, &request.content, Intent::Shared).ok_or_else(not_shared)?;
        let has_answer = self.told.is_some_and(|told| told.of(Intent::Shared).is_some());
        let lacks_model = chain.asks().is_some_and(|asks| asks.required) && !has_answer;
        Ok(Copy { chain, content, lacks_model })
    }

    /// A content as a policy lets it be written: in a model's words where it asks for them and they are there. What a model
    /// says passes every step as if it had been written so, and what the policy keeps back is kept back whatever it says.
    fn made(&mut self, chain: &Chain, content: &Content, intent: Intent) -> Option<Content> {
        let made = self.told_or_written(chain, content, intent);
        let transformed = made.as_ref().is_some_and(|made| made != content);
        self.shaped = std::mem::take(&mut self.shaped).and(&chain.shaped(transformed));
        made
    }

    fn end(self, content: Content, tier: Tier, copy: Option<Copy>, lacks_model: bool) -> Shape {
        let Self { wishes, shaped, rests_on_private, .. } = self;
        Shape { content, tier, copy, wishes, lacks_model, shaped, rests_on_private }
    }

    fn told_or_written(&mut self, chain: &Chain, content: &Content, intent: Intent) -> Option<Content> {
        let Some(asks) = chain.asks().filter(|_| !chain.denies(content)) else {
            return chain.written(content);
        };
        let Some(told) = self.told else {
            let page = chain.page(content);
            let shown = Content { key: page.key.clone(), text: page.text.clone(), ..content.clone() };
            self.wishes.push(Wish { intent, task: asks.task, page });
            return chain.written(content).or(Some(shown));
        };
        match told.of(intent) {
            Some(notes) if !notes.is_empty() => chain.written(&notes.content(content)),
            Some(_) if intent == Intent::Shared => None,
            Some(_) | None => chain.written(content),
        }
    }
}

/// The refusal of what is kept from others.
pub(crate) fn not_shared() -> Refusal {
    blocked("/tier", "a policy keeps this from being shared; write it with tier `private`")
}

fn blocked(path: &str, message: &str) -> Refusal {
    let fault = Fault::new(path, Code::PolicyBlocked, "what no policy keeps back");
    Refusal::new(Code::PolicyBlocked, message).at(GateName::Policy).with(vec![fault])
}

/// Whether any of what a write rests on is private: what it names, what it cites, what its trace was given (SHARE-20).
fn rests_on_private(tenant: &Tenant, call: &Call, views: &Views, request: &WriteRequest) -> bool {
    let is_private = |version: &Version| version.tier == Tier::Private;
    let derived = request.derived_from.iter().filter_map(|id| views.items.find_version(id.parse().ok()?));
    let mut parents = derived.chain(cited(views, request)).chain(ends(tenant, call, views, request));
    parents.any(is_private) || tenant.seen(call, request.trace_id.as_deref()).private
}

/// How secret what a write was made from is: what it replaces, names and cites, and what its trace was given unless its word
/// on that is taken; and what a copy is owed of. Rewriting does not make it less so (SHARE-9, GOV-8.7).
pub(crate) fn secrecy_of_parents(
    tenant: &Tenant,
    call: &Call,
    request: &WriteRequest,
    owed: Option<Owed>,
) -> Secrecy {
    let views = &*tenant.shared.views.read();
    let predicate = predicate(tenant, &call.caller, views);
    let derived = request.derived_from.iter().filter_map(|id| views.items.find_version(id.parse().ok()?));
    let named = cited(views, request).chain(ends(tenant, call, views, request));
    let parents = derived.chain(named).chain(replaced(views, request));
    let visible = parents.filter(|version| predicate.admits(version));
    let kept = owed.and_then(|owed| views.items.find_version(owed.version));
    let mut classes: RoaringBitmap = visible.chain(kept).map(Version::class).collect();
    if !views.identity.agent(call.caller.agent()).is_some_and(|agent| agent.trust_declared) {
        classes |= tenant.seen(call, request.trace_id.as_deref()).classes;
    }
    let all = views.items.classes();
    let mut secrecy = Secrecy { classification: Classification::Public, domains: BTreeSet::new() };
    for class in classes.iter().filter_map(|class| all.get(class as usize)) {
        secrecy.join(&class.secrecy);
    }
    secrecy
}

/// The versions and heads of items that the evidence of a write cites, whoever may see them.
pub(crate) fn cited<'a>(views: &'a Views, request: &'a WriteRequest) -> impl Iterator<Item = &'a Version> {
    let from_memory = request.evidence.iter().filter(|one| one.source_type == SourceType::MemoryItem);
    from_memory.filter_map(|one| {
        let id = one.source_item_id.as_deref().unwrap_or(&one.source_uri);
        match id.parse() {
            Ok(item) => views.items.versions_of(views.items.find_item(item)?).next_back(),
            Err(_) => views.items.find_version(id.parse().ok()?),
        }
    })
}

/// The items that a relation ties, each with the part of the triple that names it.
pub(crate) fn tied(request: &WriteRequest) -> impl Iterator<Item = (&'static str, ItemId)> {
    request.content.relation().into_iter().flat_map(Triple::items)
}

/// The heads of the items that a relation ties, as far as the writer sees them: it is made from them (SHARE-46).
fn ends<'a>(
    tenant: &Tenant,
    call: &Call,
    views: &'a Views,
    request: &WriteRequest,
) -> impl Iterator<Item = &'a Version> {
    let mut tied = tied(request).peekable();
    let predicate = tied.peek().is_some().then(|| predicate(tenant, &call.caller, views));
    let at = tenant.moment(views);
    let seen = move |(_, item)| Some(views.items.visible_head(item, predicate.as_deref()?, at)?.1);
    tied.filter_map(seen).collect::<Vec<_>>().into_iter()
}

/// The version that a write replaces, whoever may see it.
fn replaced<'a>(views: &'a Views, request: &WriteRequest) -> Option<&'a Version> {
    match request.replaces? {
        Replaces::Item(item) | Replaces::Superseded(item) => {
            views.items.versions_of(views.items.find_item(item)?).next_back()
        }
        Replaces::SupersededVersion(version) => views.items.find_version(version),
    }
}
