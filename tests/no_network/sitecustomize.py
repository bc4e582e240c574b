"""Refuses every connection that would leave this machine.

The tests import it, and it is on the path of every Python that they start, so that nothing the
library or the command does at run time can reach a network unnoticed.
"""

import ipaddress
import socket
import sys

_LOCAL_NAMES = {"", "localhost", "<broadcast>", None}


class NetworkAccess(OSError):
    """Something tried to reach another machine."""


def _is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in _LOCAL_NAMES:
        return True
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _watch(event: str, arguments: tuple) -> None:
    if event == "socket.getaddrinfo":
        hosts = arguments[:1]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        own, address = arguments[:2]
        # (connecting a datagram socket sends nothing: it is how a machine learns its own address)
        if event == "socket.connect" and own.type == socket.SOCK_DGRAM:
            return
        hosts = address[:1] if isinstance(address, tuple) else ()  # (a path, on this machine)
    else:
        return
    for host in hosts:
        if not _is_local(host):
            raise NetworkAccess(f"{event}: {host!r} is not this machine")


sys.addaudithook(_watch)
