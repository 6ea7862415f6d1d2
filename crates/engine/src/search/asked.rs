//! What a search is asked for, checked: every fault is found before anything is looked up.

use crate::read::within;
use crate::reply::SearchQuery;
use crate::tenant::Tenant;
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::item::{Layer, Tier};
use tabellion_core::rank::Knob;
use tabellion_core::text::{LEGIBLE, is_legible};

/// Results of a search that does not say how many.
pub(crate) const K_DEFAULT: u64 = 10;
const QUERY_BYTES_MAX: usize = 8_192;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Hybrid,
    Dense,
    Lexical,
    Graph,
}

impl Mode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Dense => "dense",
            Self::Lexical => "lexical",
            Self::Graph => "graph",
        }
    }
}

/// The best of what lies in one tier, or in both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) tier: Option<Tier>,
    pub(super) k: usize,
}

/// A search that can be run.
pub(super) struct Asked<'a> {
    pub(super) query: &'a str,
    pub(super) vector: Option<&'a [f32]>,
    /// What is looked for, each on its own: everything, or one tier and then the other.
    pub(super) parts: Vec<Part>,
    pub(super) mode: Mode,
    pub(super) layers: Vec<Layer>,
    pub(super) namespace: Option<&'a str>,
    pub(super) exact: bool,
    pub(super) without: Vec<Knob>,
    pub(super) diversity: f64,
}

impl<'a> Asked<'a> {
    /// Whether anything of a tier is looked for.
    pub(super) fn includes(&self, tier: Tier) -> bool {
        self.parts.iter().any(|part| part.tier.is_none_or(|one| one == tier))
    }

    pub(super) fn of(tenant: &Tenant, asked: &'a SearchQuery) -> Result<Self, Refusal> {
        let mut faults = Vec::new();
        let mode = mode(tenant, asked)?;
        check_query(asked, &mut faults);
        check_vector(tenant, asked, &mut faults);
        let parts = parts(tenant, asked, &mut faults);
        let layers = known(&asked.layers, "layers", Layer::from_word, &Layer::words(), &mut faults);
        let without = known(&asked.without, "without", Knob::from_word, &Knob::words(), &mut faults);
        let diversity = asked.diversity.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&diversity) {
            faults.push(Fault::new("/diversity", Code::ConstraintViolation, "0 to 1"));
        }
        if !faults.is_empty() {
            let message = "the search cannot be run as it is; `errors` says why";
            return Err(Refusal::new(Code::SchemaInvalid, message).with(faults));
        }
        Ok(Self {
            query: asked.query.as_deref().unwrap_or_default(),
            vector: asked.vector.as_deref(),
            parts,
            mode,
            layers,
            namespace: asked.namespace.as_deref(),
            exact: asked.exact,
            without,
            diversity,
        })
    }
}

/// The tiers that are looked through, and how many of each: both as one, one alone, or the best of one's own and the best of
/// what is shared (SHARE-22).
fn parts(tenant: &Tenant, asked: &SearchQuery, faults: &mut Vec<Fault>) -> Vec<Part> {
    let mut count = |number: Option<u64>, path: &str| {
        let number = within(number, K_DEFAULT, tenant.limits.k_max, path).unwrap_or_else(|refusal| {
            faults.extend(refusal.errors);
            1
        });
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let apart = asked.k_user.is_some() || asked.k_cross.is_some();
    if apart {
        let own = Part { tier: Some(Tier::Private), k: count(asked.k_user, "/k_user") };
        let shared = Part { tier: Some(Tier::Shared), k: count(asked.k_cross, "/k_cross") };
        if asked.k.is_some() || asked.tier.is_some() {
            let expected = "either k and tier, or k_user and k_cross";
            faults.push(Fault::new("/k_user", Code::ConstraintViolation, expected));
        }
        return vec![own, shared];
    }
    let k = count(asked.k, "/k");
    let tier = asked.tier.as_deref().map(|word| (word, Tier::from_word(word)));
    if let Some((word, None)) = tier {
        let expected = format!("one of {}", Tier::words());
        faults.push(Fault::new("/tier", Code::ConstraintViolation, expected).found(word));
    }
    vec![Part { tier: tier.and_then(|(_, tier)| tier), k }]
}

/// Every word as what it names, and a fault for each that names nothing.
fn known<T>(
    words: &[String],
    field: &str,
    from_word: impl Fn(&str) -> Option<T>,
    all: &str,
    faults: &mut Vec<Fault>,
) -> Vec<T> {
    let mut values = Vec::new();
    for (place, word) in words.iter().enumerate() {
        match from_word(word) {
            Some(value) => values.push(value),
            None => faults.push(Fault::new(
                format!("/{field}/{place}"),
                Code::ConstraintViolation,
                format!("one of {all}"),
            )),
        }
    }
    values
}

fn mode(tenant: &Tenant, asked: &SearchQuery) -> Result<Mode, Refusal> {
    let has_vectors = tenant.shared.vectors.is_some();
    let unavailable = |expected: &str, message: &str| {
        let fault = Fault::new("/mode", Code::ModeUnavailable, expected);
        Err(Refusal::new(Code::ModeUnavailable, message).with(vec![fault]))
    };
    match asked.mode.as_deref() {
        Some("lexical") => Ok(Mode::Lexical),
        // Without words there is nothing but meaning.
        None | Some("hybrid") if asked.query.is_none() && asked.vector.is_some() && has_vectors => {
            Ok(Mode::Dense)
        }
        None | Some("hybrid") => Ok(if has_vectors { Mode::Hybrid } else { Mode::Lexical }),
        Some("dense") if has_vectors => Ok(Mode::Dense),
        Some("dense") => unavailable(
            "hybrid or lexical",
            "this server has no embedding model; search with mode `hybrid` or `lexical`",
        ),
        Some("graph") => Ok(Mode::Graph),
        Some(_) => {
            let fault =
                Fault::new("/mode", Code::ConstraintViolation, "one of hybrid, dense, lexical, graph");
            Err(Refusal::new(Code::SchemaInvalid, "unknown mode").with(vec![fault]))
        }
    }
}

fn check_query(asked: &SearchQuery, faults: &mut Vec<Fault>) {
    let expected = format!("1 to {QUERY_BYTES_MAX} bytes {LEGIBLE}");
    match &asked.query {
        Some(query) if !is_legible(query) || query.len() > QUERY_BYTES_MAX => {
            faults.push(Fault::new("/query", Code::ConstraintViolation, expected));
        }
        None if asked.vector.is_none() || matches!(asked.mode.as_deref(), Some("lexical" | "graph")) => {
            faults.push(Fault::new("/query", Code::MissingRequiredField, expected));
        }
        _ => {}
    }
}

fn check_vector(tenant: &Tenant, asked: &SearchQuery, faults: &mut Vec<Fault>) {
    let Some(vector) = &asked.vector else { return };
    let Some(vectors) = &tenant.shared.vectors else {
        let expected = "nothing: this server has no embedding model, give a query";
        faults.push(Fault::new("/vector", Code::ConstraintViolation, expected));
        return;
    };
    let dimensions = vectors.embedding().dimensions();
    let length: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    if vector.len() != dimensions {
        let fault = Fault::new(
            "/vector",
            Code::ConstraintViolation,
            format!("{dimensions} numbers, as the model has"),
        );
        faults.push(fault.found(vector.len().to_string()));
    } else if !(length.is_finite() && length > 0.0) {
        faults.push(Fault::new("/vector", Code::ConstraintViolation, "finite numbers, not all of them zero"));
    }
}
