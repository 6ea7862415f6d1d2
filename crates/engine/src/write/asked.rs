//! A write that has been read, and what it is judged by.

use super::flight::Corpus;
use super::replay::{print_of_request, scoped_token};
use super::{Replay, check_token, facts};
use crate::calibration::{Session, Together};
use crate::counsel::Counsel;
use crate::embedding::Vector;
use crate::owed::Owed;
use crate::scribing::{Told, Wish};
use crate::sharing::{self, Copy, Shape};
use crate::tenant::Tenant;
use crate::{Call, flow};
use std::sync::Arc;
use tabellion_core::canonical::{Hash, idempotency_token};
use tabellion_core::claim::Claim;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{
    Approval, Force, GateName, OnConflict, Replaces, Strictness, WriteDraft, WriteRequest,
};
use tabellion_core::id::{ItemId, ReviewId};
use tabellion_core::item::{Content, Tier};
use tabellion_core::log::{Prints, Shaped};
use tabellion_core::text::Analyser;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Version, Views};

/// A write that has been read and found well formed, and how it is to be judged.
pub(crate) struct Asked {
    pub(crate) request: WriteRequest,
    /// The body it came with, to be kept where the write has to wait.
    pub(crate) body: WriteDraft,
    pub(crate) strictness: Strictness,
    /// What a policy says of writes that contradict something known.
    pub(crate) on_conflict_policy: Option<OnConflict>,
    pub(crate) prints: Prints,
    /// What it claims; empty where nobody compares.
    pub(crate) claim: Claim,
    /// What makes two writes the same.
    pub(crate) token: Hash,
    pub(crate) request_print: Option<Hash>,
    pub(crate) approval: Option<Approval>,
    /// When it first came in, however long it waited since: what it says is dated by that.
    pub(crate) submitted: Timestamp,
    /// The held write that it takes the place of.
    pub(crate) edits: Option<ReviewId>,
    /// Whether nobody waits for the answer.
    pub(crate) unattended: bool,
    /// The tier that it goes to.
    pub(crate) tier: Tier,
    /// What others are given of it beside that.
    pub(crate) copy: Option<Copy>,
    /// What a model has to be asked before it can be written; until then nothing of it may be committed.
    pub(crate) wishes: Vec<Wish>,
    /// What models made of it.
    pub(crate) told: Told,
    /// Whether it is for others, and lacks the words of the model that a policy requires.
    pub(crate) lacks_model: bool,
    /// What the trail says of what policies made of it.
    pub(crate) shaped: Shaped,
    /// What it is the copy of, where others were owed it.
    pub(crate) owed: Option<Owed>,
    /// As it was sent.
    pub(super) sent: Content,
    /// Whether it rests on private items, as it did when it came in.
    pub(crate) rests_on_private: bool,
    /// What was said of it outside this process; none until somebody was asked.
    pub(crate) counsel: Option<Counsel>,
    /// What it means; none where only words are compared, or no model answered.
    pub(crate) vector: Option<Vector>,
    /// Its turn at being scored, where somebody audits it.
    pub(crate) session: Option<Session>,
    /// The relations that it is written with.
    pub(crate) together: Option<Arc<Together>>,
    /// The review that it comes back from because more came to light, without a person.
    pub(crate) promoted: Option<ReviewId>,
}

impl Asked {
    /// Settles what a write is judged by that comes in now: one that asks for less than policies do is refused.
    pub(crate) fn sent(
        tenant: &Tenant,
        call: &Call,
        body: WriteDraft,
        request: WriteRequest,
    ) -> Result<Self, Refusal> {
        not_laxer(tenant, &request)?;
        Self::of(tenant, call, body, request, (None, tenant.now()))
    }

    /// Settles what a write is judged by; nothing of the memory but policies is looked at. Where those have become stricter while it
    /// waited, they hold; it says when it came in.
    pub(crate) fn of(
        tenant: &Tenant,
        call: &Call,
        body: WriteDraft,
        mut request: WriteRequest,
        (owed, submitted): (Option<Owed>, Timestamp),
    ) -> Result<Self, Refusal> {
        let strictness = strictness(tenant, &request);
        let on_conflict_policy = tenant.shared.views.read().policies.on_conflict(&request.namespace);
        let canonical = request.content.canonical().map_err(|_| no_canonical_form())?;
        let token = idempotency_token(&canonical, &call.caller.agent(), request.layer);
        check_token(&request, &token)?;
        let token = scoped_token(tenant, call, &request, &token);
        let request_print = print_of_request(tenant, call, &request);
        if let Some(owed) = owed {
            owed.address(tenant, &mut request);
        }
        let inherited = sharing::secrecy_of_parents(tenant, call, &request, owed);
        request.content.secrecy.join(&inherited);
        let rests_on_private = owed.is_some_and(|owed| owed.rests_on_private);
        let Shape { content, tier, copy, wishes, lacks_model, shaped, rests_on_private } =
            sharing::shape(tenant, call, &request, None, rests_on_private)?;
        let sent = std::mem::replace(&mut request.content, content);
        let (claim, prints) = recognised(tenant, call, &request, strictness, (tier, submitted))?;
        Ok(Self {
            claim,
            strictness,
            on_conflict_policy,
            prints,
            token: owed.map_or(token, |owed| owed.token(tenant)),
            request_print: request_print.filter(|_| owed.is_none()),
            request,
            body,
            approval: None,
            submitted,
            edits: None,
            unattended: false,
            tier,
            copy,
            wishes,
            told: Told::default(),
            lacks_model,
            shaped,
            owed,
            sent,
            rests_on_private,
            counsel: None,
            vector: None,
            session: None,
            together: None,
            promoted: None,
        })
    }

    /// Makes of it what policies make of it now that models were asked, whatever they said.
    pub(crate) fn settle(&mut self, tenant: &Tenant, call: &Call, told: Told) -> Result<(), Refusal> {
        self.request.content.clone_from(&self.sent);
        let shape = sharing::shape(tenant, call, &self.request, Some(&told), self.rests_on_private)?;
        let Shape { content, tier, copy, wishes, lacks_model, shaped, rests_on_private } = shape;
        self.request.content = content;
        self.rests_on_private = rests_on_private;
        let place = (tier, self.submitted);
        (self.claim, self.prints) = recognised(tenant, call, &self.request, self.strictness, place)?;
        (self.tier, self.copy, self.wishes, self.lacks_model) = (tier, copy, wishes, lacks_model);
        (self.told, self.shaped, self.vector) = (told, shaped, None);
        Ok(())
    }

    /// What a replay of it is recognised by.
    pub(crate) fn replay(&self) -> Replay {
        let dated = self.request.content.fields.contains_key("time");
        Replay { token: self.token, request: self.request_print, dated, edits: self.edits }
    }

    /// What becomes of it where it contradicts something known: what its writer asks for, unless a policy is stricter by now. A
    /// person's yes is as strict as any.
    pub(crate) fn on_conflict(&self) -> Option<OnConflict> {
        let set = self.on_conflict_policy;
        let may = |asked: &OnConflict| self.approval.is_some() || asked.is_allowed_under(set);
        self.request.on_conflict.filter(may).or(set)
    }

    /// Whether others would see it, or a copy of it.
    pub(crate) const fn is_for_others(&self) -> bool {
        self.copy.is_some() || matches!(self.tier, Tier::Shared)
    }

    /// The item that it says to change.
    pub(crate) fn changes(&self, views: &Views) -> Option<ItemId> {
        match self.request.replaces? {
            Replaces::Item(item) | Replaces::Superseded(item) => Some(item),
            Replaces::SupersededVersion(version) => {
                views.items.item_of(views.items.find_version(version)?).map(|item| item.id)
            }
        }
    }

    /// When it came in, if it waited since: for its turn, a gate or a person.
    pub(crate) fn waited_since(&self) -> Option<Timestamp> {
        (self.unattended || self.approval.is_some()).then_some(self.submitted)
    }

    /// Whether a version was said while the write waited.
    pub(super) fn was_said_before(&self, version: &Version) -> bool {
        self.waited_since().is_some_and(|since| since < version.said_at())
    }

    /// The review that it comes back from.
    pub(crate) fn review(&self) -> Option<ReviewId> {
        self.approval.as_ref().and_then(|approval| approval.review).or(self.promoted)
    }

    /// Whose memory it is compared with.
    pub(super) fn corpus(&self, call: &Call) -> Corpus {
        let (namespace, layer) = (self.request.namespace.clone(), self.request.layer);
        Corpus { owner: call.caller.user(), namespace, layer }
    }
}

/// What a write claims, and what it is recognised by.
fn recognised(
    tenant: &Tenant,
    call: &Call,
    request: &WriteRequest,
    strictness: Strictness,
    (tier, submitted): (Tier, Timestamp),
) -> Result<(Claim, Prints), Refusal> {
    let canonical = request.content.canonical().map_err(|_| no_canonical_form())?;
    let session = flow::session(tenant, call, request);
    let prints = facts::prints(tenant, call, &request.content, &canonical, session, tier);
    let compared = strictness.rules(request.layer).contradiction > Force::Off;
    let claim = || {
        Claim::of(&request.content, &mut Analyser::default()).stored(
            call.caller.user(),
            submitted,
            request.layer,
        )
    };
    let claim = if compared { claim() } else { Claim::default() };
    Ok((claim, prints))
}

fn no_canonical_form() -> Refusal {
    Refusal::new(Code::SchemaInvalid, "the content has no canonical form").at(GateName::Schema)
}

/// The policy that a write runs under: that of its namespace, or a stricter one that it asks for.
pub(super) fn strictness(tenant: &Tenant, request: &WriteRequest) -> Strictness {
    let set = strictness_of_namespace(tenant, request);
    request.write_policy.map_or(set, |asked| asked.max(set))
}

fn strictness_of_namespace(tenant: &Tenant, request: &WriteRequest) -> Strictness {
    let set = tenant.shared.views.read().policies.strictness(&request.namespace);
    set.unwrap_or(tenant.governance.strictness)
}

/// Refuses a write that asks for less than policies do: for a laxer policy, or for another end of a contradiction where one says
/// `review` or `reject`.
fn not_laxer(tenant: &Tenant, request: &WriteRequest) -> Result<(), Refusal> {
    let too_lax = |path: &str, set: &str, asked: &str, message: String| {
        let fault = Fault::new(path, Code::PolicyTooLax, format!("{set} or stricter")).found(asked);
        Err(Refusal::new(Code::PolicyTooLax, message).at(GateName::Preflight).with(vec![fault]))
    };
    let set = strictness_of_namespace(tenant, request);
    if let Some(asked) = request.write_policy.filter(|asked| *asked < set) {
        let message = "a write may ask for a stricter policy, not for a laxer one".to_owned();
        return too_lax("/write_policy", set.as_str(), asked.as_str(), message);
    }
    let set = tenant.shared.views.read().policies.on_conflict(&request.namespace);
    match (request.on_conflict, set) {
        (Some(asked), Some(policy)) if !asked.is_allowed_under(set) => {
            let message = format!(
                "a policy says on_conflict={} in namespace {}; a write may only ask for something stricter",
                policy.as_str(),
                request.namespace
            );
            too_lax("/on_conflict", policy.as_str(), asked.as_str(), message)
        }
        _ => Ok(()),
    }
}
