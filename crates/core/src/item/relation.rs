//! Relations: items that tie two nodes together by a type, from one to the other.
//!
//! A relation is an item like any other: its kind says what it is, its triple says what it ties. A node is a name, or the id
//! of an item. This module knows how the ways to write a node or a type become one, and nothing of who may see them.

use super::{Content, Triple};
use crate::canonical::nfc;
use crate::id::ItemId;

/// The kind of a relation.
pub const RELATION: &str = "relation";
/// The longest name of a node, in characters.
pub const NODE_CHARS_MAX: usize = 256;
/// The longest name of a type, in characters.
pub const TYPE_CHARS_MAX: usize = 64;

impl Content {
    /// What it ties together, if it is a relation.
    #[must_use]
    pub fn relation(&self) -> Option<&Triple> {
        self.triple.as_ref().filter(|_| self.kind == RELATION)
    }
}

impl Triple {
    /// The items among its two ends: which part names it, and the item.
    pub fn items(&self) -> impl Iterator<Item = (&'static str, ItemId)> {
        let ends = [("subject", &self.subject), ("object", &self.object)];
        ends.into_iter().filter_map(|(part, name)| Some((part, node_item(name)?)))
    }

    /// What it says in a line, for a relation without a text of its own.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{} {} {}", self.subject, self.predicate.replace('_', " "), self.object)
    }
}

/// A name as it is kept: composed, without blanks around it, one blank between words.
#[must_use]
pub fn tidy_name(name: &str) -> String {
    nfc(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What a node is known by: its name, capitals or not. Ids of items have no capitals.
#[must_use]
pub fn node_key(name: &str) -> String {
    nfc(tidy_name(name).to_lowercase())
}

/// The item that a node is, if it is one.
#[must_use]
pub fn node_item(name: &str) -> Option<ItemId> {
    name.trim().parse().ok()
}

/// What a type is known by: its words in lower case, joined by `_`. `worksAt`, `works at` and `works_at` are one.
#[must_use]
pub fn type_key(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut lower = false;
    for c in tidy_name(name).chars() {
        if c.is_uppercase() && lower {
            spaced.push(' ');
        }
        lower = c.is_lowercase();
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let words: Vec<String> = spaced.split_whitespace().map(str::to_lowercase).collect();
    // A type of signs alone, such as `->`, is what it is.
    if words.is_empty() { node_key(name) } else { nfc(words.join("_")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAL-17: one type has one name, and one node too, however they are written.
    #[test]
    fn ways_to_write_a_name_become_one() {
        for name in ["works_at", "worksAt", "works at", " Works-At "] {
            assert_eq!(type_key(name), "works_at", "{name}");
        }
        assert_eq!(type_key("->"), "->");
        assert_ne!(type_key("inside"), type_key("located_in"));
        assert_eq!(node_key("  Ana  MARIA "), "ana maria");
        assert_eq!(node_key("e\u{301}"), node_key("\u{c9}"));
        let item = ItemId::from_bytes([7; 16]).to_string();
        assert_eq!(node_key(&item), item);
        assert_eq!(node_item(&format!(" {item} ")).map(|id| id.to_string()), Some(item));
        assert_eq!(node_item("itm_no"), None);
    }

    /// CAL-16: only a content of this kind with a triple is a relation.
    #[test]
    fn a_relation_is_a_kind_with_a_triple() {
        let triple = |part: &str| Triple {
            subject: part.to_owned(),
            predicate: "works_at".to_owned(),
            object: "Acme".to_owned(),
        };
        let note = Content { triple: Some(triple("Ana")), ..Content::plain("note", "x") };
        assert!(note.relation().is_none() && Content::plain(RELATION, "x").relation().is_none());
        let tie = Content { kind: RELATION.to_owned(), ..note };
        assert_eq!(tie.relation().map(Triple::sentence).as_deref(), Some("Ana works at Acme"));
        let item = ItemId::from_bytes([7; 16]);
        assert_eq!(triple(&item.to_string()).items().collect::<Vec<_>>(), [("subject", item)]);
    }
}
