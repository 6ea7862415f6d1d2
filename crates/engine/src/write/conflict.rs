//! The statements that a write contradicts or replaces, as its author is shown them.
//!
//! Invariant (no text past its policies): a text is shown only if the caller's predicate admits the version and the read
//! policies show it, by the same code as any read.

use super::{Asked, Failed};
use crate::Call;
use crate::anomaly::{self, Opposes};
use crate::read;
use crate::reply::{Superseded, Written};
use crate::tenant::Tenant;
use tabellion_core::error::{Code, Refusal};
use tabellion_core::gate::Against;
use tabellion_core::id::VersionId;
use tabellion_core::item::{Operation, Tier};
use tabellion_core::view::{ItemsView, Version};

/// Contradicted statements of a refusal that are shown with their text.
const TEXTS_MAX: usize = 8;
/// Characters shown of such a text.
const TEXT_CHARS_MAX: usize = 1_000;

/// The versions that a version replaced as a newer statement: no earlier wording of its own item, unless it superseded that, and
/// no copy for others of what it replaced.
pub(super) fn superseded_by(items: &ItemsView, version: &Version) -> Vec<VersionId> {
    let item = |parent: &Version| items.item_of(parent).map(|item| item.id);
    let is_copy = |parent: &Version| {
        parent.origin.is_some() && items.parents_of(version).any(|other| item(other) == parent.origin)
    };
    let replaced = |parent: &&Version| {
        let is_another = version.operation == Operation::Supersede || !items.is_same_item(parent, version);
        is_another && !is_copy(parent)
    };
    items.parents_of(version).filter(replaced).map(|parent| parent.id).collect()
}

/// Replaced versions with their texts, as far as the caller may see them. What is hidden is left out.
pub(crate) fn shown(tenant: &Tenant, call: &Call, versions: &[VersionId]) -> Vec<Superseded> {
    let show = |version: &VersionId| {
        let item = read::shown_version(tenant, &call.caller, *version)?;
        Some(Superseded { item: item.id, version: *version, text: Some(shortened(&item.content.text)) })
    };
    versions.iter().filter_map(show).collect()
}

/// The refusal with the texts that the write contradicts.
pub(super) fn with_texts(tenant: &Tenant, call: &Call, mut refusal: Refusal) -> Refusal {
    if let Some(in_the_way) = &mut refusal.in_the_way {
        in_the_way.against = shown_against(tenant, call, std::mem::take(&mut in_the_way.against));
    }
    refusal
}

/// Contradicted statements with their texts, as far as the caller may see them.
pub(crate) fn shown_against(tenant: &Tenant, call: &Call, mut against: Vec<Against>) -> Vec<Against> {
    for one in against.iter_mut().take(TEXTS_MAX) {
        let item = read::shown_version(tenant, &call.caller, one.known.version);
        one.text = item.map(|item| shortened(&item.content.text));
    }
    against
}

fn shortened(text: &str) -> String {
    read::shortened(text, TEXT_CHARS_MAX)
}

/// What the gates found that a write speaks against, whatever became of it.
pub(super) fn opposes(
    tenant: &Tenant,
    call: &Call,
    asked: &Asked,
    result: &Result<Written, Failed>,
) -> Opposes {
    let replaced = |written: &Written| {
        // What takes the place of a known statement unasked speaks against it; an announced change does not.
        asked.request.replaces.is_none() && !written.superseded.is_empty()
    };
    let is_shared =
        |written: &Written| asked.tier == Tier::Shared || written.shared.is_some() || written.owed.is_some();
    let (is_for_others, code, replaces, against): (bool, Option<Code>, bool, &[Against]) = match result {
        Ok(written) => match &written.deferral {
            Some(deferral) => (asked.is_for_others(), Some(deferral.code), false, &written.against),
            None => (is_shared(written), None, replaced(written), &written.against),
        },
        Err(Failed::Early(refusal) | Failed::Recorded(refusal)) => {
            let against = refusal.in_the_way.as_ref().map_or(&[] as &[Against], |way| &way.against);
            (asked.is_for_others(), Some(refusal.code), false, against)
        }
    };
    let found = replaces || (code == Some(Code::Contradiction) && against.is_empty());
    let versions: Vec<VersionId> = against.iter().map(|one| one.known.version).collect();
    anomaly::opposes(tenant, call, is_for_others, (found, &versions))
}
