//! From a JSON Schema to rules that can be judged.
//!
//! Each part of the document becomes one node, whoever refers to it, so compiling ends even where parts refer to each
//! other. Invariant (references go deeper): a way through the nodes that stays at one value has no circle and at most
//! `CHAIN_MAX` steps. What this cannot judge is refused, never skipped in silence.

use super::format::Format;
use super::leaf::{Bound, JsonType, Leaf, Range};
use super::pattern::Pattern;
use super::{FAULTS_MAX, step};
use crate::error::{Code, Fault};
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, HashMap};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// References and combinations that follow one another at the same value.
const CHAIN_MAX: usize = 32;
const PATTERNS_MAX: usize = 64;
const PATTERNS_BYTES_MAX: usize = 2 << 20;

/// Keywords that restrict and that are not judged here.
const NOT_JUDGED: [&str; 5] =
    ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

/// The place of a node in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(usize);

/// A part of a schema, compiled.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// Rules about the value by itself; the type comes first.
    pub(super) leaves: Vec<Leaf>,
    /// Rules that lead to other nodes.
    pub(super) rules: Vec<Rule>,
    /// Whether nothing passes.
    pub(super) never: bool,
}

/// A rule about what is within a value, or a combination of other nodes.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    Required(Vec<String>),
    RequiredWith(String, Vec<String>),
    Properties {
        named: BTreeMap<String, NodeId>,
        matching: Vec<(Pattern, NodeId)>,
        others: Option<NodeId>,
    },
    Names(NodeId),
    Items {
        first: Vec<NodeId>,
        rest: Option<NodeId>,
    },
    Contains(NodeId, Range),
    With(String, NodeId),
    /// All of these hold; a reference is one of them.
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    One(Vec<NodeId>),
    Not(NodeId),
    If {
        test: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
}

impl Rule {
    /// The nodes that judge the same value as this rule does.
    fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::All(nodes) | Self::Any(nodes) | Self::One(nodes) => nodes.clone(),
            Self::Not(node) | Self::With(_, node) => vec![*node],
            Self::If { test, then, otherwise } => {
                [Some(*test), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::Required(_)
            | Self::RequiredWith(..)
            | Self::Properties { .. }
            | Self::Names(_)
            | Self::Items { .. }
            | Self::Contains(..) => Vec::new(),
        }
    }
}

/// A compiled document; its first node is the root.
#[derive(Debug, Clone)]
pub(super) struct Document {
    nodes: Vec<Node>,
}

impl Document {
    pub(super) const ROOT: NodeId = NodeId(0);

    /// The document compiled, or all that is wrong with it, by paths that begin with `/document`.
    pub(super) fn compile(root: &Value) -> Result<Self, Vec<Fault>> {
        let mut compiler = Compiler::new(root);
        compiler.run();
        let mut faults = compiler.faults;
        if faults.is_empty() {
            let chain = chain_fault(&compiler.nodes).map(|(node, expected)| {
                Fault::new(path(&compiler.places, node), Code::ConstraintViolation, expected)
            });
            faults.extend(chain);
        }
        if faults.is_empty() { Ok(Self { nodes: compiler.nodes }) } else { Err(faults) }
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }
}

/// Where a node stands: below another, or where a reference points.
struct Place {
    above: Option<NodeId>,
    /// One or more steps, each with its slash.
    steps: String,
}

fn path(places: &[Place], node: NodeId) -> String {
    let mut steps = Vec::new();
    let mut next = places.get(node.0);
    while let Some(place) = next {
        steps.push(place.steps.as_str());
        next = place.above.and_then(|above| places.get(above.0));
    }
    steps.push("/document");
    steps.reverse();
    steps.concat()
}

/// The first node on a circle or on top of a chain that is too long, and what would pass.
fn chain_fault(nodes: &[Node]) -> Option<(NodeId, String)> {
    let below: Vec<Vec<NodeId>> =
        nodes.iter().map(|node| node.rules.iter().flat_map(Rule::in_place).collect()).collect();
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (id, children) in below.iter().enumerate() {
        for child in children {
            above.get_mut(child.0)?.push(id);
        }
    }
    let mut waits: Vec<usize> = below.iter().map(Vec::len).collect();
    let mut heights = vec![0_usize; nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|id| waits.get(*id) == Some(&0)).collect();
    while let Some(id) = ready.pop() {
        let height = heights.get(id)? + 1;
        if height > CHAIN_MAX {
            return Some((NodeId(id), format!("at most {CHAIN_MAX} references one after the other")));
        }
        for parent in above.get(id)? {
            let (wait, known) = (waits.get_mut(*parent)?, heights.get_mut(*parent)?);
            *wait = wait.saturating_sub(1);
            *known = height.max(*known);
            if *wait == 0 {
                ready.push(*parent);
            }
        }
    }
    let circle = waits.iter().position(|wait| *wait > 0)?;
    Some((NodeId(circle), "a reference that does not lead back to itself at the same value".to_owned()))
}

struct Compiler<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    places: Vec<Place>,
    /// Parts that have a node, by where they lie in memory: the document stays in place meanwhile.
    known: HashMap<*const Value, NodeId>,
    open: Vec<(NodeId, &'a Value)>,
    faults: Vec<Fault>,
    patterns: usize,
    patterns_bytes: usize,
}

/// A part under work: its node and its keywords.
#[derive(Clone, Copy)]
struct Part<'a> {
    id: NodeId,
    keywords: &'a Map<String, Value>,
}

impl<'a> Compiler<'a> {
    fn new(root: &'a Value) -> Self {
        let mut compiler = Self {
            root,
            nodes: Vec::new(),
            places: Vec::new(),
            known: HashMap::new(),
            open: Vec::new(),
            faults: Vec::new(),
            patterns: 0,
            patterns_bytes: 0,
        };
        compiler.node(root, Place { above: None, steps: String::new() });
        compiler
    }

    fn run(&mut self) {
        while let Some((id, part)) = self.open.pop() {
            if self.faults.len() >= FAULTS_MAX {
                return;
            }
            let node = self.compile(id, part);
            if let Some(slot) = self.nodes.get_mut(id.0) {
                *slot = node;
            }
        }
    }

    /// The node of a part, made at its first mention.
    fn node(&mut self, part: &'a Value, place: Place) -> NodeId {
        if let Some(id) = self.known.get(&std::ptr::from_ref(part)) {
            return *id;
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.places.push(place);
        self.known.insert(std::ptr::from_ref(part), id);
        self.open.push((id, part));
        id
    }

    fn compile(&mut self, id: NodeId, part: &'a Value) -> Node {
        match part {
            Value::Bool(all) => Node { never: !all, ..Node::default() },
            Value::Object(keywords) => self.part(Part { id, keywords }),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let fault = Fault::new(path(&self.places, id), Code::TypeMismatch, "object or boolean");
                self.faults.push(fault.found(JsonType::of(part).as_str()));
                Node::default()
            }
        }
    }

    fn part(&mut self, part: Part<'a>) -> Node {
        self.dialect(part);
        let mut leaves = Vec::new();
        leaves.extend(self.types(part));
        leaves.extend(self.values(part));
        self.numbers(part, &mut leaves);
        self.texts(part, &mut leaves);
        self.counts(part, &mut leaves);
        let mut rules = Vec::new();
        rules.extend(self.string_list(part, "required").map(Rule::Required));
        self.dependents(part, &mut rules);
        rules.extend(self.properties(part));
        rules.extend(self.child(part, "propertyNames").map(Rule::Names));
        rules.extend(self.items(part));
        rules.extend(self.contains(part));
        self.combinations(part, &mut rules);
        rules.extend(self.reference(part).map(|node| Rule::All(vec![node])));
        Node { leaves, rules, never: false }
    }

    fn fault(&mut self, part: Part<'a>, name: &str, code: Code, expected: &str) {
        let path = format!("{}/{}", path(&self.places, part.id), step(name));
        self.faults.push(Fault::new(path, code, expected));
    }

    fn mismatch(&mut self, part: Part<'a>, name: &str, expected: &str) {
        self.fault(part, name, Code::TypeMismatch, expected);
    }

    fn refuse(&mut self, part: Part<'a>, name: &str, expected: &str) {
        self.fault(part, name, Code::ConstraintViolation, expected);
    }

    fn dialect(&mut self, part: Part<'a>) {
        for name in NOT_JUDGED.into_iter().filter(|name| part.keywords.contains_key(*name)) {
            self.refuse(part, name, "absent: this keyword is not judged here");
        }
        if part.id != Document::ROOT && part.keywords.contains_key("$id") {
            self.refuse(part, "$id", "absent: one document, one id");
        }
        let other =
            |dialect: &Value| dialect.as_str().map(|text| text.trim_end_matches('#')) != Some(DIALECT);
        if part.keywords.get("$schema").is_some_and(other) {
            self.refuse(part, "$schema", DIALECT);
        }
    }

    /// What `read` makes of a keyword's value, or a fault that names what would pass.
    fn keyword<T>(
        &mut self,
        part: Part<'a>,
        name: &str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = part.keywords.get(name)?;
        let found = read(value);
        if found.is_none() {
            self.mismatch(part, name, expected);
        }
        found
    }

    fn types(&mut self, part: Part<'a>) -> Option<Leaf> {
        let word = |value: &Value| value.as_str().and_then(JsonType::from_word);
        let read = |value: &Value| match value.as_array() {
            Some(words) if !words.is_empty() && words.len() <= JsonType::ALL.len() => {
                words.iter().map(word).collect()
            }
            _ => word(value).map(|kind| vec![kind]),
        };
        let expected = "null, boolean, integer, number, string, array, object, or a list of these";
        self.keyword(part, "type", expected, read).map(Leaf::Type)
    }

    fn values(&mut self, part: Part<'a>) -> Vec<Leaf> {
        let listed = self.keyword(part, "enum", "a list of values", Value::as_array);
        let only = part.keywords.get("const").map(std::slice::from_ref);
        listed.map(Vec::as_slice).into_iter().chain(only).map(Leaf::one_of).collect()
    }

    fn number(&mut self, part: Part<'a>, name: &str) -> Option<Number> {
        self.keyword(part, name, "number", |value| value.as_number().cloned())
    }

    fn numbers(&mut self, part: Part<'a>, leaves: &mut Vec<Leaf>) {
        let bounds = [
            ("minimum", Bound::AtLeast),
            ("exclusiveMinimum", Bound::MoreThan),
            ("maximum", Bound::AtMost),
            ("exclusiveMaximum", Bound::LessThan),
        ];
        for (name, bound) in bounds {
            leaves.extend(self.number(part, name).map(|limit| Leaf::Bound(bound, limit)));
        }
        if let Some(size) = self.number(part, "multipleOf") {
            if size.as_f64().is_some_and(|size| size > 0.0) {
                leaves.push(Leaf::MultipleOf(size));
            } else {
                self.refuse(part, "multipleOf", "a number more than 0");
            }
        }
    }

    fn texts(&mut self, part: Part<'a>, leaves: &mut Vec<Leaf>) {
        if let Some(source) = self.keyword(part, "pattern", "string", Value::as_str) {
            leaves.extend(self.pattern(part, "pattern", source).map(Leaf::Matches));
        }
        let word = self.keyword(part, "format", "string", Value::as_str);
        leaves.extend(word.and_then(Format::from_word).map(Leaf::Format));
    }

    fn pattern(&mut self, part: Part<'a>, name: &str, source: &str) -> Option<Pattern> {
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX || self.patterns_bytes > PATTERNS_BYTES_MAX {
            self.refuse(part, name, &format!("at most {PATTERNS_MAX} patterns in a schema, small together"));
            return None;
        }
        let pattern = Pattern::compile(source);
        match &pattern {
            Some(pattern) => self.patterns_bytes += pattern.size(),
            None => self.refuse(
                part,
                name,
                "a regular expression of limited size, without looking ahead or behind and without references back",
            ),
        }
        pattern
    }

    fn count(&mut self, part: Part<'a>, name: &str) -> Option<u64> {
        let whole = |value: &Value| value.as_u64().or_else(|| whole_real(value));
        self.keyword(part, name, "a whole number, not negative", whole)
    }

    fn range(&mut self, part: Part<'a>, min: &str, max: &str) -> Option<Range> {
        let range = Range { min: self.count(part, min), max: self.count(part, max) };
        (range.min.is_some() || range.max.is_some()).then_some(range)
    }

    fn counts(&mut self, part: Part<'a>, leaves: &mut Vec<Leaf>) {
        leaves.extend(self.range(part, "minLength", "maxLength").map(Leaf::Length));
        leaves.extend(self.range(part, "minItems", "maxItems").map(Leaf::Items));
        leaves.extend(self.range(part, "minProperties", "maxProperties").map(Leaf::Members));
        if self.keyword(part, "uniqueItems", "boolean", Value::as_bool) == Some(true) {
            leaves.push(Leaf::Unique);
        }
    }

    fn string_list(&mut self, part: Part<'a>, name: &str) -> Option<Vec<String>> {
        self.keyword(part, name, "a list of strings", strings)
    }

    fn dependents(&mut self, part: Part<'a>, rules: &mut Vec<Rule>) {
        let object = Value::as_object;
        if let Some(members) = self.keyword(part, "dependentRequired", "object", object) {
            for (name, needed) in members {
                match strings(needed) {
                    Some(needed) => rules.push(Rule::RequiredWith(name.clone(), needed)),
                    None => self.mismatch(part, "dependentRequired", "lists of strings"),
                }
            }
        }
        let schemas = self.members(part, "dependentSchemas").unwrap_or_default();
        rules.extend(schemas.into_iter().map(|(name, node)| Rule::With(name, node)));
    }

    fn child(&mut self, part: Part<'a>, name: &str) -> Option<NodeId> {
        let value = part.keywords.get(name)?;
        Some(self.node(value, Place { above: Some(part.id), steps: format!("/{name}") }))
    }

    fn children(&mut self, part: Part<'a>, name: &str) -> Option<Vec<NodeId>> {
        let not_empty = |value: &'a Value| value.as_array().filter(|list| !list.is_empty());
        let list = self.keyword(part, name, "a list of schemas, not empty", not_empty)?;
        let place = |index: usize| Place { above: Some(part.id), steps: format!("/{name}/{index}") };
        Some(list.iter().enumerate().map(|(index, value)| self.node(value, place(index))).collect())
    }

    fn members(&mut self, part: Part<'a>, name: &str) -> Option<BTreeMap<String, NodeId>> {
        let members = self.keyword(part, name, "object", Value::as_object)?;
        let place = |member: &str| Place { above: Some(part.id), steps: format!("/{name}/{}", step(member)) };
        let nodes = members.iter().map(|(member, value)| (member.clone(), self.node(value, place(member))));
        Some(nodes.collect())
    }

    fn properties(&mut self, part: Part<'a>) -> Option<Rule> {
        let named = self.members(part, "properties");
        let sources = self.members(part, "patternProperties");
        let others = self.child(part, "additionalProperties");
        if named.is_none() && sources.is_none() && others.is_none() {
            return None;
        }
        let mut matching = Vec::new();
        for (source, node) in sources.unwrap_or_default() {
            let pattern = self.pattern(part, "patternProperties", &source);
            matching.extend(pattern.map(|pattern| (pattern, node)));
        }
        Some(Rule::Properties { named: named.unwrap_or_default(), matching, others })
    }

    fn items(&mut self, part: Part<'a>) -> Option<Rule> {
        let first = self.children(part, "prefixItems");
        let rest = self.child(part, "items");
        (first.is_some() || rest.is_some()).then(|| Rule::Items { first: first.unwrap_or_default(), rest })
    }

    fn contains(&mut self, part: Part<'a>) -> Option<Rule> {
        let node = self.child(part, "contains")?;
        let min = self.count(part, "minContains").unwrap_or(1);
        Some(Rule::Contains(node, Range { min: Some(min), max: self.count(part, "maxContains") }))
    }

    fn combinations(&mut self, part: Part<'a>, rules: &mut Vec<Rule>) {
        rules.extend(self.children(part, "allOf").map(Rule::All));
        rules.extend(self.children(part, "anyOf").map(Rule::Any));
        rules.extend(self.children(part, "oneOf").map(Rule::One));
        rules.extend(self.child(part, "not").map(Rule::Not));
        if let Some(test) = self.child(part, "if") {
            let (then, otherwise) = (self.child(part, "then"), self.child(part, "else"));
            rules.push(Rule::If { test, then, otherwise });
        }
    }

    /// The node that a reference within this document names.
    fn reference(&mut self, part: Part<'a>) -> Option<NodeId> {
        let text = self.keyword(part, "$ref", "string", Value::as_str)?;
        let pointer =
            text.strip_prefix('#').and_then(unescape).filter(|p| p.is_empty() || p.starts_with('/'));
        let Some(pointer) = pointer else {
            self.refuse(part, "$ref", "a reference within this document, such as #/$defs/port");
            return None;
        };
        match self.root.pointer(&pointer) {
            Some(target) => Some(self.node(target, Place { above: None, steps: steps(&pointer) })),
            None => {
                self.refuse(part, "$ref", "a reference to a part that is there");
                None
            }
        }
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// A number such as 3.0, which is whole all the same.
fn whole_real(value: &Value) -> Option<u64> {
    let real = value.as_f64()?;
    (real.fract() == 0.0 && (0.0..=9e15).contains(&real)).then_some(real as u64)
}

/// A pointer whose steps are cut to a length that fits an answer.
fn steps(pointer: &str) -> String {
    pointer.chars().take(256).collect()
}

/// The text of a URI's fragment.
fn unescape(fragment: &str) -> Option<String> {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
