//! Tables: what is in a column decides how it is shown.

use super::{Look, clean};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Row, Table,
    TableStyle,
};

/// Characters of a long text in a table.
const TEXT_CHARS_MAX: usize = 240;
/// Lines that a row may take on a terminal.
const ROW_LINES_MAX: usize = 4;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An id or a short word: never broken over lines, so that it can be copied.
    Word,
    /// An id of what has a name beside it: shown only with `--ids`.
    Id,
    /// A number.
    Number,
    /// A moment, shown to the second.
    Time,
    /// A moment, shown to the day.
    Date,
    /// A long text, shown in part.
    Text,
    /// A text to be shown whole.
    Whole,
    /// How something stands; good and bad have their colours.
    State,
}

/// A table in the making.
#[derive(Debug)]
pub(crate) struct Sheet {
    titles: Vec<&'static str>,
    kinds: Vec<Kind>,
    rows: Vec<Vec<String>>,
    empty: &'static str,
    named: bool,
}

impl Sheet {
    /// A table with these columns.
    pub(crate) fn new<const N: usize>(columns: [(&'static str, Kind); N]) -> Self {
        let (titles, kinds) = columns.into_iter().unzip();
        Self { titles, kinds, rows: Vec::new(), empty: "nothing to show", named: true }
    }

    /// A table of names and values, for one thing.
    pub(crate) fn facts() -> Self {
        Self { named: false, ..Self::new([("", Kind::Word), ("", Kind::Whole)]) }
    }

    /// The same table, saying this if it has no rows.
    pub(crate) fn or(mut self, empty: &'static str) -> Self {
        self.empty = empty;
        self
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a fact, unless there is nothing to say.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.row([name.to_owned(), value]);
        }
    }

    /// The table as text, with or without the columns of ids.
    pub(crate) fn render_with(&self, look: Look, ids: bool) -> String {
        if ids || !self.kinds.contains(&Kind::Id) {
            return self.render(look);
        }
        fn kept<T: Clone>(kinds: &[Kind], cells: &[T]) -> Vec<T> {
            let cells = cells.iter().zip(kinds).filter(|(_, kind)| **kind != Kind::Id);
            cells.map(|(cell, _)| cell.clone()).collect()
        }
        let without = Self {
            titles: kept(&self.kinds, &self.titles),
            kinds: kept(&self.kinds, &self.kinds),
            rows: self.rows.iter().map(|row| kept(&self.kinds, row)).collect(),
            empty: self.empty,
            named: self.named,
        };
        without.render(look)
    }

    /// The table as text.
    pub(crate) fn render(&self, look: Look) -> String {
        if self.rows.is_empty() {
            return self.empty.to_owned();
        }
        let mut table = self.table(look);
        if self.named {
            table.set_header(self.titles.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
        }
        for cells in &self.rows {
            let mut row = Row::from(self.cells(cells));
            if look.width.is_some() && !self.kinds.contains(&Kind::Whole) {
                row.max_height(ROW_LINES_MAX);
            }
            table.add_row(row);
        }
        for (column, kind) in table.column_iter_mut().zip(&self.kinds) {
            column.set_padding((0, 2));
            if matches!(kind, Kind::Word | Kind::Id | Kind::Time | Kind::Date | Kind::State | Kind::Number) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table.trim_fmt()
    }

    fn table(&self, look: Look) -> Table {
        let mut table = Table::new();
        let line = LineStyle::none().fill('─').junction('─');
        table.load_style(if self.named {
            TableStyle::new().header_separator(line)
        } else {
            TableStyle::new()
        });
        table.force_no_tty();
        if let Some(width) = look.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        if look.styled {
            table.enforce_styling();
        }
        table
    }

    fn cells<'a>(&'a self, cells: &'a [String]) -> impl Iterator<Item = Cell> + 'a {
        cells.iter().zip(&self.kinds).enumerate().map(move |(place, (text, kind))| {
            let shown = clean(&shown(text, *kind));
            let cell = match kind {
                Kind::Number => Cell::new(shown).set_alignment(CellAlignment::Right),
                Kind::State => tinted(shown),
                Kind::Word | Kind::Id | Kind::Time | Kind::Date | Kind::Text | Kind::Whole => {
                    Cell::new(shown)
                }
            };
            if place == 0 && !self.named { cell.add_attribute(Attribute::Dim) } else { cell }
        })
    }
}

fn shown(text: &str, kind: Kind) -> String {
    match kind {
        Kind::Time => to_the_second(text),
        Kind::Date => text.split('T').next().unwrap_or_default().to_owned(),
        Kind::Text => one_line(text),
        Kind::Word | Kind::Whole if is_time(text) => to_the_second(text),
        Kind::Word | Kind::Id | Kind::Number | Kind::Whole | Kind::State => text.to_owned(),
    }
}

/// Whether a text is a moment as the server writes it.
fn is_time(text: &str) -> bool {
    text.len() == 27
        && text.ends_with('Z')
        && text.as_bytes().get(10) == Some(&b'T')
        && text.as_bytes().get(19) == Some(&b'.')
}

/// `2026-11-15T00:00:00.000000Z` as `2026-11-15 00:00:00Z`.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) if time.ends_with('Z') => format!("{}Z", seconds.replacen('T', " ", 1)),
        _ => time.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    at_most(&text.split_whitespace().collect::<Vec<_>>().join(" "), TEXT_CHARS_MAX)
}

fn at_most(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn tinted(word: String) -> Cell {
    let color = match word.as_str() {
        "ok" | "active" | "committed" | "high" | "pinned" => Some(Color::Green),
        "warn" | "superseded" | "expired" | "low" | "already_committed" | "replayed" => Some(Color::Yellow),
        "fail" | "retracted" | "revoked" | "rejected" => Some(Color::Red),
        _ if word.chars().any(|c| c.is_ascii_uppercase()) => Some(Color::Red),
        _ => None,
    };
    let cell = Cell::new(word);
    match color {
        Some(color) => cell.fg(color),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> Sheet {
        let columns = [
            ("score", Kind::Number),
            ("trust", Kind::State),
            ("id", Kind::Word),
            ("text", Kind::Text),
            ("updated", Kind::Date),
        ];
        let mut sheet = Sheet::new(columns);
        let id = |last: &str| format!("itm_aaaaaaaaaaaaaaaaaaaaaaaaa{last}");
        let time = || "2026-11-15T00:00:00.000004Z".to_owned();
        sheet.row(["0.71".into(), "medium".into(), id("a"), "Port 8080 serves the API".into(), time()]);
        sheet.row(["0.5".into(), "low".into(), id("b"), "a text\nof several lines, ".repeat(12), time()]);
        sheet
    }

    #[test]
    fn a_pipe_gets_a_row_a_line() {
        insta::assert_snapshot!("table_pipe", items().render(Look { styled: false, width: None }));
    }

    #[test]
    fn a_terminal_gets_wrapped_texts_and_whole_ids() {
        insta::assert_snapshot!("table_terminal", items().render(Look { styled: false, width: Some(100) }));
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        assert!(!items().render(Look { styled: false, width: Some(80) }).contains('\x1b'));
        assert!(items().render(Look { styled: true, width: Some(80) }).contains('\x1b'));
    }

    #[test]
    fn facts_have_no_header_and_skip_what_is_absent() {
        let mut sheet = Sheet::facts();
        sheet.fact("id", "itm_a");
        sheet.fact("key", "");
        sheet.fact("text", "two\nlines");
        assert_eq!(sheet.render(Look { styled: false, width: None }), "id    itm_a\ntext  two\n      lines");
    }

    #[test]
    fn ids_beside_names_are_shown_only_if_asked_for() {
        let mut sheet = Sheet::new([("id", Kind::Id), ("name", Kind::Word)]);
        sheet.row(["usr_v7lvdmk7em7l5qhu7mctspboom".into(), "ana".into()]);
        let look = Look { styled: false, width: None };
        assert!(!sheet.render_with(look, false).contains("usr_"));
        assert!(sheet.render_with(look, true).contains("usr_v7lvdmk7em7l5qhu7mctspboom"));
    }

    #[test]
    fn an_empty_table_says_so() {
        let sheet = Sheet::new([("id", Kind::Word)]).or("no items");
        assert_eq!(sheet.render(Look { styled: false, width: None }), "no items");
    }
}
