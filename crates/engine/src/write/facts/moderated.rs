//! Whether a write says again what a moderator took out of the shared memory.

use super::prints;
use crate::Call;
use crate::read::content;
use crate::tenant::Tenant;
use crate::write::Asked;
use serde_json::Value;
use std::collections::BTreeSet;
use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::gate::is_respelt;
use tabellion_core::item::{Content, Tier, TierWish, Triple};
use tabellion_core::log::Lsn;
use tabellion_core::text::{Analyser, as_read, content_words, words};

/// Statements of a user that others took back, and as many in quarantine, whose texts a write is compared with: the newest. By its
/// fingerprint the very same content is recognised among all.
const COMPARED_MAX: usize = 64;
/// The share of words that two texts have in common from which one is a near copy of the other.
const COMMON_MIN: f64 = 0.8;
/// Telling words that a statement has at least, to be recognised within another text.
const TELLING_MIN: usize = 3;
/// How many times as many telling words may stand where it is repeated.
const WIDER: usize = 2;

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

/// All that a content says, wherever it says it, as it is read: its key, text, triple, fields and tags.
fn whole(content: &Content) -> String {
    let mut parts: Vec<&str> =
        content.key.iter().map(String::as_str).chain([content.text.as_str()]).collect();
    if let Some(Triple { subject, predicate, object }) = &content.triple {
        parts.extend([subject.as_str(), predicate, object]);
    }
    let fields: Vec<String> = content.fields.values().map(texts_of).collect();
    parts.extend(fields.iter().chain(&content.tags).map(String::as_str));
    as_read(&parts.join(" ")).replace('_', " ")
}

/// The texts within a value of a field.
fn texts_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(texts_of).collect::<Vec<_>>().join(" "),
        Value::Object(members) => members.values().map(texts_of).collect::<Vec<_>>().join(" "),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null => String::new(),
    }
}

/// Whether two contents say the same: word for word, misspelt, reworded as the duplicate gate sees it, with few words changed
/// and none of them to the contrary, or the later one within more.
fn is_near_copy(earlier: &Content, later: &Content) -> bool {
    let both = [earlier, later].map(whole);
    let [one, other] = &both;
    let [a, b] = [one, other].map(|text| words(text).into_iter().collect::<BTreeSet<String>>());
    if !a.is_empty() && a == b || is_respelt(one, other) {
        return true;
    }
    let [old, new] = [earlier, later].map(|content| {
        let read = Content { text: as_read(&content.text), ..content.clone() };
        Claim::of(&read, &mut Analyser::default())
    });
    let common = a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64;
    let is_close = common >= COMMON_MIN && !names_other_things(one, &b) && !names_other_things(other, &a);
    old.says_the_same(&new)
        || ((is_close || is_within(earlier, other)) && contradiction(&old, &new, SIGMA_TOPIC).is_none())
}

/// Whether a text has all that a statement is about in one place, with little between: repeated among other words, or asked and
/// then affirmed.
fn is_within(statement: &Content, text: &str) -> bool {
    let mut said = content_words(&as_read(&statement.text));
    if said.len() < TELLING_MIN {
        said = content_words(&whole(statement));
    }
    let all: BTreeSet<&String> = said.iter().collect();
    let words = content_words(text);
    let width = (said.len() * WIDER).min(words.len()).max(1);
    let holds = |window: &[String]| all.iter().all(|word| window.contains(word));
    all.len() >= TELLING_MIN && holds(&words) && words.windows(width).any(holds)
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
