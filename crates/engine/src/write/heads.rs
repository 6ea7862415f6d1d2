//! The head that a write takes the place of: whether the writer sees it, and whether it is still the head.

use crate::sequencer::Objection;
use tabellion_core::access::Predicate;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{Replaces, WriteRequest};
use tabellion_core::id::{ItemId, VersionId};
use tabellion_core::time::Timestamp;
use tabellion_core::view::{Moment, Version, Views};

/// The head that a write replaces: visible, and the one that the writer expects.
pub(super) fn replaced<'a>(
    views: &'a Views,
    request: &WriteRequest,
    predicate: &Predicate,
    at: Moment,
) -> Result<Option<&'a Version>, Refusal> {
    let head_of = |item: ItemId| {
        views.items.visible_head(item, predicate, at).map(|(_, head)| head).ok_or_else(Refusal::not_found)
    };
    let head = match request.replaces {
        None => match request.expected_version {
            None => return Ok(None),
            Some(expected) => head_with(views, expected, predicate, at)?,
        },
        Some(Replaces::Item(item) | Replaces::Superseded(item)) => head_of(item)?,
        Some(Replaces::SupersededVersion(version)) => head_with(views, version, predicate, at)?,
    };
    contributed(head, predicate)?;
    match request.expected_version {
        Some(expected) if expected != head.id => Err(version_conflict()),
        _ => Ok(Some(head)),
    }
}

/// What is shared is changed by who contributed it alone.
pub(crate) fn contributed(version: &Version, predicate: &Predicate) -> Result<(), Refusal> {
    if version.owner == predicate.owner() {
        return Ok(());
    }
    Err(Refusal::new(Code::NotContributor, "another user contributed this item; write one of your own"))
}

/// A version that must be visible and a head.
fn head_with<'a>(
    views: &'a Views,
    id: VersionId,
    predicate: &Predicate,
    at: Moment,
) -> Result<&'a Version, Refusal> {
    let visible = |version: &&Version| predicate.admits(version);
    let version = views.items.find_version(id).filter(visible).ok_or_else(Refusal::not_found)?;
    let item = views.items.item_of(version).ok_or_else(Refusal::not_found)?;
    match views.items.head_at(item, at) {
        Some(head) if head.id == id => Ok(head),
        _ => Err(version_conflict()),
    }
}

/// The answer where the head is another one than the writer expects.
pub(crate) fn version_conflict() -> Refusal {
    let fault = Fault::new("/expected_version", Code::VersionConflict, "the item's head: read it again");
    Refusal::new(Code::VersionConflict, "the version named is not the item's head any more").with(vec![fault])
}

/// The head must be the one that the write was prepared against.
pub(super) fn still_head(
    views: &Views,
    item: ItemId,
    replaced: VersionId,
    now: Timestamp,
) -> Result<(), Objection> {
    let at = Moment { lsn: views.lsn(), time: now };
    let head = views.items.find_item(item).and_then(|item| views.items.head_at(item, at));
    if head.is_some_and(|head| head.id == replaced) { Ok(()) } else { Err(Objection::Stale) }
}
