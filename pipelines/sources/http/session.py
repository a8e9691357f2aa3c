"""Sessions and requests: time limits on headers, redirects, and credentials that stay with their host.

Here belongs how one request goes out, up to the headers of its answer. Reading the body belongs in `reading.py`.
"""

import contextlib
import logging
import threading
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import requote_uri

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError
from pipelines.sources.http.errors import explained, shown

MAX_REDIRECTS = 10
# At DEBUG it prints the path and query of every request.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)
# What another host may see of a request after a redirect; everything else stays with the host it was meant for.
_HARMLESS_HEADERS = frozenset({"accept", "accept-encoding", "if-range", "range", "user-agent"})


def session() -> requests.Session:
    """A session that retries nothing by itself, keeps no cookies and limits how long response headers may take."""
    new = requests.Session()
    new.headers["User-Agent"] = "peer-review-warehouse (python-requests)"
    new.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    new.mount("http://", _Adapter(max_retries=0))
    new.mount("https://", _Adapter(max_retries=0))
    return new


def get(
    client: requests.Session, url: str, *, settings: Settings, headers: Mapping[str, str] | None = None
) -> requests.Response:
    """GET with the body left unread; redirects are followed, but the caller's headers stay with the first origin.

    requests itself drops `Authorization` on a change of host, yet sends every other header on; here an origin
    (scheme, host and port) that differs sees harmless headers only, for the rest of the chain.

    Raises:
        TransientError: the connection failed in a way that may pass.
        LandingError: it failed for good: a certificate, a redirect loop, an address that is none.
    """
    sent = dict(headers or {})
    place = url
    try:
        for _ in range(MAX_REDIRECTS + 1):
            # Without an explicit auth requests would let ~/.netrc overrule the header given here.
            auth = leave_as_is if any(name.lower() == "authorization" for name in sent) else None
            response = client.get(
                place,
                headers=sent,
                auth=auth,
                timeout=settings.http_timeout_seconds,
                stream=True,
                allow_redirects=False,
            )
            location = client.get_redirect_target(response)
            if location is None:
                return response
            response.close()
            target = urljoin(place, requote_uri(location))
            if place.startswith("https:") and not target.startswith("https:"):
                raise LandingError(f"{shown(url)}: redirects from https to {shown(target)}; refused as unsafe.")
            if _origin(target) != _origin(place):
                sent = {name: value for name, value in sent.items() if name.lower() in _HARMLESS_HEADERS}
            place = target
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise explained(error, url, settings) from None
    raise LandingError(f"{shown(url)}: more than {MAX_REDIRECTS} redirects, so probably a loop; check the address.")


def leave_as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _Watched:
    """A connection on which response headers may take no longer in all than one read may."""

    def getresponse(self) -> Any:
        connection: Any = self
        late = threading.Event()
        socket = connection.sock

        def cut() -> None:
            late.set()
            with contextlib.suppress(OSError):
                socket.shutdown(2)

        timer = threading.Timer(connection.timeout or 60, cut)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()  # type: ignore[misc]
        except Exception:
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():  # also where all went well: to http.client, headers may end with the connection
            raise TimeoutError("timed out while reading response headers")
        return response


class _HTTPConnection(_Watched, urllib3.connection.HTTPConnection):
    pass


class _HTTPSConnection(_Watched, urllib3.connection.HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


class _Adapter(HTTPAdapter):
    """requests' adapter over connections that are watched, direct ones and those through a proxy."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        return manager
