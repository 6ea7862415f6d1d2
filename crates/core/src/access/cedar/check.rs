//! Whether a text is Cedar that this server can hold to: it parses, it passes strict validation, and whom it names exists.

use super::{CEDAR_POLICIES_IN_TEXT_MAX, CEDAR_TEXT_BYTES_MAX, SCHEMA, entities};
use crate::error::{Code, Fault, Refusal};
use crate::view::Views;
use cedar_policy::{EntityUid, Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use miette::Diagnostic;
use std::sync::LazyLock;

/// Operators and brackets of one policy at most: evaluating it is as deep as there are of them.
const OPERATORS_MAX: usize = 400;
/// Brackets within brackets at most.
const DEPTH_MAX: usize = 32;
/// Faults that one answer lists at most.
const FAULTS_MAX: usize = 20;

static VALIDATOR: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let (schema, _warnings) = Schema::from_cedarschema_str(SCHEMA).ok()?;
    Some(Validator::new(schema))
});

/// How many policies a text has, if all of them can be held to.
///
/// # Errors
/// With every message of the parser or the validator, and where in the text it is.
pub fn check(text: &str, views: &Views) -> Result<usize, Refusal> {
    if text.len() > CEDAR_TEXT_BYTES_MAX {
        return Err(refused(vec![fault(format!("at most {CEDAR_TEXT_BYTES_MAX} bytes"))]));
    }
    let policies = parsed(text).map_err(refused)?;
    if policies.is_empty() || policies.len() > CEDAR_POLICIES_IN_TEXT_MAX {
        return Err(refused(vec![fault(format!("1 to {CEDAR_POLICIES_IN_TEXT_MAX} policies"))]));
    }
    let strangers: Vec<Fault> = policies.iter().flat_map(|policy| strangers(policy, views)).collect();
    if !strangers.is_empty() {
        return Err(refused(strangers));
    }
    validated(text, &policies)?;
    Ok(policies.len())
}

/// How far a text nests, seen without parsing it.
#[derive(Default)]
struct Nesting {
    operators: usize,
    depth: usize,
    quoted: bool,
    comment: bool,
    before: char,
}

impl Nesting {
    /// Whether a policy of this text has more operators or deeper brackets than can be followed: the parser and all that
    /// comes after it go as deep as they do.
    fn is_too_deep(text: &str) -> bool {
        let mut nesting = Self::default();
        text.chars().any(|one| {
            nesting.read(one);
            nesting.operators > OPERATORS_MAX || nesting.depth > DEPTH_MAX
        })
    }

    fn read(&mut self, one: char) {
        let escaped = self.before == '\\';
        match one {
            '\n' => self.comment = false,
            '"' if !(self.comment || self.quoted && escaped) => self.quoted = !self.quoted,
            '/' if !self.quoted && self.before == '/' => self.comment = true,
            _ if self.quoted || self.comment => {}
            ';' => (self.operators, self.depth) = (0, 0),
            '(' | '[' | '{' => (self.operators, self.depth) = (self.operators + 1, self.depth + 1),
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            '&' | '|' | '+' | '-' | '*' | '!' | '.' | '=' | '<' | '>' => self.operators += 1,
            'f' if self.before == 'i' => self.operators += 1,
            _ => {}
        }
        self.before = if escaped { ' ' } else { one };
    }
}

/// The policies of a text, in its order.
pub(super) fn parsed(text: &str) -> Result<Vec<Policy>, Vec<Fault>> {
    if Nesting::is_too_deep(text) {
        let most = format!("at most {OPERATORS_MAX} operators in one policy, and brackets {DEPTH_MAX} deep");
        return Err(vec![fault(most)]);
    }
    let set: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
        errors.iter().map(|error| located(text, error)).collect::<Vec<_>>()
    })?;
    if set.templates().next().is_some() {
        return Err(vec![fault("policies without slots: write whom each is for".to_owned())]);
    }
    let numbered = (0..set.num_of_policies()).map(|number| PolicyId::new(format!("policy{number}")));
    Ok(numbered.filter_map(|id| set.policy(&id).cloned()).collect())
}

fn validated(text: &str, policies: &[Policy]) -> Result<(), Refusal> {
    let none = || Refusal::new(Code::Internal, "the schema of policies cannot be read");
    let validator = VALIDATOR.as_ref().ok_or_else(none)?;
    let set = PolicySet::from_policies(policies.iter().cloned()).map_err(|_| none())?;
    let result = validator.validate(&set, ValidationMode::Strict);
    let faults: Vec<Fault> = result.validation_errors().map(|error| located(text, error)).collect();
    if faults.is_empty() { Ok(()) } else { Err(refused(faults)) }
}

/// The users, agents, resources and roles that a policy names and that do not exist: a rule about them would hold nobody.
fn strangers(policy: &Policy, views: &Views) -> Vec<Fault> {
    let exists = |uid: &EntityUid| {
        let name = uid.id().unescaped();
        match uid.type_name().to_string().as_str() {
            "User" | "Agent" | "Resource" => entities::literal(uid, &views.identity).is_some(),
            "Role" => views.roles.find(name, views.lsn()).is_some(),
            "Fragment" => false,
            _ => true,
        }
    };
    let named = policy.entity_literals().into_iter().filter(|uid| !exists(uid));
    named.map(|uid| fault("the name or id of one of this tenant".to_owned()).found(uid.to_string())).collect()
}

fn fault(expected: String) -> Fault {
    Fault::new("/text", Code::ConstraintViolation, expected)
}

/// A message of the parser or the validator, with the line and column that it is about.
fn located(text: &str, error: &(impl Diagnostic + std::fmt::Display)) -> Fault {
    let offset = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let place = offset.and_then(|offset| text.get(..offset)).map(|before| {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: ")
    });
    let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
    fault("Cedar that passes strict validation against the schema".to_owned())
        .found(format!("{}{error}{help}", place.unwrap_or_default()))
}

fn refused(mut faults: Vec<Fault>) -> Refusal {
    faults.truncate(FAULTS_MAX);
    let what = faults.first().and_then(|fault| fault.actual.clone().or_else(|| fault.expected.clone()));
    let message = format!("this Cedar text cannot be held to: {}", what.unwrap_or_default());
    Refusal::new(Code::SchemaInvalid, message).with(faults)
}
