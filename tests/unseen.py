"""A write full of words that occur nowhere else, and those words: they must never lie open."""

UNSEEN = {
    "text": "Quillfeather landed in Vantaskerry",
    "key": "where is Quillfeather",
    "triple": {"subject": "Quillfeather", "predicate": "landedat", "object": "Vantaskerry"},
    "fields": {"Zephyrfield": "Zephyrvalue"},
    "tags": ["Oblongtag"],
    "justification": "Justifoobar",
    "session_id": "Sessionquux",
    "trace_id": "Tracequux",
    "evidence": [
        {
            "source_type": "document",
            "source_uri": "doc://Runbookquux",
            "accessed_at": "2026-11-15T00:00:00Z",
            "excerpt": "Excerptquux",
        }
    ],
}
NEEDLES = [
    "quillfeather", "vantaskerry", "landedat", "zephyrfield", "zephyrvalue", "oblongtag", "justifoobar", "sessionquux",
    "tracequux", "runbookquux", "excerptquux", "anastasia-quux", "market-quux", "warehouse-quux", "umbrella-quux",
    "reasonquux", "queryquux",
]  # fmt: skip
