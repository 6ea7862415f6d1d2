"""Which statements tell of their own moment: said again on another day, they tell of something new.

A repeat on the same day, or of something that lasts, says nothing new; that is all that may be refused as a duplicate.
"""

import re

from weeks.phrases import CLOSINGS, OPENINGS

# Families all of whose statements are events, readings or utterances.
EVENTS = {
    "household: sleep", "household: readings", "household: meals", "household: numbered lines", "coding: builds",
    "support: transcripts",
}  # fmt: skip
# Families of logs: what happened there, beside what is so.
LOGS = {"support: daily log", "support: a ticket goes on", "coding: daily log", "research: daily notes"}
SPEAKS_OF_A_DAY = re.compile(
    r"\b(today|tonight|yesterday|overnight|last night|just now|this (morning|afternoon|week)|since noon|at noon)\b",
)  # fmt: skip
HAPPENED = re.compile(
    r"\b\d{1,2}:\d\d\b|^(spoke|call|sent|refunded|escalated|asked|paired|pairing|tried|profiled|rolled back|lunch|login)\b"
    r"|\b(wrote again|asked whether|sounded annoyed|was happy|did not happen|in my queue|queue at|replied|reported that|crashed)\b"
    r"|^the deploy (failed|succeeded)",
)  # fmt: skip


def plain(text):
    """The words of a text without what people put around a statement, so that one said twice is known again."""
    text = text.lower()
    for opening in filter(None, OPENINGS):
        text = text.removeprefix(opening.lower())
    for closing in filter(None, CLOSINGS):
        text = text.removesuffix(closing.lower())
    return " ".join(re.findall(r"\w+(?:[.:]\d+)*", text))


def speaks_of_its_moment(text, family):
    """Whether the same words on another day tell of something else."""
    text = text.lower()
    for opening in filter(None, OPENINGS):
        text = text.removeprefix(opening.lower())
    is_logged = family in LOGS and HAPPENED.search(text)
    return family in EVENTS or bool(SPEAKS_OF_A_DAY.search(text) or is_logged)
