//! What in a text is personal or secret, and where: one detector a class, each in its own file.
//!
//! A detector looks at a folded text once, from left to right, and looks ahead and back by a bounded number of bytes.
//! It rather finds too much than too little where a check digit or a shape cannot tell.

mod card;
mod email;
mod groups;
mod iban;
mod ip;
mod named;
mod phone;
mod secret;
mod ssn;

use super::fold::Folded;
use super::stand_in::StandIns;
use crate::item::words;
use groups::Groups;
use std::collections::BTreeSet;
use std::ops::Range;

words! {
    /// What sort of thing a built-in detector finds. Where two find the same text, the first of these names it.
    Class {
        /// A bank account by its IBAN, check digits and length right.
        0 Iban = "iban",
        /// A payment card by its number, check digit right.
        1 Card = "card",
        /// An American social security number.
        2 Ssn = "ssn",
        /// An address for mail.
        3 Email = "email",
        /// An Internet address, version 4 or 6.
        4 Ip = "ip",
        /// A telephone number.
        5 Phone = "phone",
        /// A password, key or token: long and without pattern, or named as one.
        6 Secret = "secret",
    }
}

/// Something found in a text. `C` names what it is: a built-in class, or the name of a class that a policy brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected<C = Class> {
    /// What it is.
    pub class: C,
    /// Where it stands, in bytes, on character boundaries.
    pub range: Range<usize>,
}

/// Everything of these classes in a text, in order, without overlap.
#[must_use]
pub fn detect(text: &str, classes: &BTreeSet<Class>) -> Vec<Detected> {
    merged(found(text, classes, &StandIns::default()))
}

/// Everything of these classes, in no order, perhaps with overlap.
pub(super) fn found(text: &str, classes: &BTreeSet<Class>, stand_ins: &StandIns) -> Vec<Detected> {
    let folded = Folded::new(text, stand_ins);
    let bytes = folded.text().as_bytes();
    let groups = Groups::of(bytes);
    let mut all = Vec::new();
    for class in classes {
        let places = match class {
            Class::Iban => iban::find(bytes),
            Class::Card => card::find(&groups),
            Class::Ssn => ssn::find(&groups),
            Class::Email => email::find(folded.text()),
            Class::Ip => ip::find(&groups),
            Class::Phone => phone::find(&groups),
            Class::Secret => secret::find(bytes).into_iter().chain(named::find(folded.text())).collect(),
        };
        all.extend(places.iter().map(|place| Detected { class: *class, range: folded.back(place) }));
    }
    all
}

/// What overlaps becomes one, under the first of its classes; so does what touches and is of one class.
pub(super) fn merged<C: Ord + Clone>(mut all: Vec<Detected<C>>) -> Vec<Detected<C>> {
    all.retain(|one| !one.range.is_empty());
    all.sort_by(|a, b| (a.range.start, a.range.end, &a.class).cmp(&(b.range.start, b.range.end, &b.class)));
    let mut kept: Vec<Detected<C>> = Vec::with_capacity(all.len());
    for next in all {
        match kept.last_mut() {
            Some(last) if joins(last, &next) => {
                last.range.end = last.range.end.max(next.range.end);
                last.class = last.class.clone().min(next.class);
            }
            _ => kept.push(next),
        }
    }
    kept
}

fn joins<C: PartialEq>(last: &Detected<C>, next: &Detected<C>) -> bool {
    next.range.start < last.range.end || (next.range.start == last.range.end && next.class == last.class)
}
