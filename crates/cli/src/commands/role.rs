//! `role`: bundles of edges and administrative actions, and who holds them.

use super::set;
use crate::Context;
use crate::client::{Ask, segment};
use crate::output::{Kind, Sheet, field, rows};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Roles: what they bring, and who holds them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Role {
    Set(SetRole),
    Show(Show),
    List(List),
    Remove(Remove),
    Assign(Assign),
    Unassign(Unassign),
}

/// Set a role in place of what it was; the edges of those who hold it follow
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion role set analysts --agent market --agent finance
  tabellion role set market-data --resource market_kb
  tabellion role set lead --include analysts --action audit
  tabellion role set ward --clearance confidential --domain medical")]
pub(crate) struct SetRole {
    /// A name of yours for it: a-z 0-9 _ . -
    name: String,
    /// An agent that users who hold it may invoke; may be repeated
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// A resource that agents which hold it may use; may be repeated
    #[arg(long = "resource", value_name = "RESOURCE")]
    resources: Vec<String>,
    /// A role that comes with it; may be repeated
    #[arg(long = "include", value_name = "ROLE")]
    includes: Vec<String>,
    /// What users who hold it may administer; may be repeated
    #[arg(long = "action", value_name = "ACTION", value_parser = ["manage_principals", "manage_roles", "manage_graphs", "manage_policies", "audit", "moderate"])]
    actions: Vec<String>,
    /// How secret what they read may be, for those who hold it
    #[arg(long, value_name = "LEVEL", value_parser = ["public", "internal", "confidential", "restricted"])]
    clearance: Option<String>,
    /// A domain that those who hold it keep to; may be repeated
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
}

/// Show a role and who holds it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion role show analysts")]
pub(crate) struct Show {
    /// The role, by name or id
    role: String,
}

/// List the roles
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion role list")]
pub(crate) struct List {}

/// End a role: whoever holds it loses what it brought
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion role remove analysts --reason \"the team is gone\"")]
pub(crate) struct Remove {
    /// The role, by name or id
    role: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Give a role to a user or an agent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion role assign analysts ana
  tabellion role assign auditor bob --expires-at 2027-01-01T00:00:00Z
  tabellion role assign verifier checker-bot")]
pub(crate) struct Assign {
    /// The role, by name or id
    role: String,
    /// The user or agent, by name or id
    member: String,
    /// It counts from then on: RFC 3339, a date, "tomorrow", "in 2 days", P2D (so long from now) (default: at once)
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// It ends by itself then, named likewise (default: never)
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Take a role away from a user or an agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tabellion role unassign analysts ana --reason \"changed teams\"")]
pub(crate) struct Unassign {
    /// The role, by name or id
    role: String,
    /// The user or agent, by name or id
    member: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Role, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    match args {
        Role::Set(args) => {
            let reply = client.ask(Ask::new("PUT", &path(&args.name)).json(&body(args)))?;
            context.output.reply(&reply, |_| super::policy::done("set", &args.name))
        }
        Role::Show(Show { role }) => {
            let reply = client.ask(Ask::new("GET", &path(role)))?;
            context.output.reply(&reply, |value| sheet(std::slice::from_ref(value)))
        }
        Role::List(List {}) => {
            let reply = client.ask(Ask::new("GET", "/v1/roles"))?;
            context.output.reply(&reply, |value| sheet(rows(value, "roles")))
        }
        Role::Remove(Remove { role, reason }) => {
            let ask = Ask::new("DELETE", &path(role)).json(&super::reason(reason.as_deref()));
            context.output.reply(&client.ask(ask)?, |_| super::policy::done("removed", role))
        }
        Role::Assign(args) => {
            let ask = Ask::new("PUT", &member(&args.role, &args.member)).json(&terms(args));
            context.output.reply(&client.ask(ask)?, |_| done("assigned", &args.role, &args.member))
        }
        Role::Unassign(args) => {
            let ask = Ask::new("DELETE", &member(&args.role, &args.member));
            let ask = ask.json(&super::reason(args.reason.as_deref()));
            context.output.reply(&client.ask(ask)?, |_| done("unassigned", &args.role, &args.member))
        }
    }
}

fn path(role: &str) -> String {
    format!("/v1/roles/{}", segment(role))
}

fn member(role: &str, member: &str) -> String {
    format!("{}/members/{}", path(role), segment(member))
}

fn body(args: &SetRole) -> Value {
    let mut body = json!({
        "agents": args.agents, "resources": args.resources, "includes": args.includes, "actions": args.actions,
        "domains": args.domains,
    });
    set(&mut body, "clearance", args.clearance.as_deref());
    body
}

fn terms(args: &Assign) -> Value {
    let mut body = json!({});
    set(&mut body, "not_before", args.not_before.as_deref());
    set(&mut body, "expires_at", args.expires_at.as_deref());
    set(&mut body, "reason", args.reason.as_deref());
    body
}

fn done(status: &str, role: &str, member: &str) -> Sheet {
    let mut sheet = Sheet::new([("status", Kind::State), ("role", Kind::Word), ("member", Kind::Word)]);
    sheet.row([status.to_owned(), role.to_owned(), member.to_owned()]);
    sheet
}

fn sheet(roles: &[Value]) -> Sheet {
    let columns = [("name", Kind::Word), ("brings", Kind::Whole), ("members", Kind::Whole)];
    let mut sheet = Sheet::new(columns).or("no roles");
    for role in roles {
        let listed = |name: &str| {
            let words: Vec<&str> = rows(role, name).iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| format!("{name}: {}", words.join(", ")))
        };
        let clearance =
            role.get("clearance").and_then(Value::as_str).map(|level| format!("clearance: {level}"));
        let lists = ["agents", "resources", "includes", "actions", "domains"].into_iter().filter_map(listed);
        let brings: Vec<String> = lists.chain(clearance).collect();
        let members: Vec<String> = rows(role, "members").iter().map(|member| field(member, "id")).collect();
        sheet.row([field(role, "name"), brings.join("; "), members.join(", ")]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Look;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        assign: Assign,
    }

    #[test]
    fn a_holding_says_only_what_was_given() {
        let only = Only::parse_from(["assign", "analysts", "ana"]);
        assert_eq!(terms(&only.assign), json!({}));
        let timed = Only::parse_from(["assign", "a", "b", "--expires-at", "2027-01-01T00:00:00Z"]);
        assert_eq!(terms(&timed.assign), json!({"expires_at": "2027-01-01T00:00:00Z"}));
        assert_eq!(member("a", "b/c"), "/v1/roles/a/members/b%2Fc", "a name stays within its segment");
    }

    #[test]
    fn a_role_shows_what_it_brings() {
        let role =
            json!({"name": "lead", "agents": [], "includes": ["analysts"], "members": [{"id": "usr_a"}]});
        let shown = sheet(&[role]).render(Look { styled: false, width: None });
        assert!(shown.contains("includes: analysts") && shown.contains("usr_a"), "{shown}");
    }
}
