//! Whether a write says again what a moderator took out of the shared memory.

use crate::Call;
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::Asked;
use std::collections::BTreeSet;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::gate::is_respelt;
use tabellion_core::item::{Content, Tier};
use tabellion_core::log::Lsn;
use tabellion_core::text::{Analyser, words};

/// Statements of a user that others took back, and as many in quarantine, that a write is compared with: the newest.
const COMPARED_MAX: usize = 64;
/// The share of words that two texts have in common from which one is a near copy of the other.
const COMMON_MIN: f64 = 0.8;

/// Whether others would see a write, and it says what somebody else took back of its user or put under quarantine.
pub(crate) fn repeats_moderated(tenant: &Tenant, call: &Call, asked: &Asked) -> bool {
    let said = match (&asked.copy, asked.tier) {
        (Some(copy), _) => &copy.content,
        (None, Tier::Shared) => &asked.request.content,
        (None, Tier::Private) => return false,
    };
    let moderated: Vec<Lsn> = {
        let views = tenant.shared.views.read();
        let versions = views.items.moderated(call.caller.user(), COMPARED_MAX);
        versions.map(|version| version.lsn).collect()
    };
    // What was destroyed or cannot be read is not compared.
    let earlier = moderated.into_iter().filter_map(|lsn| content(tenant, lsn).ok());
    earlier.into_iter().any(|(earlier, _)| is_near_copy(&earlier, said))
}

/// Whether two contents say the same: word for word, misspelt, reworded as the duplicate gate sees it, or with few words changed
/// and none of them to the contrary.
fn is_near_copy(earlier: &Content, later: &Content) -> bool {
    let set = |content: &Content| -> BTreeSet<String> { words(&content.text).into_iter().collect() };
    let (a, b) = (set(earlier), set(later));
    if !a.is_empty() && a == b {
        return true;
    }
    if is_respelt(&earlier.text, &later.text) {
        return true;
    }
    let [old, new] = [earlier, later].map(|content| Claim::of(content, &mut Analyser::default()));
    let common = a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64;
    old.says_the_same(&new) || (common >= COMMON_MIN && contradiction(&old, &new, SIGMA_TOPIC).is_none())
}
