//! When are two writes the same? What a write is recognised by when it comes again, and what decides where it would land.

use crate::Call;
use crate::review;
use crate::sequencer::{Objection, Touch};
use crate::tenant::Tenant;
use crate::working;
use crate::write::Asked;
use tabellion_core::canonical::{Hash, hex, idempotency_token};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{GateName, Replaces, WriteDraft, WriteRequest};
use tabellion_core::id::ReviewId;
use tabellion_core::item::{Layer, Tier, TierWish};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, Views};

/// What a write is recognised by when it comes again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replay {
    pub(super) token: Hash,
    pub(super) request: Option<Hash>,
    /// Whether it speaks of a moment of its own: then it is the same statement after a newer one, too.
    pub(super) dated: bool,
    /// The held write that it takes the place of: that is no replay, however alike they are.
    pub(super) edits: Option<ReviewId>,
}

impl Replay {
    /// The same for a write that takes the place of this held one, if of any.
    pub(crate) const fn in_place_of(self, edits: Option<ReviewId>) -> Self {
        Self { edits, ..self }
    }

    /// What no other proposal of the batch may have in common with it.
    pub(crate) fn touches(&self) -> Vec<Touch> {
        let request = self.request.map(Touch::Request);
        [Touch::Token(self.token)].into_iter().chain(request).chain(self.edits.map(Touch::Review)).collect()
    }

    /// Step 1 of GOV-1.7: a known token is a replay, and a known request id must come with the same content. What it takes
    /// the place of must still wait.
    pub(crate) fn known(&self, views: &Views, now: Timestamp) -> Result<(), Objection> {
        self.edits.map_or(Ok(()), |id| review::must_wait(views, id, now))?;
        if let Some((version, first)) = self.request.and_then(|request| views.items.requested(&request, now))
        {
            if *first != self.token {
                return Err(request_id_reused().into());
            }
            return Err(Objection::Replayed(version.id));
        }
        let requested = self.request.and_then(|request| views.reviews.requested(&request, now));
        if requested.is_some_and(|review| self.is_another(review) && *review.token() != self.token) {
            return Err(request_id_reused().into());
        }
        match views.items.replayed(&self.token, self.dated, now) {
            Some(version) => Err(Objection::Replayed(version.id)),
            None => Ok(()),
        }
    }

    /// The review that the same write waits in already.
    pub(crate) fn waiting<'a>(&self, views: &'a Views, now: Timestamp) -> Option<&'a Review> {
        views.reviews.pending(&self.token, now).filter(|review| self.is_another(review))
    }

    fn is_another(&self, review: &Review) -> bool {
        Some(review.id) != self.edits
    }
}

pub(crate) fn request_id_reused() -> Refusal {
    let fault = Fault::new("/request_id", Code::RequestIdReused, "a fresh UUID for other content");
    let refusal = Refusal::new(Code::RequestIdReused, "this request id came with other content before");
    refusal.at(GateName::Preflight).with(vec![fault])
}

/// A token that the writer computed must be the one that the server computes.
pub(crate) fn check_token(request: &WriteRequest, token: &Hash) -> Result<(), Refusal> {
    match request.idempotency_token {
        Some(claimed) if claimed != *token => {
            let fault = Fault::new("/idempotency_token", Code::TokenMismatch, hex(token));
            let message = "the idempotency token is not that of this content, agent and layer; leave it out or correct it";
            Err(Refusal::new(Code::TokenMismatch, message).at(GateName::Preflight).with(vec![fault]))
        }
        _ => Ok(()),
    }
}

/// What makes two writes the same: the token, and everything that decides where it would land.
pub(super) fn scoped_token(tenant: &Tenant, call: &Call, request: &WriteRequest, token: &Hash) -> Hash {
    let target: Vec<u8> = match request.replaces {
        None => Vec::new(),
        Some(Replaces::Item(item)) => [b"u".as_slice(), item.as_bytes()].concat(),
        Some(Replaces::Superseded(item)) => [b"s".as_slice(), item.as_bytes()].concat(),
        Some(Replaces::SupersededVersion(version)) => [b"v".as_slice(), version.as_bytes()].concat(),
    };
    let expected: &[u8] = request.expected_version.as_ref().map_or(&[], |version| version.as_bytes());
    // As it was asked for: what policy makes of it may differ from one day to the next.
    let tier = match request.tier {
        TierWish::Auto | TierWish::Private => Tier::Private,
        TierWish::Shared | TierWish::Both => Tier::Shared,
    };
    tenant.fingerprint(&[
        b"token",
        token,
        call.caller.user().as_bytes(),
        request.namespace.as_bytes(),
        tier.as_str().as_bytes(),
        &target,
        expected,
    ])
}

/// What a write would be recognised by in the other layers and tiers.
pub(crate) fn tokens_of_other_places(tenant: &Tenant, call: &Call, asked: &Asked) -> Vec<Hash> {
    let Ok(sent) = working::claim(tenant, call, asked.body.clone()).check() else { return Vec::new() };
    let Ok(canonical) = sent.content.canonical() else { return Vec::new() };
    let layers = Layer::ALL.iter().copied().filter(|layer| *layer != Layer::Working);
    let places = layers.flat_map(|layer| [(layer, TierWish::Private), (layer, TierWish::Shared)]);
    let tokens = places.map(|(layer, tier)| {
        let token = idempotency_token(&canonical, &call.caller.agent(), layer);
        let mut there = sent.clone();
        (there.layer, there.tier) = (layer, tier);
        scoped_token(tenant, call, &there, &token)
    });
    tokens.filter(|token| *token != asked.token).collect()
}

/// What a request id of the caller is recognised by; nothing if it is no UUID.
pub(crate) fn request_print(tenant: &Tenant, call: &Call, request: &str) -> Option<Hash> {
    let draft =
        WriteDraft { text: Some("-".into()), request_id: Some(request.into()), ..WriteDraft::default() };
    print_of_request(tenant, call, &draft.check().ok()?)
}

/// What the request id of a write is recognised by.
pub(super) fn print_of_request(tenant: &Tenant, call: &Call, request: &WriteRequest) -> Option<Hash> {
    let id = request.request_id?;
    let (user, agent) = (call.caller.user(), call.caller.agent());
    Some(tenant.fingerprint(&[b"request", user.as_bytes(), agent.as_bytes(), &id]))
}
