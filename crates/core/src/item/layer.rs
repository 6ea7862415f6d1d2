//! Which kind of memory an item belongs to, and how long it lives there by default.

use crate::time::Period;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $index:literal $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
        #[cbor(index_only)]
        pub enum $name { $($(#[$vdoc])* #[n($index)] $variant,)* }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word for it, the same everywhere.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The value that this word names.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }

            /// Every word, for messages.
            #[must_use]
            pub fn words() -> String {
                Self::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The layers of GOV-1.4, from the most fleeting to the most binding.
    Layer {
        /// Scratch of one agent; never in the log.
        0 Working = "working",
        /// One session's notes.
        1 Session = "session",
        /// What happened.
        2 Episodic = "episodic",
        /// What holds.
        3 Semantic = "semantic",
        /// How things are done.
        4 Procedural = "procedural",
    }
}

impl Layer {
    /// How long an item of this layer lives by the table of GOV-1.4; see [`crate::gate::Strictness::default_ttl`].
    #[must_use]
    pub const fn default_ttl(self) -> Option<Period> {
        match self {
            Self::Working => Some(Period::from_secs(15 * 60)),
            Self::Session => Some(Period::from_secs(8 * 3600)),
            Self::Episodic => Some(Period::from_days(90)),
            Self::Semantic | Self::Procedural => None,
        }
    }

    /// Whether this layer holds what others act on: what holds, and how things are done.
    #[must_use]
    pub const fn is_canonical(self) -> bool {
        matches!(self, Self::Semantic | Self::Procedural)
    }

    /// Whether writes of this layer outlive their session.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        matches!(self, Self::Episodic | Self::Semantic | Self::Procedural)
    }

    /// Whether writes of this layer are entries of the log.
    #[must_use]
    pub const fn is_logged(self) -> bool {
        !matches!(self, Self::Working)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-1.4: five layers with the lifetimes of the table; only working memory stays out of the log.
    #[test]
    fn layers_have_the_lifetimes_of_the_table() {
        let ttls: Vec<_> = Layer::ALL.iter().map(|layer| layer.default_ttl()).collect();
        let minutes = |n: u64| Some(Period::from_secs(n * 60));
        assert_eq!(ttls, [minutes(15), minutes(480), minutes(90 * 24 * 60), None, None]);
        assert_eq!(Layer::ALL.iter().filter(|layer| !layer.is_logged()).count(), 1);
        assert_eq!(Layer::from_word("semantic"), Some(Layer::Semantic));
        assert_eq!(Layer::from_word("SEMANTIC"), None);
    }
}
