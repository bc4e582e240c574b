"""Nothing leaves this machine while the tests run: what watches that is itself tested."""

import subprocess
import sys

import pytest

# The address is reserved for documentation (RFC 5737).
_CONNECT = "import socket; socket.create_connection(('192.0.2.1', 9), 0.01)"
_LOOK_UP = "import socket; socket.getaddrinfo('example.invalid', 80)"


@pytest.mark.parametrize("code", [_CONNECT, _LOOK_UP])
def test_a_connection_elsewhere_is_refused_here_and_in_processes(code):
    with pytest.raises(OSError, match="is not this machine"):
        exec(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "NetworkAccess" in done.stderr
