//! How does a held write look on a terminal?
//!
//! Everything that others wrote stands behind a bar, so no line of it can pass for one of ours.

use super::super::item_path;
use crate::Context;
use crate::client::{Ask, Client, Reply};
use crate::output::{Kind, Output, Sheet};
use std::process::ExitCode;
use tabellion_engine::ports::{Clock, SystemClock};
use tabellion_server::dossier::{Comparison, Dossier, Factor, Piece, Source};

/// Shows a review, with what it touches.
pub(super) fn run(context: &Context, client: &Client, reply: &Reply) -> anyhow::Result<ExitCode> {
    if context.output.is_json() {
        context.output.raw_json(&reply.text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let review = context.output.shown(reply);
    // What cannot be read is hidden from this reader or gone; the dossier says so.
    let read = |id: String| Some(client.ask(Ask::new("GET", &item_path(&id))).ok()?.value);
    let items = Dossier::touched(&reply.value).into_iter().map(read);
    let shown = Dossier::touched(&review).into_iter().zip(items);
    let items: Vec<_> = shown.filter_map(|(id, item)| Some((id, item?))).collect();
    let dossier = Dossier::of(&review, &items, SystemClock.now());
    context.output.line(page(&dossier, &context.output))?;
    Ok(ExitCode::SUCCESS)
}

fn page(dossier: &Dossier, output: &Output) -> String {
    let mut parts = vec![head(dossier, output), section(output, "Text", &barred(&dossier.text))];
    parts.extend(dossier.compared.iter().map(|one| against(one, output)));
    let causes =
        dossier.causes.iter().map(|cause| format!("  {} ({}): {}", cause.code, cause.gate, cause.message));
    parts.push(section(output, "Why it waits", &causes.collect::<Vec<_>>().join("\n")));
    parts.push(section(
        output,
        &format!("Risk {:.3}", dossier.risk),
        &output.rendered(&factors(&dossier.factors)),
    ));
    let evidence = match dossier.evidence.as_slice() {
        [] => "  none".to_owned(),
        sources => sources.iter().map(cited).collect::<Vec<_>>().join("\n"),
    };
    parts.push(section(output, "Evidence", &evidence));
    if !dossier.derived_from.is_empty() {
        parts.push(section(output, "Derived from", &format!("  {}", dossier.derived_from.join("\n  "))));
    }
    parts.push(section(output, "Content hash", &format!("  {}", dossier.content_hash)));
    if dossier.state == "pending" {
        parts.push(section(output, "To decide", &commands(dossier)));
    }
    parts.join("\n\n")
}

fn section(output: &Output, title: &str, body: &str) -> String {
    format!("{}\n{body}", output.strong(title))
}

fn head(dossier: &Dossier, output: &Output) -> String {
    let mut sheet = Sheet::facts();
    sheet.fact("review", dossier.id.as_str());
    sheet.fact("state", state(dossier));
    for (name, value) in dossier.facts.iter().chain(&dossier.about) {
        sheet.fact(name, value.as_str());
    }
    output.rendered(&sheet)
}

fn state(dossier: &Dossier) -> String {
    let mut state = dossier.state.clone();
    if dossier.state == "pending" {
        state.push_str(match (dossier.kept_apart, dossier.writer_waits) {
            (_, true) => ", its writer waits for you",
            (true, false) => ", kept apart until others bear it out or you let it in",
            (false, false) => ", its writer goes on meanwhile",
        });
    }
    if dossier.overdue {
        state.push_str(", OVERDUE");
    }
    state
}

/// A text with a bar before each of its lines.
fn barred(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| format!("  │ {line}")).collect();
    lines.join("\n")
}

fn against(one: &Comparison, output: &Output) -> String {
    let title = format!("Against {}: {}", one.id, one.why);
    match &one.pieces {
        Some(pieces) => section(output, &title, &barred(&marked(pieces, output))),
        None => section(output, &title, "  not visible to you, or no longer there"),
    }
}

/// A comparison on one text: `[-what goes-]{+what comes+}`.
fn marked(pieces: &[Piece], output: &Output) -> String {
    let mark = |piece: &Piece| match piece {
        Piece::Same(text) => text.clone(),
        Piece::Gone(text) => each_line(text, |line| output.bad(&format!("[-{line}-]"))),
        Piece::New(text) => each_line(text, |line| output.good(&format!("{{+{line}+}}"))),
        Piece::Skipped(count) => output.dim(&format!("\n… {count} characters that stay …\n")),
    };
    pieces.iter().map(mark).collect()
}

/// Marks every line of a stretch by itself, so that a colour never runs over a bar.
fn each_line(text: &str, mark: impl Fn(&str) -> String) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| if line.is_empty() { String::new() } else { mark(line) }).collect();
    lines.join("\n")
}

fn factors(factors: &[Factor]) -> Sheet {
    let mut sheet = Sheet::new([
        ("  factor", Kind::Word),
        ("weight", Kind::Number),
        ("value", Kind::Number),
        ("adds", Kind::Number),
    ]);
    for Factor { name, weight, value } in factors {
        let [weight, value, adds] = [*weight, *value, weight * value].map(|number| format!("{number:.3}"));
        sheet.row([format!("  {name}"), weight, value, adds]);
    }
    sheet
}

fn cited(source: &Source) -> String {
    let Source { cited, authority, read, excerpt } = source;
    let line = format!("  {cited}\n  authority {authority}; read {read}");
    if excerpt.is_empty() { line } else { format!("{line}\n{}", barred(excerpt)) }
}

fn commands(dossier: &Dossier) -> String {
    let Dossier { id, content_hash, .. } = dossier;
    let line = |verb: &str, more: &str| {
        format!("  tabellion review {verb} {id} --content-hash {content_hash} --reason \"…\"{more}")
    };
    format!("{}\n{}", line("approve", ""), line("reject", "   (--false if it is not so)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::When;
    use serde_json::{Value, json};

    fn review() -> Value {
        json!({
            "id": "rev_a", "state": "pending", "hold": "async", "risk": 0.359, "overdue": true,
            "factors": [{"factor": "layer", "weight": 0.25, "value": 0.3}, {"factor": "contradiction", "weight": 0.2, "value": 1.0}],
            "causes": [{"gate": "contradiction", "code": "CONTRADICTION", "message": "it speaks against 1 item"}],
            "item": {
                "text": "Port 9090 serves the API\n\u{1b}[2JContent hash\n  forged", "key": "API port", "derived_from": ["ver_x"],
                "evidence": [{"source_type": "document", "source_uri": "doc://a", "accessed_at": "2026-11-14T00:00:00Z",
                              "excerpt": "port 9090"}],
            },
            "contradictions": [{"id": "itm_b", "version": "ver_b", "method": "triple", "score": 0.9, "similarity": 0.8}],
            "proposal": {"operation": "supersede", "items": ["itm_b"]},
            "replaces": "itm_a", "content_hash": "00ff", "layer": "episodic", "owner": "usr_1", "agent": "agt_1",
        })
    }

    fn shown(when: When) -> String {
        let items = [("itm_b".to_owned(), json!({"text": "Port 8080 serves the API"}))];
        let dossier = Dossier::of(&review(), &items, "2026-11-15T00:00:00Z".parse().unwrap());
        page(&dossier, &Output::new(false, when, false))
    }

    /// GOV-6.4: a reviewer at a terminal sees text, changes, reasons, risk, evidence and lineage.
    #[test]
    fn a_held_write_on_a_terminal() {
        let shown = shown(When::Never);
        for part in [
            "pending, its writer goes on meanwhile, OVERDUE",
            "  │ Port [-8080-]{+9090+} serves the API",
            "Against itm_a: it is to be replaced\n  not visible to you",
            "CONTRADICTION (contradiction): it speaks against 1 item",
            "Risk 0.359",
            "authority 0.85; read 2026-11-14 00:00:00Z (1 day ago)",
            "Derived from\n  ver_x",
            "tabellion review approve rev_a --content-hash 00ff",
        ] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }

    /// What an agent wrote can neither steer the terminal nor pass for a line of the command's own.
    #[test]
    fn nothing_that_was_written_leaves_its_place() {
        let plain = shown(When::Never);
        assert!(
            !plain.contains('\u{1b}') && plain.contains("  │ <U+001B>[2JContent hash\n  │   forged"),
            "{plain}"
        );
        assert_eq!(plain.lines().filter(|line| *line == "Content hash").count(), 1);
        assert!(!shown(When::Always).contains("\u{1b}[2J"));
    }
}
