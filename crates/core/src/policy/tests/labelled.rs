//! Texts whose label is known: what each detector must find, and what only looks like it.

use crate::policy::{Class, detect, redact};
use std::collections::BTreeSet;

/// Every positive is found whole by its own detector, alone and among words; no negative is found by it at all.
fn check(class: Class, positives: &[&str], negatives: &[&str]) {
    assert!(positives.len() >= 20 && negatives.len() >= 20, "{}/{}", positives.len(), negatives.len());
    let only = BTreeSet::from([class]);
    let mut wrong = Vec::new();
    for positive in positives {
        let (before, found) = positive.split_once("<<").unwrap_or(("", positive));
        let (found, after) = found.split_once(">>").unwrap_or((found, ""));
        for (left, right) in [("", ""), ("Note: ", "."), ("(", ")"), ("是", "。")] {
            let text = format!("{left}{before}{found}{after}{right}");
            let start = left.len() + before.len();
            let spans = detect(&text, &only);
            if spans.iter().all(|span| span.range != (start..start + found.len())) {
                wrong.push(format!("missed in {text:?}: {spans:?}"));
            }
            if redact(&text, &only).contains(found) {
                wrong.push(format!("not redacted in {text:?}"));
            }
        }
    }
    for negative in negatives {
        for text in [(*negative).to_owned(), format!("see {negative}, then")] {
            let spans = detect(&text, &only);
            if !spans.is_empty() {
                wrong.push(format!("found in {text:?}: {spans:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{class:?}:\n{}", wrong.join("\n"));
}

/// SHARE-17: addresses for mail.
#[test]
fn emails() {
    check(
        Class::Email,
        &[
            "a@b.co",
            "jane.doe@example.com",
            "jane+tag@example.co.uk",
            "JANE@EXAMPLE.ORG",
            "o'neil@example.ie",
            "x_y@sub.sub.example.net",
            "user%dept@example.org",
            "1234@example.com",
            "first-last@ex-ample.io",
            "müller@example.de",
            "info@münchen.de",
            "a@xn--mnchen-3ya.xn--p1ai",
            "<<a.b@c.dev>>, then",
            "mailto:<<jo@example.org>>",
            "Jo [<<jo@example.org>>]",
            "<<jo@example.museum>>?subject=x",
            "to=<<jo@example.org>>",
            "<<jo@example.com>>:22",
            "git@github.com",
            "jo@example.travel",
            "ｊｏ@example.com",
            "jo@exam\u{200b}ple.com",
        ],
        &[
            "@jane",
            "jane@",
            "user@localhost",
            "a@b",
            "lodash@4.17.21",
            "@types/node@18.0.0",
            "logo@2x.png",
            "icon@3x.jpg",
            "x @ y.com",
            "jane at example dot com",
            "@@@@",
            "a@.com",
            "a@-b.com",
            "a@b..",
            "price @ 3.50",
            "@media.screen",
            "1@2.3",
            "a@b.1",
            "me@home",
            "a@b.c",
            "http://x.com/@user",
        ],
    );
}

/// SHARE-17: telephone numbers.
#[test]
fn phones() {
    check(
        Class::Phone,
        &[
            "+1 555 123 4567",
            "+1 (555) 123-4567",
            "+15551234567",
            "+49 170 1234567",
            "+49 (0) 30 123456",
            "+44 20 7946 0958",
            "+33 6 12 34 56 78",
            "+86-138-0013-8000",
            "+91 98765 43210",
            "0049 170 1234567",
            "555-123-4567",
            "(555) 123-4567",
            "(555)123-4567",
            "555.123.4567",
            "555 123 4567",
            "020 7946 0958",
            "06 12 34 56 78",
            "030/12345678",
            "0171-1234567",
            "(030) 1234567",
            "tel: <<5551234567>>",
            "phone <<555-1234>>",
            "call me at <<5551234>>",
            "＋４９ １７０ １２３４５６７",
            "555\u{2011}123\u{2011}4567",
        ],
        &[
            "2026-11-15",
            "15.11.2026",
            "05/11/2026",
            "05.11.2026 12",
            "2026-11-15 10:20:30",
            "1999-2004",
            "123-45-6789",
            "5551234567",
            "1234567",
            "555-1234",
            "192.168.10.1",
            "3.14159265358979",
            "978-3-16-148410-0",
            "1763200000",
            "$1,234,567.89",
            "+02:00",
            "+0200",
            "+5 points",
            "v1.2.3",
            "550e8400-e29b-41d4-a716-446655440000",
            "4111 1111 1111 1111",
            "a1b2c3d4e5f6",
            "12 34 56",
            "100 200 300",
        ],
    );
}

/// SHARE-17: Internet addresses of both versions; versions and section numbers are none.
#[test]
fn addresses() {
    check(
        Class::Ip,
        &[
            "1.2.3.4",
            "192.168.0.1",
            "10.0.0.255",
            "255.255.255.255",
            "0.0.0.0",
            "127.0.0.1",
            "<<10.1.2.3>>:8080",
            "<<10.1.2.0>>/24",
            "http://<<10.1.2.3>>/x",
            "::1",
            "fe80::1",
            "2001:db8::1",
            "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
            "2001:DB8::A:B",
            "::ffff:192.0.2.128",
            "fe80::1ff:fe23:4567:890a",
            "2001:db8:1:2:3:4:5:6",
            "[<<2001:db8::1>>]:443",
            "fd00:abcd::",
            "host=<<172.16.254.1>>",
            "<<8.8.8.8>>.",
            "１９２.１６８.０.１",
        ],
        &[
            "version 1.2.3.4",
            "v1.2.3.4",
            "V 10.0.0.1",
            "release 4.3.2.1",
            "section 1.2.3.4",
            "build 10.0.19041.1",
            "1.2.3.4.5",
            "1.3.6.1.4.1.311",
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4-beta",
            "01.02.03.04",
            "1.2.3.999",
            "10:20:30",
            "2026-11-15T10:20:30",
            "00:1a:2b:3c:4d:5e",
            "std::vec",
            "a::b",
            "dead::beef",
            "::",
            "1:2:3:4:5:6:7:8:9",
            "f::g::h",
            "12:30",
            "use abc::def",
            "1.2.3.4a",
        ],
    );
}

/// SHARE-17: bank accounts whose check digits and length are right.
#[test]
fn accounts() {
    check(
        Class::Iban,
        &[
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "GB82WEST12345698765432",
            "GB82 WEST 1234 5698 7654 32",
            "FR1420041010050500013M02606",
            "NL91ABNA0417164300",
            "CH9300762011623852957",
            "AT611904300234573201",
            "BE68539007547034",
            "ES9121000418450200051332",
            "IT60X0542811101000000123456",
            "PL61109010140000071219812874",
            "SE4550000000058398257466",
            "NO9386011117947",
            "DK5000400440116243",
            "FI2112345600000785",
            "IE29AIBK93115212345678",
            "PT50000201231234567890154",
            "GR1601101250000000012300695",
            "TR330006100519786457841326",
            "de89370400440532013000",
            "DE89-3704-0044-0532-0130-00",
            "IBAN: <<LU280019400644750000>>",
            "MT84MALT011000012345MTLCAST001S",
        ],
        &[
            "DE88370400440532013000",
            "DE89370400440532013001",
            "DE8937040044053201300",
            "DE893704004405320130000",
            "GB82WEST12345698765423",
            "XX89370400440532013000",
            "NL91ABNA0417164301",
            "FR1420041010050500013M02607",
            "XDE89370400440532013000",
            "DE89370400440532013000X",
            "DE89  3704 0044 0532 0130 00",
            "DE89_3704_0044_0532_0130_00",
            "AT61 1904 3002 3457 3202",
            "BE68539007547035",
            "CH9300762011623852958",
            "ES9121000418450200051333",
            "DE",
            "DE89",
            "SE45 words and more words",
            "550e8400-e29b-41d4-a716-446655440000",
            "4111111111111111",
            "NO9386011117948",
        ],
    );
}

/// SHARE-17: payment cards whose check digit is right.
#[test]
fn cards() {
    check(
        Class::Card,
        &[
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "4012888888881881",
            "4222222222222",
            "5555555555554444",
            "5105105105105100",
            "5555 5555 5555 4444",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "371449635398431",
            "30569309025904",
            "3056 930902 5904",
            "38520000023237",
            "6011111111111117",
            "6011000990139424",
            "3530111333300000",
            "3566002020360505",
            "6304000000000000",
            "card:<<4111111111111111>>",
            "<<4111 1111 1111 1111>> 12/27",
            "４１１１ １１１１ １１１１ １１１１",
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "4111\u{200b}111111111111",
        ],
        &[
            "4111111111111112",
            "4111 1111 1111 1112",
            "5555555555554445",
            "378282246310006",
            "0000000000000000",
            "1111111111111117",
            "1763200000000",
            "1763200000000000",
            "9780306406157",
            "411111111111",
            "41111111111111111111",
            "4.111111111111111",
            "0.4111111111111111",
            "a4111111111111111",
            "4111111111111111b",
            "411111111111111",
            "4111  1111  1111  1111",
            "4111 1111-1111 1111",
            "550e8400-e29b-41d4-a716-446655440000",
            "2026 1115 1020 3040",
            "12345678901234567890",
            "7992739871300000",
        ],
    );
}

/// SHARE-17: American social security numbers that can have been issued.
#[test]
fn social_security_numbers() {
    check(
        Class::Ssn,
        &[
            "123-45-6789",
            "123 45 6789",
            "001-01-0001",
            "078-05-1120",
            "219-09-9999",
            "457-55-5462",
            "665-12-3456",
            "667-12-3456",
            "899-99-9999",
            "SSN <<123456789>>",
            "ssn: <<123456789>>",
            "SSN#<<123456789>>",
            "social security number <<123456789>>",
            "Social Security: <<123456789>>",
            "SSN=<<123-45-6789>>",
            "my ssn <<123-45-6789>>, ok",
            "１２３-４５-６７８９",
            "123\u{2013}45\u{2013}6789",
            "123\u{a0}45\u{a0}6789",
            "\"<<123-45-6789>>\"",
            "id:<<512-34-5678>>",
        ],
        &[
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "999-99-9999",
            "123-00-4567",
            "123-45-0000",
            "123456789",
            "123-456-7890",
            "12-345-6789",
            "1234-56-789",
            "123-45-67890",
            "1-123-45-6789",
            "123-45-6789-1",
            "123-45 6789",
            "123.45.6789",
            "a123-45-6789",
            "123-45-6789x",
            "2026-11-15",
            "978-3-16-148410-0",
            "class 123456789",
            "ssn 000456789",
            "123--45--6789",
        ],
    );
}

/// SHARE-17: long tokens without pattern; words, paths, versions and UUIDs are none.
#[test]
fn secrets() {
    check(
        Class::Secret,
        &[
            "password: <<hunter2>>",
            "the wifi passphrase is <<blue-42-fish>>",
            "DB_PWD=<<swordfish>>",
            "Passwort: <<geheim>>",
            "api_key=<<a1b2c3d4>>",
            "authorization: bearer <<abc12345.def>>",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
            "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
            "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4",
            "aB3dE6gH9jK2mN5pQ8sT",
            "JBSWY3DPEHPK3PXPGEZDGNBVGY3TQOJQ",
            "password=<<Tr0ub4dor3xQz9LmPw7Kv>>",
            "key: <<k9Lm2PqR7sTv4WxY6zAb>>",
            "Bearer <<mF9xB5f41JqMZkPw8Lr3>>",
            "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc",
            "npm_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
            "glpat-Zx7Qw9Er3Ty5Ui1Op2As",
            "xkqjzvwpbnmtrfdghslcy",
            "7c4a8d09ca3762af61e59520943dc26494f8941b",
            "hQwErTyUiOpAsDfGhJkLzX",
            "\"<<dG9rZW4tMTIzNDU2Nzg5MA>>\"",
        ],
        &[
            "the password is required to log in",
            "passwords expire after 90 days",
            "max token: 128000",
            "the secret is that we bake twice",
            "internationalization",
            "compute_relative_similarity_matrix",
            "AbstractSingletonProxyFactoryBean",
            "crates/core/src/policy/detect/secret.rs",
            "https://example.com/docs/getting-started/installation-guide",
            "subdomain.department.university.example.org",
            "550e8400-e29b-41d4-a716-446655440000",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "12345678901234567890123456789",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "abababababababababababababab",
            "2026-11-15T10-20-30-000000",
            "1.2.3-beta.4+build.20261115",
            "x86_64-unknown-linux-gnu",
            "user-agent-string-parser-v2.js",
            "aB3dE6gH9jK2mN5pQ8s",
            "--------------------------------",
            "tokio-util/codec/length_delimited.rs",
            "HTTPRequestHandlerRegistry",
            "replica12.cluster3.eu-west-1.internal",
            "well-known/openid-configuration",
            "SCREAMING_SNAKE_CASE_CONSTANT",
            "https://github.com/rust-lang/rust/issues/12345",
        ],
    );
}
