//! A sharing policy as it is sent and kept, and what makes one acceptable.

use super::block::Block;
use super::compose::CheckedPolicy;
use super::detect::Class;
use super::keyword::Keyword;
use super::model::Model;
use super::paraphrase::SENTENCES_KEPT;
use super::pattern::Pattern;
use super::redact::Detectors;
use super::scalar::{PrivateParents, Scalar, Share};
use super::stand_in::CLASS_BYTES_MAX;
use super::window::Window;
use super::words::phrase;
use crate::error::{Code, Fault};
use crate::id::{AgentId, UserId};
use crate::item::words;
use crate::time::Lifetime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Expressions of one policy.
const PATTERNS_MAX: usize = 64;
/// Steps of one policy.
const STEPS_MAX: usize = 16;
/// Words, labels or kinds in one list.
const LIST_MAX: usize = 256;
/// The longest word, label, kind or id, in bytes.
const WORD_BYTES_MAX: usize = 128;

words! {
    /// What a policy is about.
    PolicyKind {
        /// What is read.
        0 Read = "read",
        /// What is written for oneself.
        1 WritePrivate = "write_private",
        /// What is written for others.
        2 WriteShared = "write_shared",
    }
}

/// A policy of SHARE-14, as JSON has it. `check` proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharingPolicy {
    /// For whom and when; for everybody and always if empty.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
    /// Among policies that are equally narrow, the higher one counts as the narrower.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// What it does. An empty list for everybody means verbatim; none means that nothing is said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Step>>,
    /// Whether anything may be shared: `off` or `on`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// What becomes of a shared write that rests on private items: `block`, `transform` or `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_parents: Option<String>,
    /// What it bounds.
    #[serde(default, skip_serializing_if = "LimitSet::is_empty")]
    pub limits: LimitSet,
    /// Scalars that a narrower policy may replace: `count`, `chars`, `total_chars`, `min_similarity`, `max_age`,
    /// `share`, `private_parents`, `keep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridable: Vec<String>,
}

/// For whom and when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// This user, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// This agent, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// At these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

impl Scope {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl LimitSet {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One thing that a policy does. Where it stands in the list does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Keeps back what bears a label, is of a kind or matches.
    Block {
        /// Labels.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
        /// Kinds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kinds: Vec<String>,
        /// Regular expressions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        patterns: Vec<String>,
    },
    /// Keeps back by words.
    Keyword {
        /// At least one of these is needed, if there are any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allow: Vec<String>,
        /// None of these may be there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deny: Vec<String>,
    },
    /// Cuts out what detectors find.
    Redact {
        /// Built-in classes; all of them unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<Vec<String>>,
        /// Classes of its own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        custom: Vec<Custom>,
    },
    /// Names nobody.
    Anonymise {},
    /// Gives everybody another name.
    Pseudonymise {},
    /// Drops what is said about people.
    Paraphrase {
        /// Sentences that stay; 5 unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<u32>,
        /// Whether a model writes it anew before that, for what is written.
        #[serde(default, skip_serializing_if = "is_false")]
        llm: bool,
        /// Whether others are given nothing that no model wrote anew.
        #[serde(default, skip_serializing_if = "is_false")]
        require_llm: bool,
    },
    /// Gives what is written a key, and with a model says only what is worth remembering.
    Extract {
        /// Whether a model does it; without one the first sentence is the key.
        #[serde(default, skip_serializing_if = "is_false")]
        llm: bool,
        /// As for a paraphrase.
        #[serde(default, skip_serializing_if = "is_false")]
        require_llm: bool,
    },
}

/// A class that a policy brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    /// Its name: lower-case letters, digits, `_` and `-`.
    pub class: String,
    /// What it matches.
    pub pattern: String,
}

/// What a policy bounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSet {
    /// Most results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Most characters of one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u32>,
    /// Most characters of all texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_chars: Option<u32>,
    /// Least similarity, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_similarity: Option<f64>,
    /// Greatest age, an ISO 8601 duration such as `P30D`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<String>,
}

/// What the steps of a policy come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) block: Block,
    pub(super) keyword: Keyword,
    pub(super) redact: Detectors,
    pub(super) anonymise: bool,
    pub(super) pseudonymise: bool,
    pub(super) paraphrase: bool,
    pub(super) extract: bool,
    pub(super) model: Model,
}

/// How finely similarities are kept.
pub(super) const SIMILARITY_PARTS: f64 = 1e6;

impl SharingPolicy {
    /// The policy, ready to be composed.
    ///
    /// # Errors
    /// Every fault, with its place and what would pass.
    pub fn check(&self, id: &str, kind: PolicyKind) -> Result<CheckedPolicy, Vec<Fault>> {
        let mut faults = Faults::default();
        faults.unless(is_word(id), "/id", "1 to 128 bytes without control characters");
        let user = self.scope.user.as_ref().map(|id| id.parse::<UserId>());
        faults.unless(!matches!(user, Some(Err(_))), "/scope/user", "the id of a user");
        let agent = self.scope.agent.as_ref().map(|id| id.parse::<AgentId>());
        faults.unless(!matches!(agent, Some(Err(_))), "/scope/agent", "the id of an agent");
        let window = self.scope.window.as_ref();
        let times = window.and_then(|window| window.check("/scope/window", &mut faults.0));
        let (chain, scalars) = (self.chain(kind, &mut faults), self.scalars(&mut faults));
        let overridable = self.overridable(&mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(CheckedPolicy {
            id: id.to_owned(),
            kind,
            user: user.and_then(Result::ok),
            agent: agent.and_then(Result::ok),
            times,
            priority: self.priority,
            says_steps: self.steps.is_some(),
            chain,
            scalars,
            overridable,
        })
    }

    fn chain(&self, kind: PolicyKind, faults: &mut Faults) -> Chain {
        let mut chain = Chain::default();
        let patterns: usize = self.steps.iter().flatten().map(Step::patterns).sum();
        faults.unless(patterns <= PATTERNS_MAX, "/steps", &format!("at most {PATTERNS_MAX} patterns in all"));
        faults.unless(
            self.steps.iter().flatten().count() <= STEPS_MAX,
            "/steps",
            &format!("at most {STEPS_MAX} steps"),
        );
        if patterns <= PATTERNS_MAX {
            for (index, step) in self.steps.iter().flatten().take(STEPS_MAX).enumerate() {
                let path = format!("/steps/{index}");
                step.add_to(&mut chain, &path, faults);
                step.fits(kind, &path, faults);
            }
        }
        chain
    }

    /// What is set, each as a number of which the smaller is the tighter.
    fn scalars(&self, faults: &mut Faults) -> BTreeMap<Scalar, u64> {
        let limits = &self.limits;
        let similarity = limits.min_similarity.map(|least| {
            faults.unless((0.0..=1.0).contains(&least), "/limits/min_similarity", "a number from 0 to 1");
            ((1.0 - least.clamp(0.0, 1.0)) * SIMILARITY_PARTS).round() as u64
        });
        let age = limits.max_age.as_ref().map(|text| {
            let period = text.parse::<Lifetime>();
            faults.unless(period.is_ok(), "/limits/max_age", "an ISO 8601 duration such as P30D or P1Y");
            period.map_or(0, |age| age.as_period().as_micros())
        });
        let share = self.share.as_ref().map(|word| {
            let share = Share::from_word(word);
            faults.unless(share.is_some(), "/share", &Share::words());
            share.map_or(0, |share| share as u64)
        });
        let parents = self.private_parents.as_ref().map(|word| {
            let parents = PrivateParents::from_word(word);
            faults.unless(parents.is_some(), "/private_parents", &PrivateParents::words());
            parents.map_or(0, |parents| parents as u64)
        });
        let all = [
            (Scalar::Count, limits.count.map(u64::from)),
            (Scalar::Chars, limits.chars.map(u64::from)),
            (Scalar::TotalChars, limits.total_chars.map(u64::from)),
            (Scalar::MinSimilarity, similarity),
            (Scalar::MaxAge, age),
            (Scalar::Share, share),
            (Scalar::PrivateParents, parents),
            (Scalar::Keep, self.kept()),
        ];
        all.into_iter().filter_map(|(scalar, value)| Some((scalar, value?))).collect()
    }

    /// Sentences that its paraphrases keep: the fewest of them.
    fn kept(&self) -> Option<u64> {
        let kept = self.steps.iter().flatten().filter_map(|step| match step {
            Step::Paraphrase { keep, .. } => Some(keep.map_or(SENTENCES_KEPT as u64, u64::from)),
            Step::Block { .. }
            | Step::Keyword { .. }
            | Step::Redact { .. }
            | Step::Anonymise {}
            | Step::Pseudonymise {}
            | Step::Extract { .. } => None,
        });
        kept.min()
    }

    fn overridable(&self, faults: &mut Faults) -> BTreeSet<Scalar> {
        let named = self.overridable.iter().take(LIST_MAX).enumerate();
        named
            .filter_map(|(index, word)| {
                let scalar = Scalar::from_word(word);
                faults.unless(scalar.is_some(), &format!("/overridable/{index}"), &Scalar::words());
                scalar
            })
            .collect()
    }
}

impl Step {
    fn patterns(&self) -> usize {
        match self {
            Self::Block { patterns, .. } => patterns.len(),
            Self::Redact { custom, .. } => custom.len(),
            Self::Keyword { .. }
            | Self::Anonymise {}
            | Self::Pseudonymise {}
            | Self::Paraphrase { .. }
            | Self::Extract { .. } => 0,
        }
    }

    fn add_to(&self, chain: &mut Chain, path: &str, faults: &mut Faults) {
        match self {
            Self::Block { labels, kinds, patterns } => {
                let some = !(labels.is_empty() && kinds.is_empty() && patterns.is_empty());
                faults.unless(some, path, "labels, kinds or patterns to block");
                let block = Block {
                    labels: faults.list(labels, &format!("{path}/labels"), is_word),
                    kinds: faults.list(kinds, &format!("{path}/kinds"), is_word),
                    patterns: faults.patterns(patterns, &format!("{path}/patterns")),
                };
                chain.block.join(&block);
            }
            Self::Keyword { allow, deny } => {
                faults.unless(!(allow.is_empty() && deny.is_empty()), path, "words to allow or to deny");
                let has_word = |word: &str| is_word(word) && phrase(word).is_some();
                faults.list(allow, &format!("{path}/allow"), has_word);
                faults.list(deny, &format!("{path}/deny"), has_word);
                chain.keyword.join(&Keyword::of(deny, allow));
            }
            Self::Redact { classes, custom } => {
                let detectors = detectors(classes.as_deref(), custom, path, faults);
                chain.redact = std::mem::take(&mut chain.redact).union(&detectors);
            }
            Self::Anonymise {} => chain.anonymise = true,
            Self::Pseudonymise {} => chain.pseudonymise = true,
            Self::Paraphrase { llm, require_llm, .. } => {
                chain.paraphrase = true;
                chain.model.join(Model::paraphrasing(*llm, *require_llm));
            }
            Self::Extract { llm, require_llm } => {
                chain.extract = true;
                chain.model.join(Model::extracting(*llm, *require_llm));
            }
        }
    }

    /// A read waits for no model, and what its user keeps does not hang on one.
    fn fits(&self, kind: PolicyKind, path: &str, faults: &mut Faults) {
        let (asks, required) = match self {
            Self::Paraphrase { llm, require_llm, .. } => (*llm, *require_llm),
            Self::Extract { require_llm, .. } => (true, *require_llm),
            Self::Block { .. }
            | Self::Keyword { .. }
            | Self::Redact { .. }
            | Self::Anonymise {}
            | Self::Pseudonymise {} => (false, false),
        };
        let is_read = kind == PolicyKind::Read;
        faults.unless(!(is_read && (asks || required)), path, "on reading: `paraphrase` without a model");
        let is_shared = kind == PolicyKind::WriteShared;
        faults.unless(is_shared || is_read || !required, path, "`require_llm` only in write_shared");
    }
}

fn detectors(classes: Option<&[String]>, custom: &[Custom], path: &str, faults: &mut Faults) -> Detectors {
    let mut detectors = match classes {
        None => Detectors::all(),
        Some(named) => {
            let known = |word: &str| Class::from_word(word).is_some();
            let words = faults.list_of(named, &format!("{path}/classes"), &Class::words(), known);
            Detectors::of(words.iter().filter_map(|word| Class::from_word(word)))
        }
    };
    let none = classes.is_some_and(<[String]>::is_empty) && custom.is_empty();
    faults.unless(!none, path, "classes to redact");
    for (index, one) in custom.iter().enumerate() {
        let named = is_class(&one.class) && Class::from_word(&one.class).is_none();
        let expected = "a name of its own: up to 32 lower-case letters, digits, _ and -";
        faults.unless(named, &format!("{path}/custom/{index}/class"), expected);
        match Pattern::compile(&one.pattern) {
            Ok(pattern) => detectors = detectors.and(one.class.clone(), pattern),
            Err(error) => faults.add(&format!("{path}/custom/{index}/pattern"), &error.to_string()),
        }
    }
    detectors
}

fn is_word(text: &str) -> bool {
    (1..=WORD_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn is_class(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=CLASS_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

/// The faults of a policy.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, path: &str, expected: &str) {
        self.0.push(Fault::new(path, Code::ConstraintViolation, expected));
    }

    fn unless(&mut self, holds: bool, path: &str, expected: &str) {
        if !holds {
            self.add(path, expected);
        }
    }

    fn list(&mut self, list: &[String], path: &str, accepts: impl Fn(&str) -> bool) -> BTreeSet<String> {
        self.list_of(list, path, "1 to 128 bytes with a letter or digit", accepts)
    }

    fn list_of(
        &mut self,
        list: &[String],
        path: &str,
        expected: &str,
        accepts: impl Fn(&str) -> bool,
    ) -> BTreeSet<String> {
        self.unless(list.len() <= LIST_MAX, path, &format!("at most {LIST_MAX} of them"));
        for (index, word) in list.iter().take(LIST_MAX).enumerate() {
            self.unless(accepts(word), &format!("{path}/{index}"), expected);
        }
        list.iter().take(LIST_MAX).cloned().collect()
    }

    #[expect(clippy::mutable_key_type, reason = "a pattern is ordered by its source, which never changes")]
    fn patterns(&mut self, sources: &[String], path: &str) -> BTreeSet<Pattern> {
        let compiled = sources.iter().enumerate().filter_map(|(index, source)| {
            Pattern::compile(source)
                .map_err(|error| self.add(&format!("{path}/{index}"), &error.to_string()))
                .ok()
        });
        compiled.collect()
    }
}
