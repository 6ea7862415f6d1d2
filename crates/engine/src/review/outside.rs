//! Held writes for the shared memory, as those see them who are neither their author's user nor a named reviewer: whoever shares
//! an item that the write speaks against, and moderators.
//!
//! Invariant (no wider than memory): they see a held write if they would see it once it is committed, and of it no more than that.

use super::{Staged, decide, is_visible};
use crate::Call;
use crate::read;
use crate::sharing::Chain;
use crate::tenant::Tenant;
use crate::write;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tabellion_core::access::{Caller, Power, powers, would_see};
use tabellion_core::canonical::{hex, sha256};
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::GateName;
use tabellion_core::id::{ItemId, UserId, VersionId};
use tabellion_core::item::{Content, Tier};
use tabellion_core::view::{Class, Review, Views};

/// What others would be given of a held write.
pub(super) struct Proposed {
    pub(super) content: Content,
    class: Class,
    namespace: String,
    /// Whether that is all of it, and not a copy that policies made.
    is_whole: bool,
}

impl Proposed {
    /// What others would be given of a held write; nothing if it is for its user alone, or its content is gone.
    pub(super) fn of(tenant: &Tenant, review: &Review) -> Option<Self> {
        let (author, asked) = decide::as_sent(tenant, None, review).ok()?;
        let class = write::class_of(tenant, &author, &asked, Tier::Shared);
        let (namespace, is_whole) = (asked.request.namespace.clone(), asked.copy.is_none());
        let content = match (asked.copy, review.tier) {
            (Some(copy), _) if copy.lacks_model => return None,
            (Some(copy), _) => copy.content,
            (None, Tier::Shared) => asked.request.content,
            (None, Tier::Private) => return None,
        };
        Some(Self { content, class, namespace, is_whole })
    }

    /// SHA-256 of its canonical content, hex.
    pub(super) fn hash(&self) -> Option<String> {
        self.content.canonical().ok().map(|bytes| hex(&sha256(&bytes)))
    }

    /// The body of the write as others are shown it.
    pub(super) fn body(&self, staged: &Staged) -> Value {
        let mut body = serde_json::to_value(&self.content).unwrap_or_else(|_| json!({}));
        if let Value::Object(body) = &mut body {
            body.insert("namespace".to_owned(), json!(self.namespace));
            body.insert("tier".to_owned(), json!(Tier::Shared.as_str()));
            let evidence = staged.write.get("evidence").filter(|_| self.is_whole);
            body.extend(evidence.map(|evidence| ("evidence".to_owned(), evidence.clone())));
        }
        body
    }
}

/// Whether a held write is open to a caller who is neither its author's user nor a named reviewer.
pub(super) fn is_open_to(tenant: &Tenant, caller: &Caller, review: &Review) -> bool {
    let is_party = || {
        let views = tenant.shared.views.read();
        review.owner != caller.user() && shares_one_of(&views, caller.user(), review)
    };
    if !caller.is_person() || !(caller.moderates() || is_party()) {
        return false;
    }
    let Some(proposed) = Proposed::of(tenant, review) else { return false };
    let views = tenant.shared.views.read();
    let sees = would_see(caller, &proposed.class, &views, tenant.moment(&views));
    let reading = Chain::of_reading(tenant, caller, &views);
    drop(views);
    let shows =
        || !reading.denies(&proposed.content) && reading.content(&proposed.content) == proposed.content;
    sees && (reading.is_verbatim() || shows())
}

/// Whether a user shares an item that a held write speaks against.
fn shares_one_of(views: &Views, user: UserId, review: &Review) -> bool {
    review.opposes.iter().any(|item| sharer(views, *item) == Some(user))
}

/// The user whose item it is.
fn sharer(views: &Views, item: ItemId) -> Option<UserId> {
    let item = views.items.find_item(item)?;
    views.items.versions_of(item).next_back().map(|last| last.owner)
}

/// Whether somebody else than the author's user has to decide: the write speaks against what another user shares, or says again
/// what a moderator took back.
pub(super) fn needs_another_party(tenant: &Tenant, review: &Review, staged: &Staged) -> bool {
    let causes = staged.findings.get("causes").and_then(Value::as_array);
    let moderated = Value::from(Code::Moderated.as_str());
    let is_moderated = causes.is_some_and(|all| all.iter().any(|one| one.get("code") == Some(&moderated)));
    let repeats = || {
        let sent = decide::as_sent(tenant, None, review).ok();
        sent.is_some_and(|(author, asked)| write::repeats_moderated(tenant, &author, &asked))
    };
    !review.opposes.is_empty() || is_moderated || repeats()
}

/// Refuses the yes of an author's own user where another party has to decide.
pub(super) fn own_yes() -> Refusal {
    let message = "this write speaks against what another user shares, or says again what a moderator took back: its author's \
                   user does not approve it; the user of that item, a named reviewer or a moderator does";
    Refusal::new(Code::SelfApproval, message).at(GateName::Policy)
}

/// Whether one of these versions is shared by another user.
pub(super) fn opposes_another(tenant: &Tenant, author: UserId, versions: &[VersionId]) -> bool {
    let views = tenant.shared.views.read();
    let found = versions.iter().filter_map(|version| views.items.find_version(*version));
    found.into_iter().any(|version| version.tier == Tier::Shared && version.owner != author)
}

/// Who may decide on a held write of a caller: named reviewers, and the person whose agent wrote it; where it concerns others, not that
/// person, but the users of the items that it speaks against, and moderators.
pub(super) fn deciders(tenant: &Tenant, call: &Call, concerned: Option<&Vec<ItemId>>) -> BTreeSet<UserId> {
    let user = call.caller.user();
    let mut deciders = concerned.map(|_| moderators(tenant, user)).unwrap_or_default();
    let views = tenant.shared.views.read();
    let named = views.policies.reviewers_of(&user.to_string());
    deciders.extend(named.iter().filter_map(|id| views.identity.find_user(id)).map(|user| user.id));
    match concerned {
        Some(items) => deciders.extend(items.iter().filter_map(|item| sharer(&views, *item))),
        None if tenant.is_person(&call.caller) => {}
        None => drop(deciders.insert(user)),
    }
    deciders.retain(|user| views.graphs.is_active(*user, views.lsn()));
    deciders
}

/// Whether a user who said yes to a held write may still do so.
pub(super) fn may_still_decide(tenant: &Tenant, user: UserId, review: &Review) -> bool {
    let is_for_others = Proposed::of(tenant, review).is_some();
    let views = tenant.shared.views.read();
    let is_named = || views.policies.reviews(&user.to_string(), &review.owner.to_string());
    let moderates = || is_for_others && powers(&views, user, tenant.now()).has(Power::Moderate);
    views.graphs.is_active(user, views.lsn())
        && (user == review.owner || is_named() || shares_one_of(&views, user, review) || moderates())
}

/// Active users who moderate, but for one.
fn moderators(tenant: &Tenant, but: UserId) -> BTreeSet<UserId> {
    let views = tenant.shared.views.read();
    let now = tenant.now();
    let users = views.identity.users().iter().map(|user| user.id);
    let active = users.filter(|user| *user != but && views.graphs.is_active(*user, views.lsn()));
    active.filter(|user| powers(&views, *user, now).has(Power::Moderate)).collect()
}

/// What the gates found, as a caller is told it: with the texts of contradicted items that are shared or that the caller sees.
/// Whoever is neither the author's user nor a named reviewer is told of no others.
pub(super) fn findings(tenant: &Tenant, call: &Call, review: &Review, mut findings: Value) -> Value {
    let caller = &call.caller;
    let is_named = {
        let views = tenant.shared.views.read();
        is_visible(&views, caller, review) && review.owner != caller.user()
    };
    let sight = if is_named { caller.reviewing() } else { None };
    let text = |one: &Value| {
        let version: VersionId = one.get("version")?.as_str()?.parse().ok()?;
        let own = read::shown_version(tenant, caller, version);
        let item = own.or_else(|| read::shown_version(tenant, sight.as_ref()?, version))?;
        Some(read::shortened(&item.content.text, TEXT_CHARS_MAX))
    };
    let is_outside = is_outside(tenant, caller, review);
    let Some(Value::Array(against)) = findings.get_mut("contradictions") else { return findings };
    let all = std::mem::take(against);
    for (place, mut one) in all.into_iter().enumerate() {
        let text = if place < TEXTS_MAX || is_outside { text(&one) } else { None };
        if is_outside && text.is_none() {
            continue;
        }
        if let (Value::Object(one), Some(text)) = (&mut one, text) {
            one.insert("text".to_owned(), Value::from(text));
        }
        against.push(one);
    }
    let told: Vec<Value> = against.iter().filter_map(|one| one.get("id").cloned()).collect();
    if is_outside && let Some(Value::Array(items)) = findings.pointer_mut("/proposal/items") {
        items.retain(|item| told.contains(item));
    }
    findings
}

/// Contradicted items whose text is shown with a review.
const TEXTS_MAX: usize = 8;
/// Characters shown of such a text.
const TEXT_CHARS_MAX: usize = 1_000;

/// Whether a caller sees a review only as others would see the write.
pub(super) fn is_outside(tenant: &Tenant, caller: &Caller, review: &Review) -> bool {
    caller.moderates() || !is_visible(&tenant.shared.views.read(), caller, review)
}
