"""The format of the service info that a bookie publishes with its registration."""

from ...errors import CodecError
from ...model import BookieServiceInfo, Endpoint
from .._pb.dataformats_pb2 import BookieServiceInfoFormat
from .forms import binary_of, codec_errors, decimal, parse_binary

RPC_PROTOCOL = "bookie-rpc"


def encode_service_info(info: BookieServiceInfo) -> bytes:
    """Encode the service info that a bookie publishes with its registration.

    :raises CodecError: a value does not fit its field.
    """
    with codec_errors("service info"):
        message = BookieServiceInfoFormat(properties=info.properties)
        for endpoint in info.endpoints:
            message.endpoints.add(
                id=endpoint.id,
                port=endpoint.port,
                host=endpoint.host,
                protocol=endpoint.protocol,
                auth=endpoint.auth,
                extensions=endpoint.extensions,
            )
        return binary_of(message)


def decode_service_info(data: bytes, bookie_id: str) -> BookieServiceInfo:
    """Decode the service info that a bookie published.

    :param data: the published bytes; empty if the bookie runs an old version, which publishes nothing.
    :param bookie_id: the id of the bookie.  The id of a bookie that runs an old version is its address.
    :raises CodecError: the bytes are not a service info.
    """
    if not data:
        return _of_bookie_id(bookie_id)
    with codec_errors("service info"):
        message = parse_binary(BookieServiceInfoFormat(), data)
        endpoints = tuple(
            Endpoint(e.id, e.host, e.port, e.protocol, tuple(e.auth), tuple(e.extensions)) for e in message.endpoints
        )
        return BookieServiceInfo(endpoints, dict(message.properties))


def _of_bookie_id(bookie_id: str) -> BookieServiceInfo:
    """Return a service info with the address in a bookie id ``host:port``.

    For a bookie id of another form, the service info has no address.
    """
    host, _, port = bookie_id.partition(":")
    try:
        return BookieServiceInfo((Endpoint("bookie", host, decimal(port, 32), RPC_PROTOCOL),))
    except CodecError:
        return BookieServiceInfo()
