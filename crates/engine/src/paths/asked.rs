//! What a walk is asked for, checked: every fault is found before anything is looked up.

use crate::read::within;
use crate::reply::PathsQuery;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::item::{NODE_CHARS_MAX, TYPE_CHARS_MAX, tidy_name};
use tabellion_core::view::{DEPTH_MAX, Direction, Kind, Node, PATHS_MAX, RelationsView, Walk, Walked};

const DEPTH_DEFAULT: u64 = 3;
const PATHS_DEFAULT: u64 = 5;
/// Types that one walk may name.
const TYPES_MAX: usize = 32;

/// A walk that can be made.
pub(super) struct Asked<'a> {
    from: &'a str,
    to: Option<&'a str>,
    types: &'a [String],
    direction: Direction,
    depth: usize,
    limit: usize,
}

impl<'a> Asked<'a> {
    pub(super) fn of(query: &'a PathsQuery) -> Result<Self, Refusal> {
        let mut faults = Vec::new();
        if query.from.is_none() {
            faults.push(Fault::new("/from", Code::MissingRequiredField, name_rule(NODE_CHARS_MAX)));
        }
        check_name("/from", query.from.as_deref(), NODE_CHARS_MAX, &mut faults);
        check_name("/to", query.to.as_deref(), NODE_CHARS_MAX, &mut faults);
        if query.types.len() > TYPES_MAX {
            faults.push(Fault::new(
                "/types",
                Code::ConstraintViolation,
                format!("at most {TYPES_MAX} types"),
            ));
        }
        for (place, name) in query.types.iter().enumerate().take(TYPES_MAX) {
            check_name(&format!("/types/{place}"), Some(name), TYPE_CHARS_MAX, &mut faults);
        }
        let word = query.direction.as_deref().unwrap_or(Direction::Out.as_str());
        let direction = Direction::from_word(word).unwrap_or_else(|| {
            let expected = format!("one of {}", Direction::words());
            faults.push(Fault::new("/direction", Code::ConstraintViolation, expected));
            Direction::Out
        });
        let mut number = |number: Option<u64>, default: u64, max: usize, path: &str| {
            let number = within(number, default, max as u64, path).unwrap_or_else(|refusal| {
                faults.extend(refusal.errors);
                1
            });
            usize::try_from(number).unwrap_or(max)
        };
        let depth = number(query.depth, DEPTH_DEFAULT, DEPTH_MAX, "/depth");
        let limit = number(query.limit, PATHS_DEFAULT, PATHS_MAX, "/limit");
        if !faults.is_empty() {
            let message = "the walk cannot be made as it is; `errors` says why";
            return Err(Refusal::new(Code::SchemaInvalid, message).with(faults));
        }
        let from = query.from.as_deref().unwrap_or_default();
        Ok(Self { from, to: query.to.as_deref(), types: &query.types, direction, depth, limit })
    }

    /// The node where it begins, if it is known.
    pub(super) fn begins(&self, relations: &RelationsView) -> Option<Node> {
        relations.node(self.from)
    }

    /// Makes the walk, if its nodes and types are known; what is not known leads nowhere.
    pub(super) fn walk(&self, relations: &RelationsView, walk: impl FnOnce(&Walk<'_>) -> Walked) -> Walked {
        let Some(from) = self.begins(relations) else { return Walked::default() };
        let to = match self.to.map(|to| relations.node(to)) {
            Some(None) => return Walked::default(),
            found => found.flatten(),
        };
        let kinds: Vec<Kind> = self.types.iter().filter_map(|name| relations.kind(name)).collect();
        let kinds = (!self.types.is_empty()).then_some(kinds.as_slice());
        walk(&Walk { from, to, kinds, direction: self.direction, depth: self.depth, limit: self.limit })
    }
}

fn name_rule(max: usize) -> String {
    format!("1 to {max} characters, not blank")
}

fn check_name(path: &str, name: Option<&str>, max: usize, faults: &mut Vec<Fault>) {
    let fits = |name: &str| (1..=max).contains(&tidy_name(name).chars().count());
    if name.is_some_and(|name| !fits(name)) {
        faults.push(Fault::new(path, Code::ConstraintViolation, name_rule(max)));
    }
}
