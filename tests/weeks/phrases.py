"""Words that several teams use, and the noise of real typing."""

import random

FIRST = """Nora Emil Aisha Tomasz Ingrid Rafael Mei Kwame Sofia Dmitri Yusuf Clara Hugo Priyanka Liam Fatima Oskar Renata Bao
Elif Marcus Anneke Pablo Zoe Henrik Leila Viktor Amara Jonas Chiara Samir Greta Owen Lucia Arjun Maeve Niko Paula Ravi Selma
Tariq Ursula Wanda Xavier Yara Zoltan Bruno Celeste Dario Esther""".split()
LAST = """Lindqvist Okafor Moreau Baumann Castellano Petrov Nakamura Haddad O'Brien Kowalski Ferreira Jensen Dubois Achebe Romano
Svensson Takeda Weiss Novak Costa Murphy Andersen Leclerc Vargas Schneider Rossi Ivanova Hoffmann Almeida Byrne Kaya Demir
Bianchi Larsen Mensah Duarte Fischer Sato Keller Popescu""".split()
COMPANIES = """Brightwater Foods|Halden Logistics|Kestrel Optics|Marlow & Sons|Nordlicht Energie|Pinecrest Dental|Quill Press|
Redfern Bikes|Solberg Marine|Tindall Insurance|Umbra Studios|Verity Labs|Westgate Clinics|Yarrow Farms|Zephyr Air Cargo|
Alder Street Bakery|Blue Heron Hotels|Copperfield Tools|Drumlin Dairy|Eastbank Legal|Fennel & Thyme|Granite Peak Outdoor|
Harrow Textiles|Ivory Coast Imports|Juniper Schools|Larkspur Media|Millrace Paper|Northfield Motors|Orchard Lane Vets|
Pebble Games""".replace("\n", "").split("|")
CITIES = """Berlin Paris Lisbon Vienna Prague Oslo Dublin Madrid Warsaw Ghent Turin Leeds Porto Basel Utrecht Gdansk Malmo
Seville Graz Bristol""".split()
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
OPENINGS = (
    "", "", "", "", "", "", "FYI: ", "Note: ", "for the record, ", "btw ", "ok so ", "Reminder: ", "hm, ", "update: ",
)
CLOSINGS = (
    "", "", "", "", "", "", "", " Nothing else to add.", " (from the call)", " - see thread", " :)", " Thanks!",
    " Will follow up.",
)


def typed(rng, text):
    """The text as somebody in a hurry types it: most of the time as it is."""
    text = rng.choice(OPENINGS) + text + rng.choice(CLOSINGS)
    dice = rng.random()
    if dice < 0.05:
        return text.lower()
    if dice < 0.08:
        return text.rstrip(".")
    if dice < 0.10:
        return text.replace("the ", "teh ", 1)
    if dice < 0.12:
        return text.replace(" and ", " & ")
    return text


def one_of(rng, *forms, **values):
    """One of several ways to say the same thing."""
    return rng.choice(forms).format(**values)


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def settled(options, *about):
    """One of several values, always the same for the same things: what is said of them twice is said alike."""
    return random.Random(repr(about)).choice(options)


def joined(rng, *sentences):
    """Some of several sentences as one note, the way a summary or a protocol looks."""
    chosen = rng.sample(sentences, rng.randrange(2, min(4, len(sentences)) + 1))
    match rng.randrange(4):
        case 0:
            return "\n".join(f"- {one}" for one in chosen)
        case 1:
            return "; ".join(one.rstrip(".") for one in chosen)
        case _:
            return " ".join(one if one.endswith((".", "!", "?")) else one + "." for one in chosen)
