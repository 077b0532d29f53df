"""Who may come in: the address that is bound, and whether a password stands before it. Pure."""

from dataclasses import dataclass
from ipaddress import ip_address

from infra.settings import Settings
from infra.settings_sources import BadSetting, shown


@dataclass(frozen=True, slots=True)
class Door:
    """Where the dashboard listens."""

    host: str
    port: int
    """0: any free one."""
    is_open: bool
    """No password: whoever reaches the loopback address is the admin."""


def door_of(settings: Settings) -> Door:
    """The door as the settings want it.

    Raises: BadSetting: others could come in without a password, or a password is of no use.
    """
    bind = settings.dashboard_bind
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    password = settings.dashboard_password.get_secret_value()
    reader = settings.dashboard_reader_password.get_secret_value()
    if int(port) > 65535:
        raise BadSetting(f"KOI_DASHBOARD_BIND is {shown(bind)}; its port must be at most 65535")
    if not password and reader:
        raise BadSetting(
            "KOI_DASHBOARD_PASSWORD is not set; with KOI_DASHBOARD_READER_PASSWORD it must be, or readers were admins"
        )
    if password and password == reader:
        raise BadSetting("KOI_DASHBOARD_READER_PASSWORD must not be the same as KOI_DASHBOARD_PASSWORD")
    if not password and not is_loopback(host):
        raise BadSetting(
            f"KOI_DASHBOARD_PASSWORD is not set; with KOI_DASHBOARD_BIND {shown(bind)}, which others can reach, it must be"
        )
    return Door(host, int(port), is_open=not password)


def is_loopback(host: str) -> bool:
    """Is this a name or number of the machine itself? host: without a port, no brackets."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """ "[::1]:8420" → "::1"; of a Host header."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
