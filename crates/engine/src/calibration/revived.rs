//! Writes that were kept apart before a restart: what they mean is made again from the log, behind everything else (CAL-31).

use super::staged::{KEPT_MAX, Subject};
use super::{namespace_print, subject};
use crate::review;
use crate::tenant::Tenant;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tabellion_core::canonical::Hash;
use tabellion_core::id::{AgentId, ReviewId, UserId};
use tabellion_core::log::{MemoryKind, Party, Space};
use tabellion_core::view::{Class, Review, Views};

/// Between two tries to ask a model that gives no answer; each is twice as long as the one before, up to the longest.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(30);
/// How often, and how many times at most, a write looks whether what its party has waiting is known again; and what others have.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 100;
const LOOKS_FOR_OTHERS_MAX: usize = 10;

/// Starts the thread that makes them known again, if there are any; it ends when all are.
pub(crate) fn start(tenant: &Arc<Tenant>) -> std::io::Result<()> {
    let most = tenant.shared.vectors.as_ref().map(|vectors| vectors.embedding().bulk_max());
    let Some(most) = most.filter(|most| !missing(tenant, *most).is_empty()) else { return Ok(()) };
    tenant.calibrator.staged.behind.store(true, Ordering::Release);
    let weak = Arc::downgrade(tenant);
    std::thread::Builder::new().name("staged".into()).spawn(move || run(&weak, most)).map(drop)
}

fn run(tenant: &Weak<Tenant>, most: usize) {
    let mut pause = RETRY_FIRST;
    loop {
        let Some(tenant) = tenant.upgrade().filter(|tenant| tenant.sequencer.is_well()) else { return };
        let missing = missing(&tenant, most);
        if missing.is_empty() {
            tenant.calibrator.staged.behind.store(false, Ordering::Release);
            return;
        }
        if revive(&tenant, &missing) {
            pause = RETRY_FIRST;
            continue;
        }
        drop(tenant);
        std::thread::sleep(pause);
        pause = RETRY_LONGEST.min(pause * 2);
    }
}

/// Some of those that wait and are not known yet, the oldest first.
fn missing(tenant: &Tenant, most: usize) -> Vec<(Review, Space)> {
    let staged = &tenant.calibrator.staged;
    if staged.len() >= KEPT_MAX {
        return Vec::new();
    }
    let views = tenant.shared.views.read();
    let mut all: Vec<(Review, Space)> = views
        .trust
        .all_staged()
        .filter(|(review, one)| one.standing.kind == MemoryKind::Items && !staged.has(*review))
        .filter_map(|(review, one)| waiting(&views, review, one.standing.space))
        .collect();
    all.sort_by_key(|(review, _)| review.lsn);
    all.truncate(most);
    all
}

fn waiting(views: &Views, review: ReviewId, space: u32) -> Option<(Review, Space)> {
    let found = views.reviews.find(review).filter(|review| review.decided.is_none())?;
    Some((found.clone(), views.trust.space(space)?.clone()))
}

/// Makes some of them known again; whether the model answered.
fn revive(tenant: &Tenant, missing: &[(Review, Space)]) -> bool {
    let Some(vectors) = &tenant.shared.vectors else { return false };
    let mut texts: Vec<(UserId, String)> = Vec::new();
    let mut found = Vec::new();
    for (review, space) in missing {
        match read(tenant, review, space) {
            Some((text, unmeant)) => {
                texts.push((review.owner, text));
                found.push((review.id, unmeant));
            }
            // What cannot be read any more can be neither repeated nor borne out.
            None => put(tenant, review.id, None),
        }
    }
    match vectors.embedding().many(tenant.shared.tenant, &texts) {
        Ok(vectors) => {
            for ((review, (class, namespace, author)), vector) in found.into_iter().zip(vectors) {
                put(tenant, review, Some(Subject { vector, class, namespace, author }));
            }
            true
        }
        Err(error) => {
            tracing::warn!(%error, "writes that are kept apart are not known again yet");
            false
        }
    }
}

fn put(tenant: &Tenant, review: ReviewId, subject: Option<Subject>) {
    let views = tenant.shared.views.read();
    let waits = |one| views.trust.staged(one).is_some();
    if waits(review) {
        tenant.calibrator.staged.put(review, subject, waits);
    }
}

/// All of a subject but what it means.
type Unmeant = (Class, String, (UserId, AgentId));

/// What a write says, and as what it was scored.
fn read(tenant: &Tenant, review: &Review, space: &Space) -> Option<(String, Unmeant)> {
    let asked = review::waiting_write(tenant, review).ok()?;
    let (_, content) = subject(&asked);
    let class = Class {
        agents: space.agents.clone(),
        resources: space.resources.clone(),
        labels: Class::labels_of(&asked.request.content.tags),
        secrecy: asked.request.content.secrecy.clone(),
        kind: asked.request.content.kind.clone(),
        layer: asked.request.layer,
        tier: space.tier,
    };
    let author = (review.owner, review.agent);
    Some((content.embedded_text(), (class, asked.request.namespace.clone(), author)))
}

/// Waits for a while until what waits in a namespace is known again: longer for what a party has there itself.
pub(super) async fn caught_up(tenant: &Tenant, namespace: &str, party: Party) {
    let print = namespace_print(tenant, namespace);
    for look in 0..LOOKS_MAX {
        let whose = (look >= LOOKS_FOR_OTHERS_MAX).then_some(party);
        if !tenant.calibrator.staged.behind.load(Ordering::Acquire) || !lacks(tenant, print, whose) {
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn lacks(tenant: &Tenant, namespace: Hash, whose: Option<Party>) -> bool {
    let views = tenant.shared.views.read();
    views.trust.all_staged().any(|(review, one)| {
        let space = views.trust.space(one.standing.space);
        whose.is_none_or(|party| party == one.standing.party)
            && one.standing.kind == MemoryKind::Items
            && space.is_some_and(|space| space.namespace == namespace)
            && !tenant.calibrator.staged.has(review)
    })
}
