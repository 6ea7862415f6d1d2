//! Holds a value against a compiled document and names every fault.
//!
//! Invariant (judging ends): each visit and each rule costs steps from one budget, and the depth is bounded, so a schema
//! that doubles its work at each reference costs no more than a long one. A value that cannot be judged within that is
//! refused.

use super::document::{Document, Node, NodeId, Rule};
use super::leaf::Range;
use super::pattern::Pattern;
use super::{FAULTS_MAX, step};
use crate::error::{Code, Fault};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Steps that one content may take: some tens of milliseconds, and a second with the worst of patterns.
const STEPS_MAX: usize = 1_000_000;
/// Visits within visits: `CHAIN_MAX` for each of the levels that a content may have.
const DEPTH_MAX: usize = 640;

/// Every fault of a value under a document, at most `FAULTS_MAX`.
pub(super) fn judge(document: &Document, value: &Value) -> Vec<Fault> {
    let mut judge = Judge { document, steps_left: STEPS_MAX, depth: 0, is_spent: false };
    let mut found = Found { faults: Vec::new(), max: FAULTS_MAX };
    judge.visit(Document::ROOT, &Spot { value, above: None }, &mut found);
    if judge.is_spent {
        let expected = format!("a content that its schema can judge in {STEPS_MAX} steps");
        return vec![Fault::new("", Code::ConstraintViolation, expected)];
    }
    found.faults
}

/// A value and the way to it.
struct Spot<'a> {
    value: &'a Value,
    above: Option<(&'a Spot<'a>, Step<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> Spot<'a> {
    fn below(&'a self, step: Step<'a>, value: &'a Value) -> Spot<'a> {
        Spot { value, above: Some((self, step)) }
    }

    fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut above = self.above.as_ref();
        while let Some((spot, next)) = above {
            steps.push(match next {
                Step::Member(name) => step(name),
                Step::Item(index) => index.to_string(),
            });
            above = spot.above.as_ref();
        }
        steps.iter().rev().flat_map(|step| ["/", step]).collect()
    }
}

/// Faults, up to a number.
struct Found {
    faults: Vec<Fault>,
    max: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.faults.len() >= self.max
    }

    /// Two ways to the same rule find the same fault.
    fn add(&mut self, fault: Fault) {
        if !self.is_full() && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn violated(&mut self, spot: &Spot<'_>, expected: impl Into<String>) {
        self.add(Fault::new(spot.path(), Code::ConstraintViolation, expected));
    }
}

struct Judge<'d> {
    document: &'d Document,
    steps_left: usize,
    depth: usize,
    is_spent: bool,
}

impl<'d> Judge<'d> {
    /// Takes steps from the budget; false once it is spent.
    fn pay(&mut self, steps: usize) -> bool {
        match self.steps_left.checked_sub(steps) {
            Some(left) => self.steps_left = left,
            None => self.is_spent = true,
        }
        !self.is_spent
    }

    fn visit(&mut self, id: NodeId, spot: &Spot<'_>, found: &mut Found) {
        let Some(node) = self.document.node(id) else { return };
        if self.depth >= DEPTH_MAX {
            self.is_spent = true;
        }
        if !self.pay(1) || found.is_full() {
            return;
        }
        self.depth += 1;
        self.judge_node(node, spot, found);
        self.depth -= 1;
    }

    fn judge_node(&mut self, node: &'d Node, spot: &Spot<'_>, found: &mut Found) {
        if node.never {
            found.violated(spot, "nothing: the schema admits no value here");
        }
        for leaf in &node.leaves {
            if !self.pay(1 + leaf.cost(spot.value)) {
                return;
            }
            let Some(wrong) = leaf.wrong(spot.value) else { continue };
            found.add(Fault::new(spot.path(), wrong.code, wrong.expected).found(wrong.actual));
            // What else is wrong with a value of another type is not worth a fault of its own.
            if wrong.code == Code::TypeMismatch {
                return;
            }
        }
        for rule in &node.rules {
            if !self.pay(1) || found.is_full() {
                return;
            }
            self.judge_rule(rule, spot, found);
        }
    }

    fn judge_rule(&mut self, rule: &'d Rule, spot: &Spot<'_>, found: &mut Found) {
        match rule {
            Rule::All(nodes) => nodes.iter().for_each(|node| self.visit(*node, spot, found)),
            Rule::Any(nodes) => self.any(nodes, spot, found),
            Rule::One(nodes) => self.one(nodes, spot, found),
            Rule::Not(node) => {
                if self.holds(*node, spot) {
                    found.violated(spot, "a value that the schema does not exclude");
                }
            }
            Rule::If { test, then, otherwise } => {
                let branch = if self.holds(*test, spot) { then } else { otherwise };
                branch.iter().for_each(|node| self.visit(*node, spot, found));
            }
            Rule::Items { first, rest } => self.items(first, *rest, spot, found),
            Rule::Contains(node, range) => self.contains(*node, *range, spot, found),
            Rule::Required(_)
            | Rule::RequiredWith(..)
            | Rule::Properties { .. }
            | Rule::Names(_)
            | Rule::With(..) => {
                if let Value::Object(members) = spot.value {
                    self.judge_members(rule, members, spot, found);
                }
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other rules are not about members")]
    fn judge_members(
        &mut self,
        rule: &'d Rule,
        members: &Map<String, Value>,
        spot: &Spot<'_>,
        found: &mut Found,
    ) {
        match rule {
            Rule::Required(names) => self.required(names, members, spot, found),
            Rule::RequiredWith(name, names) if members.contains_key(name) => {
                self.required(names, members, spot, found);
            }
            Rule::With(name, node) if members.contains_key(name) => self.visit(*node, spot, found),
            Rule::Names(node) => {
                for name in members.keys() {
                    let value = Value::String(name.clone());
                    self.visit(*node, &spot.below(Step::Member(name), &value), found);
                }
            }
            Rule::Properties { named, matching, others } => {
                let properties = Properties { named, matching, others: *others };
                members.iter().for_each(|(name, value)| {
                    self.member(&properties, name, &spot.below(Step::Member(name), value), found);
                });
            }
            _ => {}
        }
    }

    fn required(
        &mut self,
        names: &[String],
        members: &Map<String, Value>,
        spot: &Spot<'_>,
        found: &mut Found,
    ) {
        if !self.pay(names.len()) {
            return;
        }
        for name in names.iter().filter(|name| !members.contains_key(*name)) {
            let path = spot.below(Step::Member(name), &Value::Null).path();
            found.add(Fault::new(path, Code::MissingRequiredField, "a value: the schema requires it"));
        }
    }

    fn member(&mut self, properties: &Properties<'d>, name: &str, spot: &Spot<'_>, found: &mut Found) {
        let mut is_known = false;
        if let Some(node) = properties.named.get(name) {
            is_known = true;
            self.visit(*node, spot, found);
        }
        for (pattern, node) in properties.matching {
            if !self.pay(pattern.cost(name.len())) {
                return;
            }
            if pattern.is_in(name) {
                is_known = true;
                self.visit(*node, spot, found);
            }
        }
        if let (false, Some(node)) = (is_known, properties.others) {
            self.visit(node, spot, found);
        }
    }

    fn items(&mut self, first: &[NodeId], rest: Option<NodeId>, spot: &Spot<'_>, found: &mut Found) {
        let Value::Array(items) = spot.value else { return };
        for (index, item) in items.iter().enumerate() {
            let Some(node) = first.get(index).copied().or(rest) else { return };
            self.visit(node, &spot.below(Step::Item(index), item), found);
        }
    }

    fn contains(&mut self, node: NodeId, range: Range, spot: &Spot<'_>, found: &mut Found) {
        let Value::Array(items) = spot.value else { return };
        let fits = items.iter().enumerate();
        let count =
            fits.filter(|(index, item)| self.holds(node, &spot.below(Step::Item(*index), item))).count();
        if !range.holds(u64::try_from(count).unwrap_or(u64::MAX)) {
            found.violated(spot, range.of("items of the form that the schema describes"));
        }
    }

    fn any(&mut self, nodes: &[NodeId], spot: &Spot<'_>, found: &mut Found) {
        if !nodes.iter().any(|node| self.holds(*node, spot)) {
            found.violated(spot, format!("one of the {} forms that the schema allows", nodes.len()));
        }
    }

    fn one(&mut self, nodes: &[NodeId], spot: &Spot<'_>, found: &mut Found) {
        let count = nodes.iter().filter(|node| self.holds(**node, spot)).count();
        if count != 1 {
            let expected = format!("exactly one of the {} forms that the schema allows", nodes.len());
            let fault = Fault::new(spot.path(), Code::ConstraintViolation, expected);
            found.add(fault.found(format!("{count} of them")));
        }
    }

    /// Whether the value has no fault under this node. A spent budget is settled at the end, whatever this says.
    fn holds(&mut self, node: NodeId, spot: &Spot<'_>) -> bool {
        let mut first = Found { faults: Vec::new(), max: 1 };
        self.visit(node, spot, &mut first);
        first.faults.is_empty()
    }
}

/// What a schema says of an object's members.
struct Properties<'d> {
    named: &'d BTreeMap<String, NodeId>,
    matching: &'d [(Pattern, NodeId)],
    others: Option<NodeId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(schema: &Value, value: &Value) -> Vec<(String, Code)> {
        let document = Document::compile(schema).unwrap();
        judge(&document, value).into_iter().map(|fault| (fault.path, fault.code)).collect()
    }

    /// Values that pass, then values with the path of their one fault.
    #[expect(clippy::needless_pass_by_value, reason = "tables read better without references")]
    fn check(schema: Value, good: &[Value], bad: &[(Value, &str)]) {
        for value in good {
            assert_eq!(faults(&schema, value), [], "{schema} {value}");
        }
        for (value, path) in bad {
            let expected = [((*path).to_owned(), Code::ConstraintViolation)];
            assert_eq!(faults(&schema, value), expected, "{schema} {value}");
        }
    }

    /// GOV-2.1: types, and what a missing member is.
    #[test]
    fn types_and_required_members() {
        let schema = json!({"type": "object", "required": ["a", "b/c"], "properties": {"a": {"type": ["integer", "null"]}}});
        assert_eq!(faults(&schema, &json!({"a": 1.0, "b/c": 0})), []);
        assert_eq!(faults(&schema, &json!({"a": null, "b/c": 0})), []);
        assert_eq!(
            faults(&schema, &json!({"a": 1.5})),
            [("/b~1c".to_owned(), Code::MissingRequiredField), ("/a".to_owned(), Code::TypeMismatch)]
        );
        assert_eq!(faults(&schema, &json!([])), [(String::new(), Code::TypeMismatch)]);
    }

    /// GOV-2.1: enums, ranges and patterns.
    #[test]
    fn values_by_themselves() {
        check(
            json!({"enum": ["a", 1, {"b": [2]}]}),
            &[json!("a"), json!(1.0), json!({"b": [2.0]})],
            &[(json!("b"), "")],
        );
        check(json!({"const": null}), &[json!(null)], &[(json!(false), "")]);
        check(
            json!({"minimum": 1, "maximum": 5}),
            &[json!(1), json!(5.0), json!("x")],
            &[(json!(0.99), ""), (json!(6), "")],
        );
        check(
            json!({"exclusiveMinimum": 1, "exclusiveMaximum": 5}),
            &[json!(1.1)],
            &[(json!(1), ""), (json!(5.0), "")],
        );
        check(json!({"multipleOf": 0.01}), &[json!(19.99)], &[(json!(0.005), "")]);
        check(
            json!({"minLength": 2, "maxLength": 3.0}),
            &[json!("é\u{1f600}")],
            &[(json!("é"), ""), (json!("abcd"), "")],
        );
        check(json!({"pattern": "^a+$"}), &[json!("aa"), json!(5)], &[(json!("ab"), "")]);
        check(json!({"format": "date"}), &[json!("2026-11-15")], &[(json!("15.11."), "")]);
        check(json!({"format": "colour"}), &[json!("x")], &[]);
        check(json!(false), &[], &[(json!(1), "")]);
        check(json!({"unheard": 5, "title": []}), &[json!(1)], &[]);
    }

    /// GOV-2.1: cardinality and items.
    #[test]
    fn lists() {
        check(
            json!({"minItems": 1, "maxItems": 2}),
            &[json!([1])],
            &[(json!([]), ""), (json!([1, 2, 3]), "")],
        );
        check(json!({"uniqueItems": true}), &[json!([1, "1", [1]])], &[(json!([1, 2, 1.0]), "")]);
        check(
            json!({"prefixItems": [{"const": 1}], "items": {"const": 2}}),
            &[json!([]), json!([1, 2, 2])],
            &[(json!([1, 2, 3]), "/2"), (json!([2]), "/0")],
        );
        check(json!({"prefixItems": [true], "items": false}), &[json!([1])], &[(json!([1, 2]), "/1")]);
        check(
            json!({"contains": {"const": 1}, "maxContains": 2}),
            &[json!([1, 2, 1])],
            &[(json!([2]), ""), (json!([1, 1, 1]), "")],
        );
        check(json!({"contains": {"const": 1}, "minContains": 0}), &[json!([])], &[]);
    }

    /// GOV-2.1: optional members, and members that nobody named.
    #[test]
    fn members() {
        let schema = json!({"properties": {"a": {"const": 1}}, "patternProperties": {"^x-": {"const": 2}}, "additionalProperties": false});
        check(
            schema,
            &[json!({"a": 1, "x-b": 2}), json!({})],
            &[(json!({"a": 2}), "/a"), (json!({"x-b": 1}), "/x-b"), (json!({"b": 1}), "/b")],
        );
        check(
            json!({"propertyNames": {"maxLength": 2}}),
            &[json!({"ab": 1})],
            &[(json!({"abc": 1}), "/abc")],
        );
        check(
            json!({"minProperties": 1, "maxProperties": 1}),
            &[json!({"a": 1})],
            &[(json!({}), ""), (json!({"a": 1, "b": 2}), "")],
        );
        check(
            json!({"dependentSchemas": {"a": {"maxProperties": 1}}}),
            &[json!({"b": 1, "c": 1})],
            &[(json!({"a": 1, "b": 2}), "")],
        );
        let schema = json!({"dependentRequired": {"a": ["b"]}});
        assert_eq!(faults(&schema, &json!({"a": 1})), [("/b".to_owned(), Code::MissingRequiredField)]);
        assert_eq!(faults(&schema, &json!({"c": 1})), []);
    }

    #[test]
    fn combinations_and_references() {
        check(
            json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}),
            &[json!(2)],
            &[(json!(0), ""), (json!(4), "")],
        );
        check(
            json!({"anyOf": [{"const": 1}, {"type": "string"}]}),
            &[json!(1), json!("a")],
            &[(json!(2), "")],
        );
        check(
            json!({"oneOf": [{"minimum": 1}, {"minimum": 3}]}),
            &[json!(2)],
            &[(json!(0), ""), (json!(4), "")],
        );
        check(json!({"not": {"type": "string"}}), &[json!(2)], &[(json!("a"), "")]);
        check(
            json!({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 2}}),
            &[json!(20), json!(4)],
            &[(json!(12), ""), (json!(3), "")],
        );
        check(
            json!({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"const": 1}}}),
            &[json!(1)],
            &[(json!(2), "")],
        );
        let tree = json!({"properties": {"left": {"$ref": "#"}, "value": {"maximum": 9}}});
        check(
            tree,
            &[json!({"left": {"left": {"value": 1}}})],
            &[(json!({"left": {"left": {"value": 10}}}), "/left/left/value")],
        );
    }

    /// A fault that two ways lead to is told once; faults of the same value by other rules are told each.
    #[test]
    fn each_fault_is_told_once() {
        let schema = json!({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}, {"pattern": "^b"}], "$defs": {"a": {"minLength": 3}}});
        assert_eq!(faults(&schema, &json!("a")).len(), 2);
    }
}
