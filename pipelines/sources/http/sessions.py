"""Sessions and requests: time limits on headers, redirects, and credentials that stay with their host.

Here belongs how one request goes out, up to the headers of its answer. Reading the body belongs in `reading.py`.
"""

import contextlib
import logging
import threading
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError
from pipelines.sources.http.errors import explained, shown

MAX_REDIRECTS = 10
# At DEBUG it prints the path and query of every request.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)
# What another host may see of a request after a redirect; everything else stays with the host it was meant for.
# requests has just set `Proxy-Authorization` for the proxy on the way, if there is one.
_HARMLESS_HEADERS = frozenset({"accept", "accept-encoding", "if-range", "proxy-authorization", "range", "user-agent"})


def session() -> requests.Session:
    """A session that retries nothing by itself, keeps no cookies and limits how long response headers may take.

    It follows at most `MAX_REDIRECTS` redirects, never from https to http. The caller's headers stay with the first
    origin: where host, port or scheme differ, harmless headers alone go on, for the rest of the chain.
    """
    new = _Session()
    new.max_redirects = MAX_REDIRECTS
    new.headers["User-Agent"] = "peer-review-warehouse (python-requests)"
    new.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    new.mount("http://", _Adapter(max_retries=0))
    new.mount("https://", _Adapter(max_retries=0))
    return new


def get(
    client: requests.Session, url: str, *, settings: Settings, headers: Mapping[str, str] | None = None
) -> requests.Response:
    """GET with the body left unread; redirects are followed as `session` says.

    Raises:
        TransientError: the connection failed in a way that may pass.
        LandingError: it failed for good: a certificate, a redirect loop, an address that is none.
    """
    sent = dict(headers or {})
    # Without an explicit auth requests would let ~/.netrc overrule the header given here.
    auth = leave_as_is if any(name.lower() == "authorization" for name in sent) else None
    try:
        return client.get(url, headers=sent, auth=auth, timeout=settings.http_timeout_seconds, stream=True)
    except requests.TooManyRedirects:
        raise LandingError(
            f"{shown(url)}: more than {MAX_REDIRECTS} redirects, so probably a loop; check the address."
        ) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise explained(error, url, settings) from None


def leave_as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """For `auth`: the request has its credentials, or needs none."""
    return request


class _Session(requests.Session):
    """Redirects as requests follows them, in what it lets a subclass decide: what is read, and what is sent on."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        if resp.request.method != "GET":
            return None  # what it carries is meant for its address alone
        target = super().get_redirect_target(resp)
        if target is not None:
            resp.close()  # requests would read the body before it goes on, and a body may have no end
        return target

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """requests drops `Authorization` on a change of host, yet sends every other header on."""
        before, after = str(response.request.url), str(prepared_request.url)
        if before.startswith("https:") and not after.startswith("https:"):
            raise LandingError(f"{shown(before)}: redirects from https to {shown(after)}; refused as unsafe.")
        if self.should_strip_auth(before, after):  # type: ignore[no-untyped-call]
            for name in [name for name in prepared_request.headers if name.lower() not in _HARMLESS_HEADERS]:
                del prepared_request.headers[name]
            super().rebuild_auth(prepared_request, response)  # type: ignore[no-untyped-call]


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
