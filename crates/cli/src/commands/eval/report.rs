//! What an evaluation says: one JSON object for programs, tables for people.

use super::recall::{MEASURES, Recall};
use super::trial::{Ingest, Score, Way};
use crate::Context;
use crate::output::{Kind, Sheet};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Everything that was measured.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) conversations: usize,
    /// What turned texts into vectors, if anything did.
    pub(super) model: Option<String>,
    pub(super) ingest: Ingest,
    /// The search that a caller gets who asks for nothing special.
    pub(super) default: Score,
    pub(super) others: Vec<Score>,
    pub(super) total: Duration,
}

impl Report {
    fn scores(&self) -> impl Iterator<Item = &Score> {
        std::iter::once(&self.default).chain(&self.others)
    }

    fn is_ablation(score: &Score) -> bool {
        matches!(score.way, Way::Without(_))
    }

    fn named(&self, are_ablations: bool) -> Map<String, Value> {
        let of_kind = self.scores().filter(|score| Self::is_ablation(score) == are_ablations);
        of_kind.map(|score| (score.way.as_str().to_owned(), scored(score))).collect()
    }

    /// As programs read it: the measures of the default on top.
    fn as_json(&self) -> Value {
        let mut report = self.default.all.members();
        let rest = [
            ("questions", json!(self.default.all.questions)),
            ("conversations", json!(self.conversations)),
            ("model", json!(self.model)),
            ("default", json!(self.default.way.as_str())),
            ("modes", Value::Object(self.named(false))),
            ("ablations", Value::Object(self.named(true))),
            ("merged", json!(self.ingest.merged)),
            ("deferred", json!(self.ingest.deferred)),
            ("timings", self.timings()),
        ];
        report.extend(rest.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(report)
    }

    fn timings(&self) -> Value {
        let Ingest { turns, writes, vectors, .. } = self.ingest;
        json!({
            "items": turns,
            "ingest_s": round(writes.as_secs_f64()),
            "ingest_items_per_s": round(per_second(turns, writes)),
            "vectors_s": vectors.map(|took| round(took.as_secs_f64())),
            "vectors_per_s": vectors.map(|took| round(per_second(turns, took))),
            "search_p50_ms": round(self.default.within_ms(0.5)),
            "search_p95_ms": round(self.default.within_ms(0.95)),
            "total_s": round(self.total.as_secs_f64()),
        })
    }
}

fn scored(score: &Score) -> Value {
    let mut members = score.all.members();
    members.insert("p50_ms".into(), json!(round(score.within_ms(0.5))));
    members.insert("p95_ms".into(), json!(round(score.within_ms(0.95))));
    let category = |(number, recall): (&u8, &Recall)| {
        let mut members = recall.members();
        members.insert("questions".into(), json!(recall.questions));
        (category_name(*number), Value::Object(members))
    };
    members.insert("categories".into(), Value::Object(score.categories.iter().map(category).collect()));
    Value::Object(members)
}

/// What LoCoMo calls the kinds of its questions.
fn category_name(number: u8) -> String {
    match number {
        1 => "multi-hop".into(),
        2 => "temporal".into(),
        3 => "open-domain".into(),
        4 => "single-hop".into(),
        5 => "adversarial".into(),
        other => format!("category {other}"),
    }
}

fn per_second(many: usize, took: Duration) -> f64 {
    many as f64 / took.as_secs_f64().max(1e-9)
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Prints a report.
pub(super) fn show(report: &Report, context: &Context) -> Result<()> {
    let output = &context.output;
    if output.is_json() {
        output.raw_json(&report.as_json().to_string())?;
        return Ok(());
    }
    let model = report.model.as_deref().unwrap_or("none, words alone");
    let (questions, turns) = (report.default.all.questions, report.ingest.turns);
    output.line(format!(
        "{questions} questions about {} conversations of {turns} turns; model: {model}",
        report.conversations
    ))?;
    output.line("recall in percent: of the turns, or sessions, that hold the answer, those among the first 5, 10, 20\n")?;
    output.sheet(&by_way(report))?;
    output.line("")?;
    output.sheet(&by_category(&report.default))?;
    output.line("")?;
    output.sheet(&times(report))?;
    Ok(())
}

fn by_way(report: &Report) -> Sheet {
    let mut sheet = Sheet::new([
        ("search", Kind::Text),
        ("turn@5", Kind::Number),
        ("turn@10", Kind::Number),
        ("turn@20", Kind::Number),
        ("session@5", Kind::Number),
        ("session@10", Kind::Number),
        ("p50 ms", Kind::Number),
        ("p95 ms", Kind::Number),
    ]);
    for score in report.scores() {
        let name = score.way.as_str();
        let name =
            if Report::is_ablation(score) { format!("hybrid without {name}") } else { name.to_owned() };
        let [t5, t10, t20, s5, s10] = shown(&score.all);
        let [p50, p95] = [0.5, 0.95].map(|share| format!("{:.1}", score.within_ms(share)));
        sheet.row([name, t5, t10, t20, s5, s10, p50, p95]);
    }
    sheet
}

fn by_category(score: &Score) -> Sheet {
    let mut sheet = Sheet::new([
        ("questions", Kind::Text),
        ("", Kind::Number),
        ("turn@5", Kind::Number),
        ("turn@10", Kind::Number),
        ("turn@20", Kind::Number),
        ("session@5", Kind::Number),
        ("session@10", Kind::Number),
    ]);
    for (number, recall) in &score.categories {
        let [t5, t10, t20, s5, s10] = shown(recall);
        sheet.row([category_name(*number), recall.questions.to_string(), t5, t10, t20, s5, s10]);
    }
    sheet
}

fn shown(recall: &Recall) -> [String; MEASURES.len()] {
    recall.percents().map(|percent| format!("{percent:.1}"))
}

fn times(report: &Report) -> Sheet {
    let Ingest { turns, merged, deferred, writes, vectors } = report.ingest;
    let rate =
        |took: Duration| format!("{:.0} a second, {:.1} s", per_second(turns, took), took.as_secs_f64());
    let mut sheet = Sheet::facts();
    sheet.fact("turns written", rate(writes));
    let count = |turns: usize| if turns == 0 { String::new() } else { turns.to_string() };
    sheet.fact("of them merged", count(merged));
    sheet.fact("of them deferred", count(deferred));
    sheet.fact("vectors made", vectors.map(rate).unwrap_or_default());
    sheet.fact("in all", format!("{:.1} s", report.total.as_secs_f64()));
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_questions_have_their_names() {
        assert_eq!([1, 5, 9].map(category_name), ["multi-hop", "adversarial", "category 9"]);
    }
}
