//! Which classes an agent or a resource is part of, and which are in a layer: what a change of the graphs can touch, and
//! nothing else (SHARE-36).

use super::Class;
use crate::id::{AgentId, ResourceId};
use crate::item::{Layer, Secrecy, Tier};
use roaring::RoaringBitmap;
use std::collections::HashMap;

/// Where a class lies, and how secret it is.
type Place = (Layer, Tier, Secrecy);

/// Classes by what they are made with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassLists {
    agents: HashMap<AgentId, RoaringBitmap>,
    resources: HashMap<ResourceId, RoaringBitmap>,
    places: HashMap<Place, RoaringBitmap>,
}

impl ClassLists {
    pub(super) fn of(classes: &[Class]) -> Self {
        let mut lists = Self::default();
        classes.iter().zip(0..).for_each(|(class, row)| lists.add(row, class));
        lists
    }

    /// Takes a class in; rows come in order.
    pub(super) fn add(&mut self, row: u32, class: &Class) {
        for agent in &class.agents {
            self.agents.entry(*agent).or_default().insert(row);
        }
        for resource in &class.resources {
            self.resources.entry(*resource).or_default().insert(row);
        }
        self.places.entry((class.layer, class.tier, class.secrecy.clone())).or_default().insert(row);
    }

    /// The classes that each agent contributed to.
    #[must_use]
    pub const fn by_agent(&self) -> &HashMap<AgentId, RoaringBitmap> {
        &self.agents
    }

    /// The classes that each resource was consulted for.
    #[must_use]
    pub const fn by_resource(&self) -> &HashMap<ResourceId, RoaringBitmap> {
        &self.resources
    }

    /// The classes of each layer, tier and secrecy.
    #[must_use]
    pub const fn by_place(&self) -> &HashMap<Place, RoaringBitmap> {
        &self.places
    }
}
