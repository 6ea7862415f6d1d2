//! A picture of what happened over the rounds: hits, poison that was let in, and how credible liars were.

use super::Case;
use super::play::{AGENTS, Played, is_liar};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const PANEL: f64 = 200.0;
const MARGIN: f64 = 46.0;
const COLOURS: [&str; 5] = ["#1b6e53", "#b3541e", "#3d5a9e", "#8a2d63", "#6b6b2a"];
/// What is drawn.
const DRAWN: [&str; 5] = [
    "ship A1 local k=3",
    "ship A2 persistent k=3",
    "ship A2 selective k=3",
    "vanilla A1 local k=3",
    "majority A1 local k=3",
];

/// One figure over the rounds, as a share.
type Line = fn(&Case) -> Vec<f64>;

pub(super) fn drawn(cases: &[Case]) -> String {
    let panels: [(&str, Line); 3] = [
        ("hit@5 after each talk", |case| averaged(case, |played| played.hits.clone())),
        ("poison let in, share of all poison so far sent", |case| averaged(case, poisoned)),
        ("credibility of liars", |case| {
            let adversaries = case.adversaries;
            averaged(case, move |played| credible(played, adversaries))
        }),
    ];
    let height = MARGIN + panels.len() as f64 * (PANEL + MARGIN);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' font-family='sans-serif' font-size='13'>\
         <rect width='100%' height='100%' fill='white'/>"
    );
    for (place, (title, line)) in panels.iter().enumerate() {
        let top = MARGIN + place as f64 * (PANEL + MARGIN);
        frame(&mut svg, title, top);
        for (number, name) in DRAWN.iter().enumerate() {
            let Some(case) = cases.iter().find(|case| case.name == *name) else { continue };
            curve(&mut svg, &line(case), top, number);
            if place == 0 {
                legend(&mut svg, name, number);
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn frame(svg: &mut String, title: &str, top: f64) {
    let width = WIDTH - 2.0 * MARGIN;
    let _ = writeln!(
        svg,
        "<text x='{MARGIN}' y='{}'>{title}</text><rect x='{MARGIN}' y='{top}' width='{width}' height='{PANEL}' fill='none' stroke='#999'/>",
        top - 6.0
    );
    for share in [0.0, 0.5, 1.0] {
        let _ = writeln!(svg, "<text x='8' y='{}'>{share:.1}</text>", top + PANEL * (1.0 - share) + 4.0);
    }
}

fn legend(svg: &mut String, name: &str, number: usize) {
    let (x, colour) = (MARGIN + 180.0 * number as f64, COLOURS.get(number).unwrap_or(&"black"));
    let _ = writeln!(svg, "<text x='{x}' y='16' fill='{colour}'>{name}</text>");
}

fn curve(svg: &mut String, values: &[f64], top: f64, number: usize) {
    let last = values.len().saturating_sub(1).max(1) as f64;
    let point = |(place, value): (usize, &f64)| {
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * place as f64 / last;
        format!("{x:.1},{:.1}", top + PANEL * (1.0 - value.clamp(0.0, 1.0)))
    };
    let points: Vec<String> = values.iter().enumerate().map(point).collect();
    let colour = COLOURS.get(number).unwrap_or(&"black");
    let _ = writeln!(
        svg,
        "<polyline fill='none' stroke='{colour}' stroke-width='1.6' points='{}'/>",
        points.join(" ")
    );
}

/// The mean over seeds at each place.
fn averaged(case: &Case, of: impl Fn(&Played) -> Vec<f64>) -> Vec<f64> {
    let lines: Vec<Vec<f64>> = case.played.iter().map(of).collect();
    let length = lines.iter().map(Vec::len).min().unwrap_or(0);
    let at = |place: usize| {
        lines.iter().filter_map(|line| line.get(place)).sum::<f64>() / lines.len().max(1) as f64
    };
    (0..length).map(at).collect()
}

fn poisoned(played: &Played) -> Vec<f64> {
    played.poisoned.iter().map(|count| *count as f64 / played.poison.max(1) as f64).collect()
}

fn credible(played: &Played, adversaries: usize) -> Vec<f64> {
    let liars: Vec<usize> = (0..AGENTS).filter(|agent| is_liar(*agent, adversaries)).collect();
    let mean = |all: &std::collections::BTreeMap<usize, f64>| {
        let sum: f64 = liars.iter().map(|agent| all.get(agent).copied().unwrap_or(1.0)).sum();
        sum / liars.len().max(1) as f64
    };
    played.credibility.iter().map(mean).collect()
}
