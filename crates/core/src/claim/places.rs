//! Places that hold other places: a town in a country is no second place.

use super::hash24;
use super::statement::Token;
use std::collections::HashSet;
use std::sync::LazyLock;

const WIDE: &str = "africa america antarctica asia australia europe argentina austria bangladesh belgium brazil \
    bulgaria canada chile china colombia croatia cuba cyprus czechia denmark egypt england estonia ethiopia finland \
    france germany ghana greece hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan \
    kenya korea kuwait latvia lebanon lithuania luxembourg malaysia malta mexico morocco nepal netherlands nigeria \
    norway pakistan panama peru philippines poland portugal qatar romania russia scotland serbia singapore slovakia \
    slovenia spain sweden switzerland syria taiwan thailand tunisia turkey uganda uk ukraine uruguay usa us \
    venezuela vietnam wales bavaria saxony tuscany catalonia brittany alabama alaska arizona arkansas california \
    colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine \
    maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon \
    pennsylvania tennessee texas utah vermont virginia wisconsin wyoming ontario quebec alberta";

static STEMS: LazyLock<HashSet<u32>> =
    LazyLock::new(|| crate::text::words(WIDE).iter().map(|stem| hash24(stem)).collect());

/// How wide a place is: two of different width can both be right.
pub(super) fn level(fill: &[Token]) -> bool {
    fill.iter().any(|token| is_wide(token.hash()))
}

/// Whether the hash of a stem is that of a country or another wide place.
pub(super) fn is_wide(hash: u32) -> bool {
    STEMS.contains(&hash)
}
