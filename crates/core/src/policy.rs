//! What a sharing policy hides, shortens or keeps back of a text, and how several policies become one.
//!
//! Invariant (union): policies compose as sets of steps, so their order never matters and one more policy only tightens;
//! the one exception is a scalar that a broader policy lists as overridable. Every step is deterministic and takes time
//! linear in the text. This module knows nothing of who may see an item: it works on what is visible already.

mod anonymise;
mod apply;
mod block;
mod classes;
mod compose;
mod detect;
mod fold;
mod keyword;
mod limit;
mod marks;
mod model;
mod names;
mod object;
mod paraphrase;
mod pattern;
mod pseudonymise;
mod redact;
mod scalar;
mod stand_in;
#[cfg(test)]
mod tests;
mod window;
mod words;

pub use anonymise::anonymise;
pub use apply::{Denied, Ground, Subject};
pub use block::Block;
pub use classes::Classes;
pub use compose::{CheckedPolicy, Composed, Pair};
pub use detect::{Class, Detected, detect};
pub use keyword::Keyword;
pub use limit::{Allowance, Candidate, Limits, shorten};
pub use marks::{Marks, classes_beside, classes_in, classes_of};
pub use model::{Asks, Note, Notes, Task};
pub use names::{NameClass, Names, Person};
pub use object::{Custom, LimitSet, PolicyKind, Scope, SharingPolicy, Step};
pub use paraphrase::{SENTENCES_KEPT, paraphrase};
pub use pattern::{NotAPattern, PATTERN_CHARS_MAX, Pattern};
pub use pseudonymise::pseudonymise;
pub use redact::{Detectors, Masked, mask, redact};
pub use scalar::{PrivateParents, Scalar, Share};
pub use stand_in::StandIns;
pub use window::{Day, Hours, Window};
