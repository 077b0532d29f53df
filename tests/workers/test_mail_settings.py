"""Where alerts are mailed: what is refused at start, and when a connection must be encrypted."""

from typing import Any

import pytest
from pydantic import SecretStr

from infra.settings import BadSetting, Settings
from workers.mail_settings import MailSettings, is_loopback, mail_settings, this_host

ME = "me@example.org"


def found(**settings: Any) -> MailSettings:
    mail = mail_settings(Settings.model_validate({"alert_email": ME, **settings}))
    assert mail is not None
    return mail


def test_without_an_address_nothing_is_mailed_and_nothing_checked() -> None:
    assert mail_settings(Settings(smtp_url=SecretStr("nonsense"))) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"alert_email": "me"}, "KOI_ALERT_EMAIL is 'me'; it must be one mail address", id="no at"),
        pytest.param({"alert_email": "a@b.de, c@d.de"}, "KOI_ALERT_EMAIL is", id="two"),
        pytest.param({"alert_email": "a@b.de\nBcc: x@y.de"}, "KOI_ALERT_EMAIL is", id="a header behind it"),
        pytest.param({"alert_email": "ä@b.de"}, "KOI_ALERT_EMAIL is", id="not ASCII"),
        pytest.param({}, "SMTP_HOST is not set", id="no server"),
        pytest.param({"smtp_host": "mail server"}, "SMTP_HOST is 'mail server'", id="no host"),
        pytest.param({"smtp_host": "mail", "smtp_url": "smtp://mail"}, "both set", id="two servers"),
        pytest.param({"smtp_host": "mail", "smtp_user": "u"}, "SMTP_PASSWORD is not set", id="no password"),
        pytest.param({"smtp_host": "mail", "smtp_password": "s3cret"}, "SMTP_USER is not set", id="no user"),
        pytest.param(
            {"smtp_host": "mail", "smtp_user": "u\r\nQUIT", "smtp_password": "s3cret"}, "SMTP_USER", id="a line end"
        ),
        pytest.param({"smtp_url": "http://u:s3cret@mail"}, "SMTP_URL must be like", id="another scheme"),
        pytest.param({"smtp_url": "smtp://u:s3cret@"}, "SMTP_URL must name a mail server", id="a URL of nobody"),
        pytest.param({"smtp_url": "smtp://u:s3cret@mail:x"}, "SMTP_URL must end with a port", id="no port"),
        pytest.param({"smtp_url": "smtp://u@mail"}, "SMTP_URL must have both", id="half a login"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_by_its_name_and_without_its_secret(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        found(**settings)

    assert words in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "host", "port", "tls", "checked"),
    [
        pytest.param({"smtp_host": "mail"}, "mail", 587, "offered", True, id="no login"),
        pytest.param({"smtp_host": "mail", "smtp_user": "u", "smtp_password": "p"}, "mail", 587, "required", True, id="a login"),
        pytest.param({"smtp_host": "mail", "smtp_port": 465}, "mail", 465, "implicit", True, id="port 465"),
        pytest.param({"smtp_host": "127.0.0.1", "smtp_port": 25, "smtp_user": "u", "smtp_password": "p"}, "127.0.0.1", 25, "offered", False, id="a login here"),
        pytest.param({"smtp_url": "smtps://u:p@mail"}, "mail", 465, "implicit", True, id="smtps"),
        pytest.param({"smtp_url": "smtp://u:p@mail:2525"}, "mail", 2525, "required", True, id="smtp"),
        pytest.param({"smtp_url": "smtp://[::1]:25/"}, "::1", 25, "offered", False, id="IPv6"),
    ],
)  # fmt: skip
def test_a_password_goes_only_over_tls_or_stays_on_this_machine(
    settings: dict[str, Any], host: str, port: int, tls: str, *, checked: bool
) -> None:
    mail = found(**settings)

    assert (mail.host, mail.port, mail.tls, mail.check_certificate) == (host, port, tls, checked)


def test_a_login_in_a_url_is_decoded_and_is_the_sender_if_it_is_an_address() -> None:
    mail = found(smtp_url="smtps://koi%40example.org:p%3As%40%2F@mail")

    assert (mail.user, mail.password.get_secret_value()) == ("koi@example.org", "p:s@/")
    assert mail.sender == "koi@example.org"
    assert found(smtp_host="mail", smtp_user="koi", smtp_password="p").sender == f"koi@{this_host()}"
    assert "p:s@/" not in repr(mail)


@pytest.mark.parametrize(("host", "here"), [("localhost", True), ("127.8.0.1", True), ("::1", True), ("mail", False), ("10.0.0.1", False)])  # fmt: skip
def test_this_machine_is_known_by_its_name(host: str, *, here: bool) -> None:
    assert is_loopback(host) is here
