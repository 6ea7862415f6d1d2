"""Calls over gRPC with nothing but what the server says of itself by reflection."""

import grpc
from google.protobuf import descriptor_pb2, json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "tabellion.v1.Tabellion"


class Refused(Exception):
    """A call that ended with another status than OK."""

    def __init__(self, error, refusal):
        super().__init__(f"{error.code().name}: {error.details()}")
        self.status, self.refusal = error.code().name, refusal
        self.metadata = dict(error.trailing_metadata() or ())


class GrpcCaller:
    """One key on one server; messages are plain dictionaries."""

    def __init__(self, server, key):
        self.key = key
        self.channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
        self.reflection = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = DescriptorPool(self.reflection)
        self.service = self.pool.FindServiceByName(SERVICE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def call(self, name, request=None, metadata=None):
        """The answer to a unary call, or `Refused`."""
        method = self.service.methods_by_name[name]
        call = self.channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_class(method.output_type).FromString,
        )
        message = json_format.ParseDict(request or {}, message_class(method.input_type)(), descriptor_pool=self.pool)
        if metadata is None:
            metadata = [("authorization", f"Bearer {self.key}")]
        try:
            return as_dict(call(message, metadata=metadata, timeout=30))
        except grpc.RpcError as error:
            raise Refused(error, self.refusal_of(error)) from None

    def stream(self, name, requests):
        """The answers to a stream of requests."""
        method = self.service.methods_by_name[name]
        kind = message_class(method.input_type)
        call = self.channel.stream_stream(
            f"/{SERVICE}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_class(method.output_type).FromString,
        )
        messages = (json_format.ParseDict(request, kind(), descriptor_pool=self.pool) for request in requests)
        metadata = [("authorization", f"Bearer {self.key}")]
        return [as_dict(answer) for answer in call(messages, metadata=metadata, timeout=60)]

    def refusal_of(self, error):
        """The `tabellion.v1.Refusal` that a failed call carries in its status details."""
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
        if not details:
            return {}
        [detail] = RPC_STATUS.FromString(details).details
        assert detail.type_url == "type.googleapis.com/tabellion.v1.Refusal"
        return as_dict(message_class(self.pool.FindMessageTypeByName("tabellion.v1.Refusal")).FromString(detail.value))


def message_class(descriptor):
    return message_factory.GetMessageClass(descriptor)


def as_dict(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def rpc_status():
    """`google.rpc.Status`, as far as it is needed here."""
    file = descriptor_pb2.FileDescriptorProto(name="rpc_status.proto", package="google.rpc", syntax="proto3")
    fields = descriptor_pb2.FieldDescriptorProto
    detail = file.message_type.add(name="Detail")
    detail.field.add(name="type_url", number=1, type=fields.TYPE_STRING, label=fields.LABEL_OPTIONAL)
    detail.field.add(name="value", number=2, type=fields.TYPE_BYTES, label=fields.LABEL_OPTIONAL)
    status = file.message_type.add(name="Status")
    status.field.add(name="code", number=1, type=fields.TYPE_INT32, label=fields.LABEL_OPTIONAL)
    status.field.add(name="message", number=2, type=fields.TYPE_STRING, label=fields.LABEL_OPTIONAL)
    status.field.add(
        name="details", number=3, type=fields.TYPE_MESSAGE, label=fields.LABEL_REPEATED, type_name=".google.rpc.Detail"
    )
    pool = DescriptorPool()
    pool.Add(file)
    return message_class(pool.FindMessageTypeByName("google.rpc.Status"))


RPC_STATUS = rpc_status()
