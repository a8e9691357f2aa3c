"""`notifications.py` against a real receiver: what is sent, what is not shown, and that nothing fails."""

import logging
import socket

import pytest

from pipelines.config.settings import Settings
from pipelines.operate import notifications
from pipelines.operate.failures import Failure
from pipelines.operate.notifications import ATTEMPTS, RunFailure, notify
from tests.webhook import Webhook

FAILURE = RunFailure(
    run_id="0b5c",
    job="refresh",
    partition="iclr-2026",
    failures=[Failure("landed", "iclr-2026/hub: there is nothing at this address."), Failure("staged", "no rows")],
    release_id="20261130T000000Z-abcdef12",
)


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "BACKOFF_SECONDS", 0.001)


def told(url: str, failure: RunFailure = FAILURE, timeout: float = 5) -> str:
    sentence = notify(failure, Settings(notify_webhook_url=url, notify_timeout_seconds=timeout))
    assert sentence is not None
    assert "\n" not in sentence
    assert not Webhook.shows_secrets(sentence)
    return sentence


def test_the_message_is_text_for_chats_and_fields_for_programs() -> None:
    with Webhook() as webhook:
        assert told(webhook.url) == "The failure of run 0b5c was told to the webhook at 127.0.0.1."
    (message,) = webhook.received
    assert message["text"].splitlines() == [
        "peer-review-warehouse: refresh of iclr-2026 failed (run 0b5c). "
        "Release 20261130T000000Z-abcdef12 still stands.",
        "landed: iclr-2026/hub: there is nothing at this address.",
        "staged: no rows",
    ]
    assert message["event"] == "run_failed"
    assert (message["run_id"], message["job"], message["partition"]) == ("0b5c", "refresh", "iclr-2026")
    assert message["failures"][1] == {"step": "staged", "reason": "no rows"}
    assert message["release_id"] == FAILURE.release_id
    assert message["host"] == socket.gethostname()


def test_before_the_first_release_the_text_says_so() -> None:
    first = RunFailure("0b5c", "maintain", None, [Failure("run", "gone")], None)
    assert first.message()["text"].splitlines()[0] == (
        "peer-review-warehouse: maintain failed (run 0b5c). There is no release yet."
    )


def test_nothing_is_sent_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_WEBHOOK_URL", "  ")
    assert notify(FAILURE, Settings()) is None


def test_texts_from_outside_call_no_channel_and_make_no_link() -> None:
    message = RunFailure("0b5c", "refresh", "x", [Failure("staged", "<!channel> & <http://evil|ok> @here @me")], None)
    line = message.message()["text"].splitlines()[1]
    assert line == "staged: &lt;!channel&gt; &amp; &lt;http://evil|ok&gt; @\u200bhere @me"
    assert message.message()["failures"][0]["reason"] == "<!channel> & <http://evil|ok> @here @me"


def test_a_long_story_is_cut() -> None:
    steps = [Failure(f"step{number}", "why " * 1000) for number in range(50)]
    message = RunFailure("0b5c", "refresh", "x", steps, None).message()
    assert len(message["failures"]) == 20
    assert message["failure_count"] == 50
    assert message["text"].endswith("…\nand 30 more")
    assert len(message["text"]) < 15_000


def test_a_failing_receiver_is_tried_again() -> None:
    with Webhook((503, {}, 0), (500, {}, 0), (200, {}, 0)) as webhook:
        assert "was told" in told(webhook.url)
    assert len(webhook.received) == 3


def test_a_receiver_that_goes_on_failing_is_given_up() -> None:
    with Webhook((500, {}, 0)) as webhook:
        said = told(webhook.url)
    assert said == "The failure of run 0b5c could not be told: the webhook at 127.0.0.1 answered with status 500."
    assert len(webhook.received) == ATTEMPTS


def test_a_refusal_is_not_tried_again() -> None:
    with Webhook((404, {}, 0)) as webhook:
        assert "could not be told: the webhook at 127.0.0.1 answered with status 404." in told(webhook.url)
    assert len(webhook.received) == 1


def test_a_silent_receiver_is_given_up() -> None:
    with Webhook((200, {}, 60)) as webhook:
        said = told(webhook.url, timeout=0.2)
    assert said.endswith("could not be told: the webhook at 127.0.0.1: no answer within 0.2 seconds.")
    assert len(webhook.received) == ATTEMPTS


def test_a_redirect_is_not_followed() -> None:
    with Webhook() as other, Webhook((307, {"Location": other.url}, 0)) as webhook:
        assert "redirects, which is not followed; set NOTIFY_WEBHOOK_URL" in told(webhook.url)
    assert other.received == []
    assert len(webhook.received) == 1


def test_a_dead_receiver_fails_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = told(f"http://127.0.0.1:{port}/services/{Webhook.SECRET}")
    assert "the webhook at 127.0.0.1: the connection was refused" in said


@pytest.mark.parametrize(
    "url",
    ["services/T0WEBHOOK", "http://[::1/T0WEBHOOK", "http://a b/T0WEBHOOK", "ftp://h/T0WEBHOOK", "http:///T0WEBHOOK"],
)
def test_an_address_that_is_none_fails_nothing(url: str) -> None:
    assert "could not be told: the webhook" in told(url)


def test_the_address_is_in_no_log_and_in_no_text_of_the_settings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Webhook((503, {}, 0), (200, {}, 0)) as webhook:
        told(webhook.url)
        assert not Webhook.shows_secrets(repr(Settings(notify_webhook_url=webhook.url)))
    assert not Webhook.shows_secrets(caplog.text)
