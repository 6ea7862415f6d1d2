//! Policies of sharing, as they are described to clients. They are read and sent as `core::policy` has them.
#![expect(dead_code, reason = "describes core::policy::SharingPolicy, which is read and sent as it is")]

use super::words::{
    AgeText, DayWord, DetectorWord, PrivateParentsWord, ReferenceText, ScalarWord, ShareWord, TimeGivenText,
};
use utoipa::ToSchema;

/// What is kept back, changed or bounded, for whom and when. All policies that match hold together.
#[derive(ToSchema)]
#[schema(as = SharingPolicy)]
pub(crate) struct SharingPolicyBody {
    /// For whom and when; for everybody and always unless given.
    #[schema(nullable = false)]
    scope: Option<ScopeBody>,
    /// Among policies that are equally narrow, the higher one counts as the narrower.
    #[schema(nullable = false)]
    priority: Option<i32>,
    /// What it does; where they stand in the list does not matter.
    #[schema(nullable = false, max_items = 16)]
    steps: Option<Vec<StepBody>>,
    /// What it bounds.
    #[schema(nullable = false)]
    limits: Option<LimitsBody>,
    /// Whether anything may be shared; it may not unless some policy says so and none speaks against it.
    #[schema(value_type = Option<ShareWord>, nullable = false)]
    share: Option<String>,
    /// What becomes of a shared write that rests on private items; `transform` unless given.
    #[schema(value_type = Option<PrivateParentsWord>, nullable = false)]
    private_parents: Option<String>,
    /// What a narrower policy may replace.
    #[schema(value_type = Option<Vec<ScalarWord>>, nullable = false)]
    overridable: Option<Vec<String>>,
}

/// For whom and when.
#[derive(ToSchema)]
#[schema(as = PolicyScope)]
pub(crate) struct ScopeBody {
    /// This user, by id or name.
    #[schema(value_type = Option<ReferenceText>, nullable = false)]
    user: Option<String>,
    /// This agent, by id or name.
    #[schema(value_type = Option<ReferenceText>, nullable = false)]
    agent: Option<String>,
    /// At these times.
    #[schema(nullable = false)]
    window: Option<WindowBody>,
}

/// When a policy holds.
#[derive(ToSchema)]
#[schema(as = PolicyWindow)]
pub(crate) struct WindowBody {
    /// From this moment on.
    #[schema(value_type = Option<TimeGivenText>, nullable = false)]
    from: Option<String>,
    /// Until before this moment.
    #[schema(value_type = Option<TimeGivenText>, nullable = false)]
    to: Option<String>,
    /// At these hours; at all unless given.
    #[schema(nullable = false, max_items = 64)]
    weekly: Option<Vec<HoursBody>>,
    /// The zone of those hours, such as `Europe/Berlin`; UTC unless given.
    #[schema(nullable = false, max_length = 64)]
    zone: Option<String>,
}

/// Hours of a day of the week. A range that ends at or before its start ends on the next day.
#[derive(ToSchema)]
#[schema(as = PolicyHours)]
pub(crate) struct HoursBody {
    /// The day.
    #[schema(value_type = DayWord)]
    day: String,
    /// From this time of the day on.
    #[schema(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$")]
    from: String,
    /// Until before this one.
    #[schema(pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]
    to: String,
}

/// One thing that a policy does.
#[derive(ToSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
#[schema(as = PolicyStep)]
pub(crate) enum StepBody {
    /// Keeps back what bears a tag, is of a kind or matches.
    Block {
        /// Tags.
        #[schema(nullable = false, max_items = 256)]
        labels: Option<Vec<String>>,
        /// Kinds.
        #[schema(nullable = false, max_items = 256)]
        kinds: Option<Vec<String>>,
        /// Regular expressions, matched in linear time.
        #[schema(nullable = false, max_items = 64)]
        patterns: Option<Vec<String>>,
    },
    /// Keeps back by whole words, in any case.
    Keyword {
        /// At least one of these is needed, if there are any.
        #[schema(nullable = false, max_items = 256)]
        allow: Option<Vec<String>>,
        /// None of these may be there.
        #[schema(nullable = false, max_items = 256)]
        deny: Option<Vec<String>>,
    },
    /// Cuts out what detectors find.
    Redact {
        /// Built-in detectors; all of them unless given.
        #[schema(value_type = Option<Vec<DetectorWord>>, nullable = false)]
        classes: Option<Vec<String>>,
        /// Detectors of your own.
        #[schema(nullable = false, max_items = 64)]
        custom: Option<Vec<CustomBody>>,
    },
    /// Says "a user" in place of everybody's name.
    Anonymise {},
    /// Gives everybody another name, always the same.
    Pseudonymise {},
    /// Drops sentences about people.
    Paraphrase {
        /// Sentences that stay; 5 unless given.
        #[schema(nullable = false)]
        keep: Option<u32>,
        /// Whether a model says it anew before that; for writes only.
        #[schema(nullable = false)]
        llm: Option<bool>,
        /// Whether nothing is shared that no model said anew; for `write_shared` only.
        #[schema(nullable = false)]
        require_llm: Option<bool>,
    },
    /// Gives a write a key, and with a model keeps only what is worth remembering.
    Extract {
        /// Whether a model does it; without one the first sentence is the key.
        #[schema(nullable = false)]
        llm: Option<bool>,
        /// Whether nothing is shared that no model said anew; for `write_shared` only.
        #[schema(nullable = false)]
        require_llm: Option<bool>,
    },
}

/// A detector of one's own.
#[derive(ToSchema)]
#[schema(as = PolicyDetector)]
pub(crate) struct CustomBody {
    /// Its name.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    class: String,
    /// What it matches.
    #[schema(min_length = 1)]
    pattern: String,
}

/// What a policy bounds.
#[derive(ToSchema)]
#[schema(as = PolicyLimits)]
pub(crate) struct LimitsBody {
    /// Most results.
    #[schema(nullable = false)]
    count: Option<u32>,
    /// Most characters of one text.
    #[schema(nullable = false)]
    chars: Option<u32>,
    /// Most characters of all texts.
    #[schema(nullable = false)]
    total_chars: Option<u32>,
    /// Least similarity.
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    min_similarity: Option<f64>,
    /// Greatest age.
    #[schema(value_type = Option<AgeText>, nullable = false)]
    max_age: Option<String>,
}
