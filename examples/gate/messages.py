"""The messages of proto/tabellion/gate/v1/gate.proto, described in Python, so that this example needs no compiler.

With `protoc` and its gRPC plugin the same classes can be generated from that file.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
TYPES = {"string": FIELD.TYPE_STRING, "double": FIELD.TYPE_DOUBLE, "uint64": FIELD.TYPE_UINT64}
PACKAGE = "tabellion.gate.v1"

# For each message its fields in the order of their numbers; `[]` marks those that repeat.
MESSAGES = {
    "JudgeRequest": {
        "request_id": "string", "namespace": "string", "layer": "string", "agent": "string", "user": "string",
        "content_json": "string", "evidence": "Evidence[]", "confidence": "double",
    },
    "Evidence": {
        "source_type": "string", "source_uri": "string", "accessed_at": "string", "authority": "double",
        "excerpt": "string",
    },
    "JudgeReply": {"accept": "Accept", "reject": "Reject", "defer": "Defer"},
    "Accept": {},
    "Reject": {"code": "string", "message": "string", "faults": "Fault[]"},
    "Fault": {"path": "string", "expected": "string", "actual": "string"},
    "Defer": {"retry_after_ms": "uint64", "message": "string"},
}  # fmt: skip
# Of these fields a reply holds one.
ONEOF = {"JudgeReply": "answer"}


def described():
    file = descriptor_pb2.FileDescriptorProto(name="tabellion/gate/v1/gate.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in ONEOF:
            message.oneof_decl.add(name=ONEOF[name])
        for number, (field, kind) in enumerate(fields.items(), start=1):
            label = FIELD.LABEL_REPEATED if kind.endswith("[]") else FIELD.LABEL_OPTIONAL
            kind = kind.removesuffix("[]")
            added = message.field.add(name=field, number=number, label=label)
            if kind in TYPES:
                added.type = TYPES[kind]
            else:
                added.type, added.type_name = FIELD.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
            if name in ONEOF:
                added.oneof_index = 0
    return file


POOL = descriptor_pool.DescriptorPool()
POOL.Add(described())


def message(name):
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))


JudgeRequest, JudgeReply = message("JudgeRequest"), message("JudgeReply")
Evidence, Accept, Reject, Fault, Defer = (message(name) for name in ("Evidence", "Accept", "Reject", "Fault", "Defer"))
