//! What many versions have in common, as far as anybody's sight can depend on it (SHARE-34).

use crate::id::{AgentId, ResourceId};
use crate::item::{Content, Layer, Secrecy, Tier, label_of};
use crate::log::WrittenVersion;
use crate::view::Opened;

/// What many versions have in common. A caller sees all of a class that it may own, or nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, minicbor::Encode, minicbor::Decode)]
#[cbor(array)]
pub struct Class {
    /// Contributing agents.
    #[n(0)]
    pub agents: Vec<AgentId>,
    /// Consulted resources.
    #[n(1)]
    pub resources: Vec<ResourceId>,
    /// Labels, in order.
    #[n(2)]
    pub labels: Vec<String>,
    /// The sort of thing.
    #[n(3)]
    pub kind: String,
    /// Where it lives.
    #[n(4)]
    pub layer: Layer,
    /// Whose it is: its owner's or everyone's.
    #[n(5)]
    pub tier: Tier,
    /// How secret it is, and its domains.
    #[n(6)]
    pub secrecy: Secrecy,
}

/// What a class takes from a content.
#[derive(Debug, Default, serde::Deserialize)]
struct Told {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    secrecy: Secrecy,
}

impl Class {
    pub(super) fn of(written: &WrittenVersion, opened: &Opened) -> Self {
        let told: Told = match opened {
            Opened::Version(version) => serde_json::from_slice(&version.content).unwrap_or_default(),
            Opened::Nothing | Opened::Principal(_) | Opened::Policy(..) | Opened::Schema(_) => {
                Told::default()
            }
        };
        Self::made_of(written, told)
    }

    /// The class of a version that is about to be written with this content.
    #[must_use]
    pub fn to_be(written: &WrittenVersion, content: &Content) -> Self {
        Self::made_of(
            written,
            Told { kind: content.kind.clone(), tags: content.tags.clone(), secrecy: content.secrecy.clone() },
        )
    }

    fn made_of(written: &WrittenVersion, told: Told) -> Self {
        Self {
            agents: written.agents.clone(),
            resources: written.resources.clone(),
            labels: Self::labels_of(&told.tags),
            kind: told.kind,
            layer: written.layer,
            tier: written.tier,
            secrecy: told.secrecy,
        }
    }

    /// The labels among tags: those that begin with `label:`, in order and each once.
    #[must_use]
    pub fn labels_of(tags: &[String]) -> Vec<String> {
        let mut labels: Vec<String> =
            tags.iter().filter_map(|tag| label_of(tag)).map(str::to_owned).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}
