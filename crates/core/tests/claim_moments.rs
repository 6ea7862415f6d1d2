//! AM-2: statements about different times do not contradict each other, and a label tells things apart.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

use tabellion_core::claim::{Claim, SIGMA_TOPIC, contradiction};
use tabellion_core::id::UserId;
use tabellion_core::item::{Content, Layer};
use tabellion_core::text::Analyser;

const ANA: UserId = UserId::from_bytes([1; 16]);
const BEN: UserId = UserId::from_bytes([2; 16]);

fn claim(text: &str, at: &str, layer: Layer) -> Claim {
    Claim::of(&Content::plain("fact", text), &mut Analyser::default()).stored(ANA, at.parse().unwrap(), layer)
}

fn contradicts(known: (&str, &str), new: (&str, &str), layer: Layer) -> bool {
    let (known, new) = (claim(known.0, known.1, layer), claim(new.0, new.1, layer));
    contradiction(&known, &new, SIGMA_TOPIC).is_some()
}

const MONDAY: &str = "2026-03-02T09:00:00Z";
const TUESDAY: &str = "2026-03-03T09:00:00Z";
const WEDNESDAY: &str = "2026-03-04T09:00:00Z";

fn check(known: &str, new: &str, expected: bool) {
    let found = contradicts((known, MONDAY), (new, WEDNESDAY), Layer::Semantic);
    assert_eq!(found, expected, "{known} / {new}");
}

/// AM-2: a past event or a reading speaks of its own moment.
#[test]
fn events_and_readings_of_two_days_do_not_contradict() {
    for (known, new) in [
        ("Ben slept 8 hours last night.", "Ben slept 11 hours last night."),
        ("At noon the sensor read 17 degrees.", "At noon the sensor read 19 degrees."),
        ("The deploy failed.", "The deploy succeeded."),
        ("The server room temperature is 21 degrees.", "The server room temperature is 24 degrees."),
        ("Maria did not sleep well.", "Maria slept well."),
        ("The build passed this morning.", "The build failed this morning."),
        ("The office is closed today.", "The office is open today."),
        ("Disk usage is at 71%.", "Disk usage is at 84%."),
    ] {
        check(known, new, false);
        assert!(!contradicts((known, MONDAY), (new, WEDNESDAY), Layer::Episodic), "{known} / {new}");
    }
}

/// AM-2: relative words are resolved against the moment at which a statement was made.
#[test]
fn relative_times_are_resolved() {
    let slept = "Ben slept 8 hours last night.";
    assert!(contradicts((slept, MONDAY), ("Ben slept 11 hours last night.", MONDAY), Layer::Semantic));
    let same =
        |a: &str, b: &str| claim(slept, a, Layer::Semantic).says_the_same(&claim(slept, b, Layer::Semantic));
    assert!(same(MONDAY, MONDAY) && !same(MONDAY, TUESDAY));
    let timed = |time: &str| {
        let fields = [("time".to_owned(), serde_json::Value::from(time))].into_iter().collect();
        let content = Content { fields, ..Content::plain("fact", slept) };
        Claim::of(&content, &mut Analyser::default()).stored(ANA, WEDNESDAY.parse().unwrap(), Layer::Semantic)
    };
    assert!(timed(MONDAY).says_the_same(&timed("2026-03-02")));
    assert!(!timed(MONDAY).says_the_same(&timed(TUESDAY)));
}

/// AM-2: what lasts is compared whenever it was said.
#[test]
fn states_of_two_days_contradict() {
    for (known, new) in [
        ("The door is open.", "The door is closed."),
        ("The office is in Berlin.", "The office is in Munich."),
        ("The service listens on port 8080.", "The service listens on port 9090."),
        ("Anna was born in 1990.", "Anna was born in 1991."),
        ("The invoice has been paid.", "The invoice has not been paid."),
        ("Tom attended the kickoff meeting.", "Tom never attended the kickoff meeting."),
        ("The temperature limit is 40 degrees.", "The temperature limit is 45 degrees."),
    ] {
        check(known, new, true);
    }
}

/// AM-2: a number or letter that only names its noun tells which thing is meant.
#[test]
fn labels_tell_things_apart() {
    for (known, new) in [
        ("Customer 8774 prefers email.", "Customer 5456 prefers phone."),
        ("Customer 8774 prefers email.", "Customer 5456 prefers email."),
        ("Port 6274 is open on the gateway.", "Port 3220 is closed on the gateway."),
        ("Port 6274 is open on the gateway.", "Port 3220 is open on the gateway."),
        ("Fact about topic 1: the sky.", "Fact about topic 2: the sky."),
        ("PR 7 is merged.", "PR 8 is not merged."),
        ("Step 4 is mandatory.", "Step 5 is optional."),
        ("Version 2.1 supports ARM.", "Version 2.2 does not support ARM."),
        ("Ticket #55 is open.", "Ticket #56 is closed."),
        ("Room A is free.", "Room B is not free."),
        ("The 2nd attempt is valid.", "The 3rd attempt is invalid."),
    ] {
        check(known, new, false);
    }
    check("Customer 8774 prefers email.", "Customer 8774 prefers phone.", true);
    check("Port 6274 is open on the gateway.", "Port 6274 is closed on the gateway.", true);
}

/// AM-2: "I" and "the user" are somebody else for each owner.
#[test]
fn what_owners_say_of_themselves_contradicts_no_other_owner() {
    let says = |owner: UserId, text: &str| {
        Claim::of(&Content::plain("fact", text), &mut Analyser::default()).stored(
            owner,
            MONDAY.parse().unwrap(),
            Layer::Semantic,
        )
    };
    let contradict = |(one, known), (other, new)| {
        contradiction(&says(one, known), &says(other, new), SIGMA_TOPIC).is_some()
    };
    for (known, new) in [
        ("I live in Berlin.", "I live in Paris."),
        ("The user lives in Berlin.", "The user lives in Paris."),
        ("User works at Siemens.", "User left Siemens in May."),
        ("My dentist is Dr Brandt.", "My dentist is Dr Okafor."),
    ] {
        assert!(!contradict((ANA, known), (BEN, new)), "{known}");
        assert!(contradict((ANA, known), (ANA, new)), "{known}");
        assert!(!says(ANA, known).says_the_same(&says(BEN, known)), "{known}");
        assert!(says(ANA, known).says_the_same(&says(ANA, known)), "{known}");
    }
    let (known, new) = ("Jonas lives in Berlin.", "Jonas lives in Paris.");
    assert!(contradict((ANA, known), (BEN, new)) && says(ANA, known).says_the_same(&says(BEN, known)));
    // A sentence of another kind beside it hides nothing.
    assert!(contradict((ANA, known), (BEN, "I checked. Jonas lives in Paris.")));
}
