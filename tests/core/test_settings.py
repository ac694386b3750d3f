"""Settings are read once, and a wrong one names its variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import ConfigurationError, Settings, ThresherError, UpstreamTimeout, load_settings
from thresher.core.settings import default_data_dir


def test_defaults_need_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop with nothing set gets a local, embedded product."""
    monkeypatch.delenv("THRESHER_DATABASE_URL", raising=False)

    settings = load_settings()

    assert settings.database_url is None
    assert settings.host == "127.0.0.1"


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands on the command line counts; an option that was not given does not."""
    monkeypatch.setenv("THRESHER_PORT", "1234")
    monkeypatch.setenv("THRESHER_DATA_DIR", "/somewhere")

    settings = load_settings(port=4321, data_dir=None)

    assert settings.port == 4321
    assert settings.data_dir == Path("/somewhere")


def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable to correct."""
    monkeypatch.setenv("THRESHER_PORT", "none")

    with pytest.raises(ConfigurationError, match="THRESHER_PORT"):
        load_settings()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """`THRESHER_PORT=` in a shell file keeps the default."""
    monkeypatch.setenv("THRESHER_PORT", "")

    assert load_settings().port == Settings.model_fields["port"].default


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings' text form hides keys and addresses with passwords."""
    monkeypatch.setenv("THRESHER_DATABASE_URL", "postgresql://u:hunter2@h/d")
    monkeypatch.setenv("THRESHER_ENCODER_KEY", "hunter2")

    assert "hunter2" not in repr(load_settings())


def test_root_gets_a_data_folder_that_another_account_can_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's home is closed to the account that runs the database."""
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    assert default_data_dir() == Path("/var/lib/thresher")

    monkeypatch.setattr("os.geteuid", lambda: 1000, raising=False)
    assert default_data_dir().name == "thresher"


def test_an_error_says_what_happened_and_what_to_do() -> None:
    """Message and hint stand in one text; each class has its code and exit code."""
    error = UpstreamTimeout("Server git did not answer in 30 s.", hint="Try `thresher servers refresh git`.")

    assert str(error) == "Server git did not answer in 30 s. Try `thresher servers refresh git`."
    assert (error.code, error.exit_code) == ("upstream_timeout", 8)
    assert str(ThresherError("Broken.")) == "Broken."
