//! Lines of an input with their numbers, of bounded length and a bounded number at a time. Blank ones are skipped.

use std::io::{self, BufRead, Read};

/// One line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its number in the file, from 1.
    pub(crate) number: u64,
    /// What it says; none if it was too long to be read.
    pub(crate) text: Option<Vec<u8>>,
}

/// The lines of an input.
pub(crate) struct Lines {
    input: Box<dyn BufRead>,
    length_max: usize,
    number: u64,
    bytes: u64,
}

impl Lines {
    /// The lines of this input; of those longer than `length_max` bytes only the number is kept.
    pub(crate) fn of(input: Box<dyn BufRead>, length_max: usize) -> Self {
        Self { input, length_max, number: 0, bytes: 0 }
    }

    /// Bytes read so far.
    pub(crate) const fn bytes_read(&self) -> u64 {
        self.bytes
    }

    /// The next lines, until there are enough of them; none at the end.
    pub(crate) fn chunk(&mut self, lines_max: usize, bytes_max: usize) -> io::Result<Vec<Line>> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while chunk.len() < lines_max && bytes < bytes_max {
            match self.next()? {
                Some(Line { text: Some(text), .. }) if text.iter().all(u8::is_ascii_whitespace) => {}
                Some(line) => {
                    bytes += line.text.as_ref().map_or(0, Vec::len);
                    chunk.push(line);
                }
                None => break,
            }
        }
        Ok(chunk)
    }

    /// The next line that is not blank.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        Ok(self.chunk(1, usize::MAX)?.pop())
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        let mut text = Vec::new();
        let read = self.input.by_ref().take(self.length_max as u64 + 1).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(None);
        }
        self.bytes += read as u64;
        self.number += 1;
        if text.last() == Some(&b'\n') {
            text.pop();
        } else if text.len() > self.length_max {
            self.bytes += skip_line(&mut self.input)?;
            return Ok(Some(Line { number: self.number, text: None }));
        }
        Ok(Some(Line { number: self.number, text: Some(text) }))
    }
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let available = input.fill_buf()?;
        let (length, is_end) = match available.iter().position(|byte| *byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (available.len(), available.is_empty()),
        };
        input.consume(length);
        skipped += length as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH_MAX: usize = 64;

    fn check(input: &[u8], expected: &[(u64, Option<&str>)]) {
        let mut lines = Lines::of(Box::new(io::Cursor::new(input.to_vec())), LENGTH_MAX);
        let mut found = Vec::new();
        loop {
            let chunk = lines.chunk(2, 1 << 20).unwrap();
            assert!(chunk.len() <= 2);
            if chunk.is_empty() {
                break;
            }
            found.extend(chunk);
        }
        let expected = expected
            .iter()
            .map(|(number, text)| Line { number: *number, text: text.map(|text| text.as_bytes().to_vec()) });
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(lines.bytes_read(), input.len() as u64);
    }

    #[test]
    fn numbers_are_those_of_the_file() {
        check(b"a\n\nb\r\n   \nc", &[(1, Some("a")), (3, Some("b\r")), (5, Some("c"))]);
        check(b"", &[]);
        check(b"\n\n", &[]);
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let long = [vec![b'x'; LENGTH_MAX + 7], b"\nb\n".to_vec()].concat();
        check(&long, &[(1, None), (2, Some("b"))]);
        let just = [vec![b'x'; LENGTH_MAX], b"\n".to_vec()].concat();
        let text = String::from_utf8(vec![b'x'; LENGTH_MAX]).unwrap();
        check(&just, &[(1, Some(&text))]);
    }
}
