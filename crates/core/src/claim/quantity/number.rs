//! Numbers in digits and in words, with their units.

use super::{
    AREA, COUNT, DATA, DOLLAR, DURATION, EURO, FREQUENCY, Found, LENGTH, MARK_CONVERTED, MASS, ORDINAL,
    PERCENT, POUND, POWER, SPEED, TEMPERATURE, VERSION, VOLUME, Value, YEN, text,
};
use crate::claim::words::Word;

/// "v1.2", "1.2.3": an interval of all that it is the beginning of.
pub(super) fn version(word: &str, before: Option<&str>) -> Option<Found> {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let dots = digits.chars().filter(|c| *c == '.').count();
    let marked = digits.len() < word.len() || matches!(before, Some("version" | "release"));
    if !(marked || dots >= 2) || dots > 3 || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let (mut low, mut high, mut step) = (0.0, 0.0, 1e12);
    let mut parts = digits.split('.');
    for _ in 0..4 {
        let (first, last) = match parts.next() {
            Some(part) => (part.parse::<u16>().ok()?, part.parse::<u16>().ok()?),
            None => (0, 999),
        };
        low += f64::from(first.min(999)) * step;
        high += f64::from(last.min(999)) * step;
        step /= 1000.0;
    }
    Some((Value::between(VERSION, low, high), 1))
}

/// A number in digits or words, with its unit.
pub(super) fn number(words: &[Word], before: Option<&str>) -> Option<Found> {
    if text(words, 0) == "one" && !one_counts(words, before) {
        return None;
    }
    let (mut amount, mut taken, mut suffix) = numeral(words)?;
    let mut high = amount;
    if let Some((last, more, rest)) = range_end(words, taken, &suffix) {
        (high, taken, suffix) = (last, taken + more, rest);
    }
    if high < amount || is_of_a_name(&suffix) {
        return None;
    }
    while let Some(scale) = scale(text(words, taken)).filter(|_| scales(&suffix) && !stops(words, taken)) {
        (amount, high, taken) = (amount * scale, high * scale, taken + 1);
    }
    Some(with_unit(words, (amount, high), taken, &suffix))
}

/// What follows a number that is the front of a name: a telephone number, a part, a size.
fn is_of_a_name(suffix: &str) -> bool {
    suffix.contains(|c: char| c.is_ascii_digit()) && unit(suffix.trim_start_matches('-')).is_none()
}

/// A number may be scaled by the next word unless a unit is glued to it already.
fn scales(suffix: &str) -> bool {
    suffix.chars().all(|c| currency(c).is_some())
}

fn stops(words: &[Word], taken: usize) -> bool {
    taken.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|word| word.stop)
}

fn one_counts(words: &[Word], before: Option<&str>) -> bool {
    let next = text(words, 1);
    !matches!(
        next,
        "" | "of" | "another" | "day" | "time" | "being" | "is" | "that" | "who" | "and" | "in" | "on" | "at"
    ) && !matches!(
        before,
        Some("the" | "this" | "that" | "no" | "every" | "each" | "another" | "new" | "which")
    )
}

/// "3 to 5", "between 3 and 5", "3-5".
fn range_end(words: &[Word], taken: usize, suffix: &str) -> Option<(f64, usize, String)> {
    if let Some(rest) = suffix.strip_prefix(['-', '–']) {
        let (amount, rest) = digits(rest)?;
        return Some((amount, 0, rest.to_owned()));
    }
    if !suffix.is_empty() || !matches!(text(words, taken), "to" | "or") {
        return None;
    }
    let (amount, more, rest) = numeral(words.get(taken + 1..)?)?;
    Some((amount, more + 1, rest))
}

/// The number, the words it takes, and what is glued to its last digit.
pub(super) fn numeral(words: &[Word]) -> Option<(f64, usize, String)> {
    let first = text(words, 0);
    if first.starts_with(|c: char| {
        c.is_ascii_digit() || currency(c).is_some() || matches!(c, '-' | '+' | '~' | '.')
    }) {
        let symbol = first.chars().next().filter(|c| currency(*c).is_some());
        let (amount, rest) =
            digits(first.trim_start_matches(|c| currency(c).is_some() || matches!(c, '~' | '+')))?;
        let suffix = symbol.map_or_else(|| rest.to_owned(), |symbol| format!("{rest}{symbol}"));
        return Some((amount, 1, suffix));
    }
    in_words(words)
}

/// The number at the front of a text, and what follows it.
fn digits(text: &str) -> Option<(f64, &str)> {
    let negative = text.starts_with('-');
    let text = text.strip_prefix('-').unwrap_or(text);
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.'))).unwrap_or(text.len());
    let (front, rest) = text.split_at_checked(end)?;
    let front = front.trim_end_matches(['.', ',']);
    // With a leading zero it is a name: 007, a telephone number.
    if front.len() > 1 && front.starts_with('0') && !front.starts_with("0.") {
        return None;
    }
    let plain: String = front.chars().filter(|c| *c != ',').collect();
    let amount: f64 = plain.parse().ok().filter(|x: &f64| x.is_finite() && *x < 9e15)?;
    Some((if negative { -amount } else { amount }, rest))
}

fn in_words(words: &[Word]) -> Option<(f64, usize, String)> {
    let first = text(words, 0);
    if let Some((tens, ones)) = first.split_once('-') {
        let (tens, ones) = (small(tens)?, small(ones));
        return match ones {
            Some(ones) if tens >= 20.0 && ones < 10.0 => Some((tens + ones, 1, String::new())),
            Some(_) => None,
            None => {
                Some((tens, 1, first.split_once('-').map_or(String::new(), |(_, rest)| format!("-{rest}"))))
            }
        };
    }
    let mut amount = small(first)?;
    let mut taken = 1;
    if (20.0..100.0).contains(&amount)
        && let Some(ones) = small(text(words, 1)).filter(|ones| *ones < 10.0)
    {
        (amount, taken) = (amount + ones, 2);
    }
    Some((amount, taken, String::new()))
}

fn small(word: &str) -> Option<f64> {
    const NAMES: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [&str; 7] = ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let named = NAMES.iter().position(|name| *name == word).map(|at| at as f64);
    let tens = || TENS.iter().position(|name| *name == word).map(|at| (at + 3) as f64 * 10.0);
    let others = || match word {
        "dozen" => Some(12.0),
        "hundred" => Some(100.0),
        "twice" => Some(2.0),
        "once" => Some(1.0),
        "half" => Some(0.5),
        _ => None,
    };
    named.or_else(tens).or_else(others).filter(|_| word != "once")
}

fn scale(word: &str) -> Option<f64> {
    match word {
        "hundred" => Some(100.0),
        "thousand" | "k" => Some(1e3),
        "million" | "mn" => Some(1e6),
        "billion" | "bn" => Some(1e9),
        "trillion" => Some(1e12),
        "dozen" => Some(12.0),
        _ => None,
    }
}

fn currency(c: char) -> Option<u8> {
    match c {
        '$' => Some(DOLLAR),
        '€' => Some(EURO),
        '£' => Some(POUND),
        '¥' => Some(YEN),
        _ => None,
    }
}

fn with_unit(words: &[Word], (low, high): (f64, f64), mut taken: usize, suffix: &str) -> Found {
    if matches!(suffix, "st" | "nd" | "rd" | "th") {
        return (Value::between(ORDINAL, low, high), taken);
    }
    let (mut low, mut high) = (low, high);
    let mut glued = suffix.trim_start_matches('-');
    // The symbol stands last, wherever it was written.
    let symbol = glued.chars().last().and_then(currency);
    if symbol.is_some() {
        glued = glued.trim_end_matches(|c| currency(c).is_some());
    }
    let factor = match glued {
        "k" => 1e3,
        "m" | "mn" if symbol.is_some() => 1e6,
        "b" | "bn" if symbol.is_some() => 1e9,
        _ => 1.0,
    };
    (low, high) = (low * factor, high * factor);
    if let Some(dim) = symbol {
        return (Value::between(dim, low, high), taken);
    }
    let next = if glued.is_empty() && !stops(words, taken) { text(words, taken) } else { glued };
    let next = next.strip_suffix("-old").unwrap_or(next);
    let Some((dim, scale, offset)) = unit(next).filter(|_| factor == 1.0 || glued.is_empty()) else {
        return (Value::between(COUNT, low, high), taken);
    };
    if glued.is_empty() {
        taken += 1;
    }
    if text(words, taken) == "old" || (dim == TEMPERATURE && unit(text(words, taken)).is_some()) {
        let (scale, offset) =
            unit(text(words, taken)).map_or((scale, offset), |(_, scale, offset)| (scale, offset));
        taken += 1;
        return (converted(dim, (low, high), scale, offset), taken);
    }
    (converted(dim, (low, high), scale, offset), taken)
}

fn converted(dim: u8, (low, high): (f64, f64), scale: f64, offset: f64) -> Value {
    let mut value = Value::between(dim, low * scale + offset, high * scale + offset);
    if scale != 1.0 && dim != DURATION && dim < DOLLAR {
        value.mark |= MARK_CONVERTED;
    }
    value
}

/// The dimension of a unit, its size in the base unit, and where its zero lies.
pub(super) fn unit(word: &str) -> Option<(u8, f64, f64)> {
    let (dim, scale) = match word {
        "%" | "percent" | "pct" => (PERCENT, 1.0),
        "mm" | "millimeter" | "millimeters" | "millimetre" | "millimetres" => (LENGTH, 0.001),
        "cm" | "centimeter" | "centimeters" | "centimetre" | "centimetres" => (LENGTH, 0.01),
        "m" | "meter" | "meters" | "metre" | "metres" => (LENGTH, 1.0),
        "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => (LENGTH, 1000.0),
        "mile" | "miles" | "mi" => (LENGTH, 1609.344),
        "foot" | "feet" | "ft" => (LENGTH, 0.3048),
        "inch" | "inches" => (LENGTH, 0.0254),
        "yard" | "yards" => (LENGTH, 0.9144),
        "mg" | "milligram" | "milligrams" => (MASS, 1e-6),
        "mcg" | "microgram" | "micrograms" => (MASS, 1e-9),
        "g" | "gram" | "grams" => (MASS, 0.001),
        "kg" | "kilo" | "kilos" | "kilogram" | "kilograms" => (MASS, 1.0),
        "ton" | "tons" | "tonne" | "tonnes" => (MASS, 1000.0),
        "lb" | "lbs" => (MASS, 0.453_592),
        "oz" | "ounce" | "ounces" => (MASS, 0.028_35),
        "ms" | "millisecond" | "milliseconds" => (DURATION, 0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => (DURATION, 1.0),
        "min" | "mins" | "minute" | "minutes" => (DURATION, 60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => (DURATION, 3600.0),
        "day" | "days" => (DURATION, 86_400.0),
        "week" | "weeks" => (DURATION, 604_800.0),
        "month" | "months" => (DURATION, 2_629_800.0),
        "year" | "years" | "yr" | "yrs" => (DURATION, 31_557_600.0),
        "decade" | "decades" => (DURATION, 315_576_000.0),
        "kb" | "kib" | "kilobytes" => (DATA, 1e3),
        "mb" | "mib" | "megabyte" | "megabytes" => (DATA, 1e6),
        "gb" | "gib" | "gigabyte" | "gigabytes" => (DATA, 1e9),
        "tb" | "tib" | "terabyte" | "terabytes" => (DATA, 1e12),
        "byte" | "bytes" => (DATA, 1.0),
        "celsius" | "c" | "°c" | "degrees" | "degree" | "°" => (TEMPERATURE, 1.0),
        "fahrenheit" | "f" | "°f" => return Some((TEMPERATURE, 5.0 / 9.0, -160.0 / 9.0)),
        "km/h" | "kmh" | "kph" => (SPEED, 1.0),
        "mph" => (SPEED, 1.609_344),
        "liter" | "liters" | "litre" | "litres" | "l" => (VOLUME, 1.0),
        "ml" | "milliliter" | "milliliters" | "millilitres" => (VOLUME, 0.001),
        "gallon" | "gallons" => (VOLUME, 3.785_41),
        "sqm" | "m²" | "m2" => (AREA, 1.0),
        "sqft" => (AREA, 0.092_903),
        "hectare" | "hectares" | "ha" => (AREA, 10_000.0),
        "acre" | "acres" => (AREA, 4_046.86),
        "hz" => (FREQUENCY, 1.0),
        "khz" => (FREQUENCY, 1e3),
        "mhz" => (FREQUENCY, 1e6),
        "ghz" => (FREQUENCY, 1e9),
        "w" | "watt" | "watts" => (POWER, 1.0),
        "kw" | "kilowatt" | "kilowatts" => (POWER, 1e3),
        "dollar" | "dollars" | "usd" | "bucks" | "$" => (DOLLAR, 1.0),
        "euro" | "euros" | "eur" | "€" => (EURO, 1.0),
        "pound" | "pounds" | "gbp" | "£" => (POUND, 1.0),
        "yen" | "jpy" => (YEN, 1.0),
        _ => return None,
    };
    Some((dim, scale, 0.0))
}
