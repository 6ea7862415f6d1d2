//! Whether a write says again what a moderator took out of the shared memory.

use super::prints;
use crate::Call;
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::Asked;
use std::collections::BTreeSet;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::gate::is_respelt;
use tabellion_core::item::{Content, Tier, TierWish};
use tabellion_core::log::Lsn;
use tabellion_core::text::{Analyser, words};

/// Statements of a user that others took back, and as many in quarantine, whose texts a write is compared with: the newest. By its
/// fingerprint the very same content is recognised among all.
const COMPARED_MAX: usize = 64;
/// The share of words that two texts have in common from which one is a near copy of the other.
const COMMON_MIN: f64 = 0.8;

/// Whether others would see a write, and it says what somebody else took back of its user or put under quarantine, or would give
/// them a copy anew of an item whose copy was. Unless it names the tier, such a change stays private anyway.
pub(crate) fn repeats_moderated(tenant: &Tenant, call: &Call, asked: &Asked) -> bool {
    let said = match (&asked.copy, asked.tier) {
        (Some(copy), _) => &copy.content,
        (None, Tier::Shared) => &asked.request.content,
        (None, Tier::Private) => return false,
    };
    let print = said.canonical().map(|canonical| prints(tenant, call, said, &canonical, None, Tier::Shared));
    let moderated: Vec<Lsn> = {
        let views = tenant.shared.views.read();
        let is_known = print.is_ok_and(|print| views.items.was_moderated(call.caller.user(), &print.content));
        let copy = asked.changes(&views).and_then(|item| views.items.copy_of(item));
        let copy = copy.filter(|_| asked.request.tier != TierWish::Auto);
        if is_known || copy.is_some_and(|copy| views.items.is_moderated(copy)) {
            return true;
        }
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
    let differ = |one: &Content, other: &BTreeSet<String>| names_other_things(&one.text, other);
    old.says_the_same(&new)
        || (common >= COMMON_MIN
            && !differ(earlier, &b)
            && !differ(later, &a)
            && contradiction(&old, &new, SIGMA_TOPIC).is_none())
}

/// Whether a text names a number or, within it, a capitalised word that the other text has not: then it is about something else.
fn names_other_things(text: &str, other: &BTreeSet<String>) -> bool {
    let is_name = |(place, word): (usize, &str)| {
        let begins_large = place > 0 && word.chars().any(char::is_uppercase);
        begins_large || word.chars().any(|c| c.is_ascii_digit())
    };
    let is_new = |word: &str| words(word).iter().any(|stem| !other.contains(stem));
    text.split_whitespace().enumerate().any(|(place, word)| is_name((place, word)) && is_new(word))
}
