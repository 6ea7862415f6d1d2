//! Schemas as a tenant registers them: every fault at once, hostile documents, and the laws of merging.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tabellion_core::canonical::canonical;
use tabellion_core::error::{Code, Fault};
use tabellion_core::item::{Content, Layer, Triple};
use tabellion_core::schema::{CompiledSchema, Constraint, Delta, MergePolicy, Rule, Schema, delta};

fn schema(document: Value) -> Schema {
    let (constraints, merge) = (Vec::new(), BTreeMap::new());
    Schema { kind: "note".to_owned(), layer: None, document, constraints, merge }
}

fn content(fields: Value) -> Content {
    let fields = serde_json::from_value(fields).unwrap();
    let (kind, text) = ("note".to_owned(), "The API listens on port 8080".to_owned());
    Content { fields, ..Content::plain(kind, text) }
}

fn service() -> Value {
    json!({
        "kind": "service",
        "layer": "semantic",
        "document": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["key"],
            "properties": {
                "key": {"type": "string", "maxLength": 64},
                "fields": {
                    "required": ["port"],
                    "properties": {
                        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                        "state": {"enum": ["up", "down"]},
                        "start": {"format": "date-time"},
                        "end": {"format": "date-time"}
                    }
                }
            }
        },
        "constraints": [
            {"id": "end-after-start", "description": "the end is not before the start",
             "compare": {"left": "/fields/start", "op": "<=", "right": "/fields/end"}},
            {"id": "one-owner", "description": "a team or a person", "one_of_present": ["/fields/team", "/fields/person"]},
            {"id": "some-tags", "description": "one to five tags", "cardinality": {"path": "/tags", "min": 0, "max": 5}},
            {"id": "hosts-differ", "description": "each host once", "unique": "/fields/hosts"},
            {"id": "end-has-reason", "description": "who ends it says why", "requires": {"if": "/fields/end", "then": "/fields/reason"}}
        ],
        "merge": {"hosts": "union", "state": "take_new", "/fields/text": "keep_existing", "text": "conflict"}
    })
}

fn places(faults: &[Fault]) -> Vec<(&str, Code)> {
    faults.iter().map(|fault| (fault.path.as_str(), fault.code)).collect()
}

/// GOV-2, acceptance: three faults of a content are named in one answer.
#[test]
fn three_faults_are_listed_together() {
    let compiled = Schema::read(service()).unwrap().compile().unwrap();
    let fields = json!({"port": "8080", "team": "core", "start": "2026-11-15T00:00:00Z", "end": "2026-11-14T00:00:00Z", "reason": "moved"});
    let faults = compiled.check(&content(fields));
    assert_eq!(
        places(&faults),
        [
            ("/key", Code::MissingRequiredField),
            ("/fields/port", Code::TypeMismatch),
            ("/fields/start", Code::ConstraintViolation),
        ]
    );
    assert_eq!(faults[1].expected.as_deref(), Some("integer"));
    assert_eq!(faults[1].actual.as_deref(), Some("string"));
    assert_eq!(faults[2].expected.as_deref(), Some("the end is not before the start (end-after-start)"));
}

/// GOV-2.2: a content without fault is accepted.
#[test]
fn a_content_that_fits_has_no_fault() {
    let compiled = Schema::read(service()).unwrap().compile().unwrap();
    let fitting = Content {
        key: Some("api".to_owned()),
        ..content(json!({"port": 8080, "person": "ann", "hosts": [1, 2]}))
    };
    assert_eq!(compiled.check(&fitting), []);
    assert_eq!(compiled.schema().layer, Some(Layer::Semantic));
}

/// A fault never repeats a text that somebody wrote.
#[test]
fn faults_repeat_no_text() {
    let secret = "hunter2-hunter2";
    let compiled = schema(json!({"properties": {"fields": {"additionalProperties": {"enum": ["a"], "pattern": "^a", "format": "uri", "maxLength": 3}}}}))
        .compile()
        .unwrap();
    let faults = compiled.check(&content(json!({"a": secret})));
    assert_eq!(faults.len(), 4);
    assert!(!format!("{faults:?}").contains(secret));
}

/// GOV-2.1: what is kept is what was registered, byte by byte, and old rows stay readable. Golden text: it must never change.
#[test]
fn a_schema_keeps_its_form() {
    let read = Schema::read(service()).unwrap();
    let bytes = canonical(&read).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), service());
    assert_eq!(serde_json::from_slice::<Schema>(&bytes).unwrap(), read);
    let rule = Rule::Cardinality { path: "/tags".to_owned(), min: None, max: Some(2) };
    let constraint = Constraint { id: "c".to_owned(), description: "d".to_owned(), rule };
    let small = Schema { constraints: vec![constraint], ..schema(json!(true)) };
    assert_eq!(
        String::from_utf8(canonical(&small).unwrap()).unwrap(),
        r#"{"constraints":[{"cardinality":{"max":2,"path":"/tags"},"description":"d","id":"c"}],"document":true,"kind":"note"}"#
    );
}

/// GOV-2.1: every fault of a schema's own form is named, with its path.
#[test]
fn faults_of_a_schema_are_listed_together() {
    let body = json!({
        "kind": "Big Kind", "layer": "deep", "colour": 1,
        "constraints": [
            5,
            {"id": "a", "description": " ", "unique": "fields"},
            {"id": "b", "description": "b", "compare": {"left": "/fields/a", "op": "=", "right": 5, "x": 1}},
            {"id": "c", "description": "c"},
            {"id": "d", "description": "d", "cardinality": {"path": "/tags", "min": 3, "max": 2}},
            {"id": "d", "description": "d", "requires": {"if": "/key", "then": "/tags"}, "note": 1}
        ],
        "merge": {"text": "union", "kind": "take_new", "x": "both", "/a": "union"}
    });
    let refusal = Schema::read(body).unwrap_err();
    assert_eq!(refusal.code, Code::SchemaInvalid);
    let mut found = places(&refusal.errors);
    found.sort_by_key(|(path, _)| *path);
    assert_eq!(
        found,
        [
            ("/colour", Code::UnknownField),
            ("/constraints/0", Code::TypeMismatch),
            ("/constraints/1/description", Code::ConstraintViolation),
            ("/constraints/1/unique", Code::ConstraintViolation),
            ("/constraints/2/compare/op", Code::ConstraintViolation),
            ("/constraints/2/compare/right", Code::TypeMismatch),
            ("/constraints/2/compare/x", Code::UnknownField),
            ("/constraints/3", Code::ConstraintViolation),
            ("/constraints/4/cardinality/max", Code::ConstraintViolation),
            ("/constraints/5/id", Code::ConstraintViolation),
            ("/constraints/5/note", Code::UnknownField),
            ("/document", Code::MissingRequiredField),
            ("/kind", Code::ConstraintViolation),
            ("/layer", Code::ConstraintViolation),
            ("/merge/kind", Code::ConstraintViolation),
            ("/merge/text", Code::ConstraintViolation),
            ("/merge/x", Code::ConstraintViolation),
            ("/merge/~1a", Code::ConstraintViolation),
        ]
    );
    assert_eq!(Schema::read(json!([])).unwrap_err().code, Code::Malformed);
}

/// GOV-2.1: a document that cannot be judged is refused when it is registered, not when something is written.
#[test]
fn documents_that_cannot_be_judged_are_refused() {
    let refused = |document: Value, expected: &[&str]| {
        let refusal = schema(document).compile().unwrap_err();
        let paths: Vec<&str> = refusal.errors.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, expected, "{}", refusal.message);
    };
    refused(
        json!({"type": "text", "minimum": "1", "enum": 5}),
        &["/document/type", "/document/enum", "/document/minimum"],
    );
    refused(json!({"properties": {"a/b": {"pattern": "(?=x)"}}}), &["/document/properties/a~1b/pattern"]);
    refused(json!({"$ref": "https://example.org/schema"}), &["/document/$ref"]);
    refused(json!({"$ref": "file:///etc/passwd"}), &["/document/$ref"]);
    refused(json!({"$ref": "#/$defs/none"}), &["/document/$ref"]);
    refused(json!({"$ref": "#name"}), &["/document/$ref"]);
    refused(json!({"items": [true]}), &["/document/items"]);
    refused(json!({"unevaluatedProperties": false}), &["/document/unevaluatedProperties"]);
    refused(json!({"$schema": "http://json-schema.org/draft-07/schema#"}), &["/document/$schema"]);
    refused(
        json!({"multipleOf": 0, "minLength": -1, "allOf": []}),
        &["/document/multipleOf", "/document/minLength", "/document/allOf"],
    );
    refused(json!({"pattern": "(\\w{100}){100}{100}"}), &["/document/pattern"]);
    // Circles that never reach a deeper value.
    refused(json!({"$ref": "#"}), &["/document"]);
    refused(
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}),
        &["/document"],
    );
    refused(json!({"if": true, "then": {"anyOf": [true, {"$ref": "#"}]}}), &["/document"]);
}

/// Limits of GOV-2.1's registry: size, depth, chains of references and patterns.
#[test]
fn documents_have_limits() {
    let code = |document: Value| schema(document).compile().unwrap_err().code;
    assert_eq!(code(json!({"enum": ["x".repeat(70_000)]})), Code::TooLarge);
    let nested = |depth: usize| (0..depth).fold(json!(true), |inner, _| json!({"not": inner}));
    assert_eq!(code(nested(40)), Code::TooDeep);
    assert!(schema(nested(31)).compile().is_ok());
    let chain: Map<String, Value> =
        (0..200).map(|i| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}))).collect();
    let mut document = json!({"$defs": chain, "$ref": "#/$defs/d0"});
    document["$defs"]["d200"] = json!(true);
    assert_eq!(code(document), Code::SchemaInvalid);
    let patterns: Map<String, Value> = (0..65).map(|i| (format!("^{i}$"), json!(true))).collect();
    assert_eq!(code(json!({"patternProperties": patterns})), Code::SchemaInvalid);
    let heavy = vec![json!({"pattern": "(a?b?c?d?){300}"}); 20];
    assert_eq!(code(json!({"allOf": heavy})), Code::SchemaInvalid);
}

fn branching(width: usize, levels: usize) -> CompiledSchema {
    let mut defs: Map<String, Value> = (0..levels)
        .map(|i| {
            let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
            (format!("d{i}"), json!({"allOf": vec![next; width]}))
        })
        .collect();
    defs.insert(format!("d{levels}"), json!({"required": ["key"]}));
    schema(json!({"$defs": defs, "$ref": "#/$defs/d0"})).compile().unwrap()
}

/// A schema whose work grows fourfold at each reference costs a budget, not the age of the universe. What cannot be judged is
/// refused, also within a negation.
#[test]
fn work_is_bounded() {
    assert_eq!(places(&branching(2, 5).check(&content(json!({})))), [("/key", Code::MissingRequiredField)]);
    assert_eq!(places(&branching(4, 14).check(&content(json!({})))), [("", Code::ConstraintViolation)]);
    let tree = json!({"$defs": {"t": {"anyOf": [
        {"type": "object", "additionalProperties": {"allOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}]}},
        {"const": 1}]}}, "not": {"properties": {"fields": {"$ref": "#/$defs/t"}}}});
    let deep = (0..20).fold(json!(1), |inner, _| json!({"a": inner}));
    let faults = schema(tree).compile().unwrap().check(&content(json!({"a": deep})));
    assert_eq!(places(&faults), [("", Code::ConstraintViolation)]);
}

/// Expressions that drive a backtracking matcher mad, on long texts.
#[test]
fn patterns_take_linear_time() {
    for pattern in ["^(a+)+$", "(a|a)*b", "(.*)*x", "^(\\w+\\s?)*$"] {
        let compiled = schema(json!({"properties": {"text": {"pattern": pattern}}})).compile().unwrap();
        let text = format!("{}!", "a".repeat(65_000));
        let faults = compiled.check(&Content { text, ..content(json!({})) });
        assert_eq!(places(&faults), [("/text", Code::ConstraintViolation)], "{pattern}");
    }
}

/// A deep content is refused before anything walks it; one at the limit is judged on a small stack.
#[test]
fn depth_is_bounded() {
    let list = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let recursive = schema(
        json!({"items": {"$ref": "#"}, "properties": {"fields": {"additionalProperties": {"$ref": "#"}}}}),
    );
    let compiled = recursive.compile().unwrap();
    assert_eq!(compiled.check(&content(json!({"a": list(29)}))), []);
    assert_eq!(
        places(&compiled.check(&content(json!({"a": list(100)})))),
        [("/fields", Code::ConstraintViolation)]
    );
    let chain: Map<String, Value> =
        (0..28).map(|i| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}))).collect();
    let mut document = json!({"$defs": chain, "$ref": "#/$defs/d0"});
    document["$defs"]["d28"] = json!({"items": {"$ref": "#"}, "additionalProperties": {"$ref": "#"}});
    let compiled = schema(document).compile().unwrap();
    let small_stack = std::thread::Builder::new().stack_size(1 << 20);
    let faults =
        small_stack.spawn(move || compiled.check(&content(json!({"a": list(15)})))).unwrap().join().unwrap();
    assert_eq!(faults, []);
}

/// A huge enum is one look-up; a long list of faults is cut.
#[test]
fn large_enums_and_many_faults() {
    let words: Vec<String> = (0..6_000).map(|i| format!("w{i}")).collect();
    let document = json!({"properties": {"fields": {"additionalProperties": {"items": {"enum": words}}}}});
    let compiled = schema(document).compile().unwrap();
    let good: Vec<String> = (0..5_000).map(|i| format!("w{i}")).collect();
    assert_eq!(compiled.check(&content(json!({"a": good}))), []);
    let faults = compiled.check(&content(json!({"a": vec![0; 5_000]})));
    assert_eq!(faults.len(), 100);
    assert!(faults[0].expected.as_ref().unwrap().len() < 300);
}

fn policies(entries: &[(&str, MergePolicy)]) -> BTreeMap<String, MergePolicy> {
    entries.iter().map(|(name, policy)| ((*name).to_owned(), *policy)).collect()
}

/// GOV-3.5, GOV-3.6: what a new content adds, field by field, under each policy.
#[test]
fn fields_merge_by_their_policy() {
    let check =
        |merge: &[(&str, MergePolicy)], existing: Value, new: Value, expected: Result<Value, &[&str]>| {
            let (existing, new) = (content(existing), content(new));
            let wanted = match expected {
                Ok(fields) if content(fields.clone()) == existing => Delta::Empty,
                Ok(fields) => Delta::Superset(content(fields)),
                Err(paths) => Delta::Conflicting(paths.iter().map(|path| (*path).to_owned()).collect()),
            };
            assert_eq!(delta(&existing, &new, &policies(merge)), wanted);
        };
    let (union, keep, take) = (MergePolicy::Union, MergePolicy::KeepExisting, MergePolicy::TakeNew);
    check(&[], json!({"a": 1}), json!({"a": 1.0}), Ok(json!({"a": 1})));
    check(&[], json!({"a": 1, "b": 2}), json!({"a": 1}), Ok(json!({"a": 1, "b": 2})));
    check(&[], json!({"a": 1}), json!({"b": 2}), Ok(json!({"a": 1, "b": 2})));
    check(&[], json!({"a": 1}), json!({"a": 2, "b": 2}), Err(&["/fields/a"]));
    check(&[], json!({"a": [1]}), json!({"a": [2]}), Err(&["/fields/a"]));
    check(&[("a", union)], json!({"a": [1, 2]}), json!({"a": [2.0, 3]}), Ok(json!({"a": [1, 2, 3]})));
    check(&[("a", union)], json!({"a": [1, 2]}), json!({"a": [2]}), Ok(json!({"a": [1, 2]})));
    check(
        &[("a", union)],
        json!({"a": {"x": 1, "l": [1]}}),
        json!({"a": {"y": 2, "l": [2]}}),
        Ok(json!({"a": {"x": 1, "l": [1, 2], "y": 2}})),
    );
    check(&[("a", union)], json!({"a": {"x/": 1}}), json!({"a": {"x/": 2}}), Err(&["/fields/a/x~1"]));
    check(&[("a", union)], json!({"a": 1}), json!({"a": 2}), Err(&["/fields/a"]));
    check(&[("a", keep)], json!({"a": 1}), json!({"a": 2}), Ok(json!({"a": 1})));
    check(&[("a", take)], json!({"a": 1}), json!({"a": 2}), Ok(json!({"a": 2})));
    check(&[("text", take)], json!({"text": 1}), json!({"text": 2}), Err(&["/fields/text"]));
    check(&[("/fields/text", take)], json!({"text": 1}), json!({"text": 2}), Ok(json!({"text": 2})));
}

/// GOV-3.5, GOV-3.6: the parts beside the fields.
#[test]
fn parts_merge_by_their_policy() {
    let base = content(json!({}));
    let with_key = |key: &str| Content { key: Some(key.to_owned()), ..base.clone() };
    let said = |text: &str| Content { text: text.to_owned(), ..base.clone() };
    let tagged =
        |tags: &[&str]| Content { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..base.clone() };
    let triple =
        Triple { subject: "api".to_owned(), predicate: "port".to_owned(), object: "8080".to_owned() };
    let stated = Content { triple: Some(triple), ..base.clone() };
    let none = policies(&[]);
    let conflict = |path: &str| Delta::Conflicting(vec![path.to_owned()]);
    assert_eq!(delta(&base, &with_key("a"), &none), Delta::Superset(with_key("a")));
    assert_eq!(delta(&with_key("a"), &base, &none), Delta::Empty);
    assert_eq!(delta(&with_key("a"), &with_key("b"), &none), conflict("/key"));
    assert_eq!(delta(&base, &stated, &none), Delta::Superset(stated.clone()));
    assert_eq!(delta(&said("a"), &said("b"), &none), Delta::Empty);
    assert_eq!(
        delta(&said("a"), &said("b"), &policies(&[("text", MergePolicy::TakeNew)])),
        Delta::Superset(said("b"))
    );
    assert_eq!(
        delta(&said("a"), &said("b"), &policies(&[("text", MergePolicy::Conflict)])),
        conflict("/text")
    );
    assert_eq!(
        delta(&tagged(&["a", "b"]), &tagged(&["b", "c", "c"]), &none),
        Delta::Superset(tagged(&["a", "b", "c"]))
    );
    let keep = policies(&[("tags", MergePolicy::KeepExisting)]);
    assert_eq!(delta(&tagged(&["a"]), &tagged(&["b"]), &keep), Delta::Empty);
    assert_eq!(delta(&base, &tagged(&["b"]), &keep), Delta::Superset(tagged(&["b"])));
    let other = Content { kind: "fact".to_owned(), ..base.clone() };
    assert_eq!(delta(&base, &other, &none), conflict("/kind"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-2..4_i32).prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "#",
            "#/$defs/a",
            "#/properties/a",
            "object",
            "string",
            "^a*$",
            "date-time"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let name = prop_oneof![
            "[a-c]",
            prop::sample::select(vec![
                "$ref",
                "$defs",
                "properties",
                "type",
                "enum",
                "const",
                "items",
                "prefixItems",
                "allOf",
                "anyOf",
                "oneOf",
                "not",
                "if",
                "then",
                "else",
                "required",
                "pattern",
                "patternProperties",
                "additionalProperties",
                "minimum",
                "multipleOf",
                "contains",
                "uniqueItems",
                "minLength",
                "dependentSchemas",
                "dependentRequired",
                "propertyNames",
                "format",
                "fields",
                "maxItems",
            ])
            .prop_map(str::to_owned),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["object", "array", "string", "integer"])
            .prop_map(|word| json!({"type": word})),
        (-2..4_i32).prop_map(|n| json!({"minimum": n, "multipleOf": 2})),
        any_json().prop_map(|value| json!({"enum": [value, 1]})),
        Just(json!({"pattern": "^a*$", "minLength": 1, "format": "uri"})),
        Just(json!({"required": ["a", "type"], "maxProperties": 3})),
        Just(json!({"uniqueItems": true, "minItems": 1})),
        prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b"]).prop_map(|to| json!({"$ref": to})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let inner = (inner.clone(), inner.clone(), inner);
        inner.prop_flat_map(|(a, b, c)| {
            prop::sample::select(vec![
                json!({"properties": {"a": a, "fields": b}, "additionalProperties": c}),
                json!({"patternProperties": {"^[a-c]": a}, "propertyNames": b}),
                json!({"prefixItems": [a], "items": b, "contains": c}),
                json!({"allOf": [a, b]}),
                json!({"anyOf": [a, b, c]}),
                json!({"oneOf": [a, b, c]}),
                json!({"if": a, "then": b, "else": c}),
                json!({"not": a, "dependentSchemas": {"a": b}}),
            ])
        })
    })
}

fn any_content() -> impl Strategy<Value = Content> {
    let value = prop_oneof![
        (0..3_i32).prop_map(Value::from),
        prop::collection::vec(0..4_i32, 0..4).prop_map(Value::from),
        prop::collection::btree_map("[xy]", 0..2_i32, 0..3).prop_map(|members| json!(members)),
    ];
    let fields = prop::collection::btree_map("[a-d]", value, 0..4);
    let key = prop::option::of("[k-l]");
    (fields, key, "[s-t]", prop::collection::vec("[m-p]", 0..4))
        .prop_map(|(fields, key, text, tags)| Content { key, text, tags, ..content(json!(fields)) })
}

fn any_policies() -> impl Strategy<Value = BTreeMap<String, MergePolicy>> {
    let name =
        prop::sample::select(vec!["a", "b", "c", "/fields/d", "text", "key", "tags"]).prop_map(str::to_owned);
    prop::collection::btree_map(name, prop::sample::select(MergePolicy::ALL.to_vec()), 0..6)
}

/// Every member of the second that the first lacks, or holds otherwise.
fn lacks<'a>(all: &'a Content, part: &'a Content) -> Vec<&'a String> {
    part.fields
        .iter()
        .filter(|(name, value)| all.fields.get(*name) != Some(value))
        .map(|(name, _)| name)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// GOV-2.1: no JSON, as a schema or as a content, makes the registry fail.
    #[test]
    fn any_json_is_judged(document in any_json(), body in any_json(), value in any_json()) {
        let _ = Schema::read(body);
        if let Ok(compiled) = schema(document).compile() {
            let first = compiled.check(&content(json!({"a": value})));
            prop_assert_eq!(&first, &compiled.check(&content(json!({"a": value}))));
        }
    }

    /// GOV-2.1: the same with documents that are schemas, which refer to each other and to themselves.
    #[test]
    fn any_schema_judges(root in any_document(), a in any_document(), b in any_document(), value in any_json()) {
        let document = json!({"allOf": [root], "$defs": {"a": a, "b": {"items": b}}});
        if let Ok(compiled) = schema(document).compile() {
            let faults = compiled.check(&content(json!({"a": value})));
            prop_assert!(faults.len() <= 100);
        }
    }

    /// GOV-3.5: a content adds nothing to itself.
    #[test]
    fn a_content_adds_nothing_to_itself(a in any_content(), merge in any_policies()) {
        prop_assert_eq!(delta(&a, &a, &merge), Delta::Empty);
    }

    /// GOV-3.6: merging keeps all that is known, takes in all that is new, and a second time changes nothing.
    #[test]
    fn merging_is_a_union(a in any_content(), b in any_content(), merge in any_policies()) {
        let Delta::Superset(merged) = delta(&a, &b, &merge) else { return Ok(()) };
        prop_assert_ne!(&merged, &a);
        prop_assert_eq!(delta(&merged, &b, &merge), Delta::Empty);
        let decided = |name: &&String| {
            let policy = merge.get(*name).or_else(|| merge.get(&format!("/fields/{name}")));
            policy.is_some_and(|policy| *policy != MergePolicy::Conflict)
        };
        prop_assert!(lacks(&merged, &a).iter().all(decided) && lacks(&merged, &b).iter().all(decided));
        prop_assert!(a.fields.keys().chain(b.fields.keys()).all(|name| merged.fields.contains_key(name)));
        if !merge.contains_key("tags") {
            prop_assert!(a.tags.iter().chain(&b.tags).all(|tag| merged.tags.contains(tag)));
        }
    }

    /// GOV-3.5: paths that conflict are those of the parts that differ.
    #[test]
    fn conflicts_name_what_differs(a in any_content(), b in any_content()) {
        let Delta::Conflicting(paths) = delta(&a, &b, &BTreeMap::new()) else { return Ok(()) };
        let mut differing: Vec<String> = lacks(&b, &a).into_iter().filter(|name| b.fields.contains_key(*name)).map(|name| format!("/fields/{name}")).collect();
        if a.key.is_some() && b.key.is_some() && a.key != b.key {
            differing.insert(0, "/key".to_owned());
        }
        prop_assert_eq!(paths, differing);
    }
}
