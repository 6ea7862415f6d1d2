//! A small set of detector classes, as the index keeps it for each word and a search carries it for its caller.

use super::detect::Class;

/// Some of the built-in classes; a bit each.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode,
)]
#[cbor(transparent)]
pub struct Classes(#[n(0)] u8);

impl Classes {
    /// None of them: who is bound by this sees every text whole.
    pub const NONE: Self = Self(0);

    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Class::ALL.iter().copied().collect()
    }

    /// Whether there is none in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether a class is among them.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 & bit(class) != 0
    }

    /// Whether the two have a class in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The classes of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The classes in it, in order.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.iter().copied().filter(move |class| self.contains(*class))
    }

    /// Every set of some of these, except the empty one.
    pub(super) fn parts(self) -> impl Iterator<Item = Self> {
        (1..=self.0).map(Self).filter(move |part| part.0 & !self.0 == 0)
    }
}

const fn bit(class: Class) -> u8 {
    1 << class as u8
}

impl From<Class> for Classes {
    fn from(class: Class) -> Self {
        Self(bit(class))
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Self {
        classes.into_iter().fold(Self::NONE, |all, class| all.union(class.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let two: Classes = [Class::Card, Class::Secret].into_iter().collect();
        assert_eq!(two.iter().collect::<Vec<_>>(), [Class::Card, Class::Secret]);
        assert!(two.contains(Class::Card) && !two.contains(Class::Email) && two.len() == 2);
        assert!(two.meets(Class::Secret.into()) && !two.meets(Class::Ip.into()) && !two.meets(Classes::NONE));
        assert_eq!(Classes::all().len(), Class::ALL.len());
        assert!(Classes::NONE.is_empty() && Classes::NONE.parts().next().is_none());
        assert_eq!(two.parts().count(), 3);
        assert_eq!(Classes::all().parts().count(), 127);
    }
}
