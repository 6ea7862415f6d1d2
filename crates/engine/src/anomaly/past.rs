//! What a pair wrote before, counted again from the log and from what is kept of its refused writes.

use super::habit::{self, Habit, Opposes, PlaceHabit};
use super::{Pair, Place, pair_of, words_of};
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::Asked;
use crate::{Call, kept, review};
use std::collections::BTreeMap;
use tabellion_core::item::Content;
use tabellion_core::log::Lsn;
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Review, Version};

/// Versions of an agent that are looked through for those of a pair.
const LOOK_BACK: usize = 20_000;
/// Versions of a pair that its pace is counted from.
const PACE_VERSIONS: usize = 5_000;
/// Writes of a pair in one place that its topics are counted from.
const TOPIC_WRITES: usize = 300;

/// A write of a pair in one place.
struct Earlier {
    time: Timestamp,
    words: Vec<u16>,
    opposes: Opposes,
}

impl Earlier {
    fn new(time: Timestamp, content: &Content, opposes: Opposes) -> Self {
        Self { time, words: words_of(content), opposes }
    }
}

/// How fast a pair wrote.
pub(super) fn pace(tenant: &Tenant, pair: Pair) -> Habit {
    let mut minutes: BTreeMap<u64, u64> = BTreeMap::new();
    for time in written_by(tenant, pair, None, PACE_VERSIONS, |version| Some(version.time)) {
        *minutes.entry(habit::minute_of(time)).or_default() += 1;
    }
    Habit::of_minutes(&minutes)
}

/// What a caller's pair wrote in a place, and what that spoke against. What led to a hold, or came while it lasted, is not held
/// against the pair a second time.
pub(super) fn habit(tenant: &Tenant, call: &Call, place: &Place) -> PlaceHabit {
    let pair = pair_of(&call.caller);
    let judged_from = tenant.shared.views.read().holds.judged_from(pair.0, pair.1);
    let mut earlier = committed(tenant, pair, place);
    earlier.extend(held(tenant, pair, place));
    earlier.extend(refused(tenant, call, place));
    earlier.sort_by_key(|one| one.time);
    let mut counted = PlaceHabit::default();
    let last = earlier.len().saturating_sub(TOPIC_WRITES);
    for Earlier { time, words, opposes } in earlier.into_iter().skip(last) {
        counted.recount(words, if time > judged_from { opposes } else { Opposes::Nothing });
    }
    counted
}

/// What was committed at once: the log does not say whose statements it spoke against. What came through a review counts as it
/// was held.
fn committed(tenant: &Tenant, pair: Pair, place: &Place) -> Vec<Earlier> {
    let row = |version: &Version| version.review.is_none().then_some((version.lsn, version.time));
    let rows: Vec<(Lsn, Timestamp)> = written_by(tenant, pair, Some(place), TOPIC_WRITES, row);
    // What was destroyed or cannot be read counts as not written.
    let read = |(lsn, time)| Some(Earlier::new(time, &content(tenant, lsn).ok()?.0, Opposes::Nothing));
    rows.into_iter().filter_map(read).collect()
}

/// What was held for a person.
fn held(tenant: &Tenant, (user, agent): Pair, place: &Place) -> Vec<Earlier> {
    let mut reviews: Vec<Review> = {
        let views = tenant.shared.views.read();
        let is_theirs =
            |review: &&Review| (review.owner, review.agent, review.layer) == (user, agent, place.layer);
        views.reviews.all().filter(is_theirs).cloned().collect()
    };
    reviews.sort_by_key(|review| std::cmp::Reverse(review.time));
    let read = |review: Review| {
        let (namespace, content) = review::said(tenant, &review)?;
        let opposes = if review.opposes.is_empty() { Opposes::Nothing } else { Opposes::OtherUsers };
        (namespace == place.namespace).then(|| Earlier::new(review.time, &content, opposes))
    };
    reviews.into_iter().take(TOPIC_WRITES).filter_map(read).collect()
}

/// What the gates refused, as far as it is kept for its author.
fn refused(tenant: &Tenant, call: &Call, place: &Place) -> Vec<Earlier> {
    let read = |kept::RefusedWrite { time, draft, against }: kept::RefusedWrite| {
        let request = draft.clone().check().ok()?;
        if (request.layer, &request.namespace) != (place.layer, &place.namespace) {
            return None;
        }
        let content = request.content.clone();
        let opposes = match against.is_empty() {
            true => Opposes::Nothing,
            false => {
                let asked = Asked::of(tenant, call, draft, request, (None, time)).ok()?;
                super::opposes(tenant, call, asked.is_for_others(), (false, &against))
            }
        };
        Some(Earlier::new(time, &content, opposes))
    };
    kept::refused_by_gates(tenant, &call.caller).into_iter().filter_map(read).collect()
}

/// Rows of a pair's own versions, newest first.
fn written_by<T>(
    tenant: &Tenant,
    (user, agent): Pair,
    place: Option<&Place>,
    most: usize,
    row: impl Fn(&Version) -> Option<T>,
) -> Vec<T> {
    let views = tenant.shared.views.read();
    let items = &views.items;
    let written = items.written_by(agent).rev().take(LOOK_BACK);
    let own = written.filter(|version| version.owner == user && version.origin.is_none());
    let here = own.filter(|version| {
        place.is_none_or(|place| {
            version.layer == place.layer && items.namespace_of(version) == place.namespace
        })
    });
    here.filter_map(row).take(most).collect()
}
