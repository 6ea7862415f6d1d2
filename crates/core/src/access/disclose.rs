//! The last step of a read: what leaves the engine passed the predicate.

use super::Predicate;
use crate::view::Version;

/// A value that its caller may see. Made by `disclose` alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Disclosed<T>(T);

impl<T> Disclosed<T> {
    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Disclosed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Lets a value out if the predicate admits the version that it is taken from; read policies will transform it here.
#[must_use]
pub fn disclose<T>(value: T, version: &Version, predicate: &Predicate) -> Option<Disclosed<T>> {
    predicate.admits(version).then_some(Disclosed(value))
}
