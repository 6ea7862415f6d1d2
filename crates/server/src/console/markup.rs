//! How does a page come to be?
//!
//! INVARIANT (own markup): markup is only what stands in this source, as `&'static str`; everything else enters by `text` or
//! `attr`, which escape it. What an agent wrote can therefore never be more than text.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A piece of a page in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text, escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // A parser would end, replace or refuse these; whoever shows texts of others makes them visible before.
                c if c.is_control() && !matches!(c, '\n' | '\t') => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        self
    }

    /// An attribute of the tag that is being written.
    pub(super) fn attr(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"").text(value).raw("\"")
    }

    /// Another piece.
    pub(super) fn put(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The page as an answer.
    pub(super) fn answer(self, status: StatusCode) -> Response {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        (status, [(header::CONTENT_TYPE, html)], self.0).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GOV-6.4: what is to be reviewed is shown and never run.
    #[test]
    fn what_is_not_ours_is_escaped() {
        let mut html = Html::default();
        html.raw("<p")
            .attr("title", "\" onload='x")
            .raw(">")
            .text("<script>alert('&')</script>\u{0}\u{1b}")
            .raw("</p>");
        assert_eq!(
            html.0,
            "<p title=\"&quot; onload=&#39;x\">&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;\u{fffd}\u{fffd}</p>"
        );
    }
}
