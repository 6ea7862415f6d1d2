//! How answers look: tables for people, the server's own JSON for programs.
//!
//! Invariant: everything on stdout goes through `Output`, so a reader that went away (`| head`) is an error value and never
//! a panic. What others wrote is shown without control characters: a text cannot steer the reader's terminal.

mod sheet;

pub(crate) use sheet::{Kind, Sheet};

use crate::client::{Reply, readable};
use crate::failure::Line;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use tabellion_server::dossier::plain;

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where answers go.
pub(crate) struct Output {
    json: bool,
    ids: bool,
    look: Look,
    styled_errors: bool,
}

/// What a table may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Colours.
    pub(crate) styled: bool,
    /// Columns of the terminal; none is a pipe, where a row stays on its line.
    pub(crate) width: Option<u16>,
}

const STRONG: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

impl Output {
    /// Output to stdout, as asked for.
    pub(crate) fn new(json: bool, when: When, ids: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let styled = |is_terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal && !no_color,
        };
        let look =
            Look { styled: styled(io::stdout().is_terminal()), width: comfy_table::Table::new().width() };
        Self { json, ids, look, styled_errors: styled(io::stderr().is_terminal()) }
    }

    /// Whether programs read it.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Whether people read it who want names and not ids.
    pub(crate) const fn shows_names(&self) -> bool {
        !self.json && !self.ids
    }

    /// A part of an answer as it is shown.
    pub(crate) fn readable(&self, value: &Value) -> Value {
        if self.shows_names() { readable(value) } else { value.clone() }
    }

    /// An answer as it is shown.
    pub(crate) fn shown(&self, reply: &Reply) -> Value {
        self.readable(&reply.value)
    }

    /// Prints one line.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}")?;
        stdout.flush()
    }

    /// Prints a table.
    pub(crate) fn sheet(&self, sheet: &Sheet) -> io::Result<()> {
        self.line(self.rendered(sheet))
    }

    /// A table as it would be printed.
    pub(crate) fn rendered(&self, sheet: &Sheet) -> String {
        sheet.render_with(self.look, self.ids)
    }

    /// Prints JSON, indented and otherwise as it is.
    pub(crate) fn raw_json(&self, text: &str) -> io::Result<()> {
        self.line(indented(text))
    }

    /// Prints an answer: as JSON, or as the table that `of` makes of it.
    pub(crate) fn reply(&self, reply: &Reply, of: impl FnOnce(&Value) -> Sheet) -> anyhow::Result<ExitCode> {
        if self.json {
            self.raw_json(&reply.text)?;
        } else {
            self.sheet(&of(&self.shown(reply)))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints a page of a listing, and how to see the next one.
    pub(crate) fn page(&self, reply: &Reply, of: impl FnOnce(&Value) -> Sheet) -> anyhow::Result<ExitCode> {
        self.reply(reply, of)?;
        match reply.value.get("next").and_then(Value::as_str) {
            Some(next) if !self.json => self.line(self.dim(&format!("more: add --cursor {next}")))?,
            _ => {}
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints a line of a complaint on stderr.
    pub(crate) fn complain(&self, line: &Line) {
        let paint = |style: Style, text: &str| painted(self.styled_errors, style, text);
        let text = match line {
            Line::Error(text) => format!("{} {}", paint(BAD, "error:"), clean(text)),
            Line::Fault(text) => format!("  {}", clean(text)),
            Line::Hint(text) => format!("{} {}", paint(WARN, "hint:"), clean(text)),
        };
        // Nobody is left to tell if stderr is gone.
        let _gone = writeln!(io::stderr().lock(), "{text}");
    }

    /// A text that stands out.
    pub(crate) fn strong(&self, text: &str) -> String {
        painted(self.look.styled, STRONG, text)
    }

    /// A text that stands back.
    pub(crate) fn dim(&self, text: &str) -> String {
        painted(self.look.styled, DIM, text)
    }

    /// A text of good news.
    pub(crate) fn good(&self, text: &str) -> String {
        painted(self.look.styled, GOOD, text)
    }

    /// A text to heed.
    pub(crate) fn warn(&self, text: &str) -> String {
        painted(self.look.styled, WARN, text)
    }

    /// A text of bad news.
    pub(crate) fn bad(&self, text: &str) -> String {
        painted(self.look.styled, BAD, text)
    }
}

fn painted(styled: bool, style: Style, text: &str) -> String {
    if styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The rows of a listing.
pub(crate) fn rows<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field as people read it: texts bare, lists with commas, nothing for nothing.
pub(crate) fn field(value: &Value, name: &str) -> String {
    let found = if name.starts_with('/') { value.pointer(name) } else { value.get(name) };
    found.map(plain).unwrap_or_default()
}

/// A text without what would steer a terminal; line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// JSON with line breaks and indentation, its members in their order and its numbers as they were written.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push(c);
                copy_string(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if c.is_ascii_whitespace() => {}
            _ => out.push(c),
        }
    }
    out
}

fn copy_string(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' => out.extend(chars.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_keeps_its_order_and_its_numbers() {
        let text = r#"{"z":1.50,"a":[1,{"b":"x, {\"}"}],"none":{ },"empty":[],"n":null}"#;
        let expected = "{\n  \"z\": 1.50,\n  \"a\": [\n    1,\n    {\n      \"b\": \"x, {\\\"}\"\n    }\n  ],\n  \"none\": {},\n  \"empty\": [],\n  \"n\": null\n}";
        assert_eq!(indented(text), expected);
        assert_eq!(indented(expected), expected);
        assert_eq!(indented("\"a\\\\\""), "\"a\\\\\"");
    }

    #[test]
    fn fields_read_as_people_write() {
        let value = json!({"name": "ana", "tags": ["a", "b"], "user": {"id": "usr_1"}, "pinned": false, "n": 0.5, "none": null});
        assert_eq!(field(&value, "name"), "ana");
        assert_eq!(field(&value, "tags"), "a, b");
        assert_eq!(field(&value, "/user/id"), "usr_1");
        assert_eq!(field(&value, "pinned"), "no");
        assert_eq!(field(&value, "n"), "0.5");
        assert_eq!(field(&value, "none") + &field(&value, "absent"), "");
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\r\nc\t\u{9b}d"), "a\u{fffd}[2Jb\u{fffd}\nc\t\u{fffd}d");
    }
}
