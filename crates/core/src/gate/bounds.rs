//! Where an agent may write, and about what: only what its task is (GOV-11.9, 8.3).

use super::{GateFacts, GateName, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::item::Layer;

/// Where an agent may write; an empty list does not bind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Only to these layers.
    pub layers: Vec<Layer>,
    /// Only to these namespaces.
    pub namespaces: Vec<String>,
    /// Only items with these tags: at least one of them, and no other.
    pub tags: Vec<String>,
}

impl Bounds {
    /// What of a write lies outside, each with what would pass.
    fn faults(&self, request: &WriteRequest, facts: &GateFacts) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |path: &str, expected: String, found: String| {
            faults.push(Fault::new(path, Code::OutOfBounds, expected).found(found));
        };
        // What is replaced must lie within as well: moving it here would change it there.
        let mut layers =
            [request.layer].into_iter().chain(facts.replaced.as_ref().map(|version| version.layer));
        if let Some(layer) = layers.find(|layer| !self.layers.is_empty() && !self.layers.contains(layer)) {
            let words: Vec<&str> = self.layers.iter().map(|layer| layer.as_str()).collect();
            fault("/layer", one_of(&words), layer.as_str().to_owned());
        }
        let mut namespaces = [&request.namespace].into_iter().chain(&facts.replaced_in);
        let elsewhere = |name: &&String| !self.namespaces.is_empty() && !self.namespaces.contains(name);
        if let Some(namespace) = namespaces.find(elsewhere) {
            fault("/namespace", one_of(&self.namespaces), namespace.clone());
        }
        let tags = &request.content.tags;
        let within = !tags.is_empty() && tags.iter().all(|tag| self.tags.contains(tag));
        if !self.tags.is_empty() && !within {
            fault("/tags", format!("{} and no other", one_of(&self.tags)), tags.join(", "));
        }
        faults
    }
}

fn one_of<T: std::borrow::Borrow<str>>(words: &[T]) -> String {
    format!("one of {}", words.join(", "))
}

/// Refuses what lies outside of all bounds of the agent. Without any, it may write everywhere.
/// The refusal names what lies outside of those bounds that it comes closest to.
pub(super) fn check(request: &WriteRequest, facts: &GateFacts) -> Result<(), Refusal> {
    let outside = facts.bounds.iter().map(|one| one.faults(request, facts)).min_by_key(Vec::len);
    match outside {
        Some(faults) if !faults.is_empty() => Err(Refusal::new(
            Code::OutOfBounds,
            "this lies outside of what the agent may write: keep to its task, or ask an admin to change its bounds",
        )
        .at(GateName::Policy)
        .with(faults)),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::read_write;
    use proptest::prelude::*;
    use serde_json::json;

    fn request(layer: &str, namespace: &str, tags: &[&str]) -> WriteRequest {
        let body = json!({"text": "x", "layer": layer, "namespace": namespace, "tags": tags});
        read_write(body).unwrap().check().unwrap()
    }

    fn bounds(layers: &[Layer], namespaces: &[&str], tags: &[&str]) -> Bounds {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Bounds { layers: layers.to_vec(), namespaces: owned(namespaces), tags: owned(tags) }
    }

    fn bound(bounds: &[Bounds]) -> GateFacts {
        GateFacts { bounds: bounds.to_vec(), ..GateFacts::default() }
    }

    fn paths(request: &WriteRequest, facts: &GateFacts) -> Vec<String> {
        let refusal = check(request, facts).unwrap_err();
        assert_eq!((refusal.code, refusal.gate), (Code::OutOfBounds, Some(GateName::Policy)));
        refusal.errors.into_iter().map(|fault| fault.path).collect()
    }

    /// GOV-11.9, GOV-8.3: layer, namespace and tags must all be of the task; every fault is named.
    #[test]
    fn a_write_keeps_to_the_task() {
        let bound = bound(&[bounds(&[Layer::Episodic], &["ward"], &["medical", "urgent"])]);
        assert!(check(&request("episodic", "ward", &["medical", "urgent"]), &bound).is_ok());
        assert_eq!(paths(&request("session", "ward", &["medical"]), &bound), ["/layer"]);
        assert_eq!(
            paths(&request("episodic", "books", &["medical", "money"]), &bound),
            ["/namespace", "/tags"]
        );
        assert_eq!(paths(&request("episodic", "ward", &[]), &bound), ["/tags"]);
        let moved = GateFacts { replaced_in: Some("books".to_owned()), ..bound };
        assert_eq!(paths(&request("episodic", "ward", &["medical"]), &moved), ["/namespace"]);
    }

    /// GOV-11.9: an agent with two tasks keeps to one of them, and not to a mix of both.
    #[test]
    fn one_task_is_enough_and_a_mix_is_none() {
        let two = bound(&[bounds(&[Layer::Session], &["a"], &[]), bounds(&[Layer::Episodic], &["b"], &[])]);
        assert!(check(&request("session", "a", &[]), &two).is_ok());
        assert!(check(&request("episodic", "b", &["any"]), &two).is_ok());
        assert_eq!(paths(&request("session", "b", &[]), &two).len(), 1);
    }

    proptest! {
        /// GOV-11.9: who is not bound may write everywhere, and an empty list does not bind.
        #[test]
        fn without_bounds_all_is_open(layer in 1usize..4, namespace in "[a-z]{1,8}", tags in prop::collection::vec("[a-z]{1,5}", 0..4)) {
            let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
            let request = request(Layer::ALL[layer].as_str(), &namespace, &tags);
            prop_assert!(check(&request, &bound(&[])).is_ok());
            prop_assert!(check(&request, &bound(&[Bounds::default()])).is_ok());
        }
    }
}
