//! Relations as writes: how one is read, and what its triple must be. From there on it is a write like any other.

use super::read::read_write;
use super::request::{TripleDraft, WriteDraft};
use crate::error::{Code, Fault, Refusal};
use crate::item::{Layer, NODE_CHARS_MAX, RELATION, TYPE_CHARS_MAX, Triple, tidy_name};
use crate::text::{LEGIBLE, is_legible};
use serde_json::{Map, Value};

/// Relations in one call.
pub const RELATIONS_MAX: usize = 64;

/// The parts of a triple, as a relation has them beside its other fields.
const PARTS: [&str; 3] = ["subject", "predicate", "object"];

/// Reads the JSON form of a relation: a write with `subject`, `predicate` and `object` in place of `kind` and `triple`.
///
/// # Errors
/// When the body is not an object or names an identity.
pub fn read_relation(body: Value) -> Result<WriteDraft, Refusal> {
    let Value::Object(mut fields) = body else { return read_write(body) };
    // These are what makes it a relation; whoever sends them is told that they are not fields of one.
    let strange: Vec<&str> =
        ["kind", "triple"].into_iter().filter(|name| fields.remove(*name).is_some()).collect();
    let triple: Map<String, Value> =
        PARTS.iter().filter_map(|part| Some(((*part).to_owned(), fields.remove(*part)?))).collect();
    fields.insert("kind".to_owned(), Value::from(RELATION));
    fields.insert("triple".to_owned(), Value::Object(triple));
    let mut draft = read_write(Value::Object(fields)).map_err(relation_refused)?;
    let unknown =
        |name: &str| Fault::new(format!("/{name}"), Code::UnknownField, "one of the documented fields");
    draft.faults.extend(strange.into_iter().map(unknown));
    Ok(draft)
}

/// A refusal of a relation, with the paths of its own form.
#[must_use]
pub fn relation_refused(mut refusal: Refusal) -> Refusal {
    for fault in &mut refusal.errors {
        if let Some(part) = fault.path.strip_prefix("/triple/") {
            fault.path = format!("/{part}");
        }
    }
    refusal.message = refusal.message.replace("/triple/", "/");
    refusal
}

/// A draft with what makes a relation of it settled; any other draft as it is.
pub(super) fn settled(mut draft: WriteDraft) -> WriteDraft {
    if draft.kind.as_deref() != Some(RELATION) {
        return draft;
    }
    let mut faults = std::mem::take(&mut draft.faults);
    if draft.layer.as_deref() == Some(Layer::Working.as_str()) {
        let expected = "session, episodic, semantic or procedural: working memory has no relations";
        faults.push(Fault::new("/layer", Code::ConstraintViolation, expected));
    }
    match &mut draft.triple {
        Some(triple) => {
            tidied(triple, &mut faults);
            if draft.text.is_none() && !faults.iter().any(|fault| fault.path == "/text") {
                draft.text = Some(sentence(triple));
            }
        }
        None if faults.iter().any(|fault| fault.path == "/triple") => {}
        None => {
            let expected = "subject, predicate and object";
            faults.push(Fault::new("/triple", Code::MissingRequiredField, expected));
        }
    }
    draft.faults = faults;
    draft
}

fn tidied(TripleDraft { subject, predicate, object }: &mut TripleDraft, faults: &mut Vec<Fault>) {
    for (part, name, max) in [
        ("subject", subject, NODE_CHARS_MAX),
        ("predicate", predicate, TYPE_CHARS_MAX),
        ("object", object, NODE_CHARS_MAX),
    ] {
        let (path, expected) = (format!("/triple/{part}"), format!("1 to {max} characters {LEGIBLE}"));
        *name = name.as_deref().map(tidy_name);
        let code = match name.as_deref() {
            Some(name) if is_legible(name) && name.chars().count() <= max => continue,
            Some(_) => Code::ConstraintViolation,
            None if faults.iter().any(|fault| fault.path == path) => continue,
            None => Code::MissingRequiredField,
        };
        faults.push(Fault::new(path, code, expected));
        // One fault is enough: what stands here instead fits.
        *name = name.as_deref().map(|_| RELATION.to_owned());
    }
}

fn sentence(triple: &TripleDraft) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let [subject, predicate, object] = [&triple.subject, &triple.predicate, &triple.object].map(part);
    let sentence = Triple { subject, predicate, object }.sentence();
    // Nothing at all was said: the faults of the parts tell what is missing.
    if sentence.trim().is_empty() { RELATION.to_owned() } else { sentence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(body: Value) -> Vec<(String, Code)> {
        match read_relation(body).and_then(|draft| draft.check().map_err(relation_refused)) {
            Ok(_) => Vec::new(),
            Err(refusal) => refusal.errors.into_iter().map(|fault| (fault.path, fault.code)).collect(),
        }
    }

    /// CAL-16: a relation is read as a write of its kind; names are tidied and its text says the triple.
    #[test]
    fn a_relation_is_a_write() {
        let body =
            json!({"subject": " Ana  Maria", "predicate": "works_at", "object": "Acme ", "confidence": 0.9});
        let request = read_relation(body).unwrap().check().unwrap();
        assert_eq!((request.layer, request.confidence), (Layer::Episodic, 0.9));
        let triple = request.content.relation().unwrap();
        assert_eq!((triple.subject.as_str(), triple.object.as_str()), ("Ana Maria", "Acme"));
        assert_eq!(request.content.text, "Ana Maria works at Acme");
        let said = json!({"subject": "a", "predicate": "b", "object": "a", "text": "A self loop"});
        assert_eq!(read_relation(said).unwrap().check().unwrap().content.text, "A self loop");
    }

    /// CAL-16: what breaks a rule is named where the relation has it.
    #[test]
    fn every_fault_has_its_place() {
        let long = "x".repeat(10_000);
        let violation = |path: &str| (path.to_owned(), Code::ConstraintViolation);
        let missing = |path: &str| (path.to_owned(), Code::MissingRequiredField);
        assert_eq!(
            faults(json!({"subject": long, "predicate": "p", "object": "o"})),
            [violation("/subject")]
        );
        assert_eq!(
            faults(json!({"subject": "s", "predicate": long, "object": "o"})),
            [violation("/predicate")]
        );
        assert_eq!(
            faults(json!({"subject": "s", "object": " "})),
            [missing("/predicate"), violation("/object")]
        );
        assert_eq!(faults(json!({})), ["/subject", "/predicate", "/object"].map(missing));
        let whole = json!({"subject": "s", "predicate": "p", "object": "o", "kind": "x", "layer": "working"});
        assert_eq!(faults(whole), [("/kind".to_owned(), Code::UnknownField), violation("/layer")]);
        assert_eq!(read_relation(json!([])).unwrap_err().code, Code::Malformed);
        assert_eq!(read_relation(json!({"user": "x"})).unwrap_err().code, Code::IdentityInBody);
        // The same holds for an item that says that it is a relation.
        let bare = read_write(json!({"kind": RELATION, "text": "x"})).unwrap().check().unwrap_err();
        assert_eq!(bare.errors.first().map(|fault| fault.path.as_str()), Some("/triple"));
    }
}
