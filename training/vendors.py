"""The vendors whose operations stand as tools in the training data, and those that only measure it.

Invariant: a server that `heldout.txt` names is in none of these lists.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vendor:
    """One server made of a published API description.

    Attributes:
        server: The server's name.
        path: The description's file in the pinned package, below `api/`, without `.json`.
        most: At most so many operations, drawn from the groups in turn.
    """

    server: str
    path: str
    most: int = 24


TRAINING = (
    Vendor("trello", "trello.com", 40),
    Vendor("slack", "slack.com", 48),
    Vendor("notion", "notion.com", 13),
    Vendor("gitlab", "gitlab.com", 48),
    Vendor("jira", "atlassian.com/jira", 60),
    Vendor("bitbucket", "bitbucket.org", 32),
    Vendor("gitea", "gitea.io", 32),
    Vendor("adafruit_io", "adafruit.com", 24),
    Vendor("airbyte", "airbyte.local/config", 30),
    Vendor("appwrite", "appwrite.io/server", 36),
    Vendor("appveyor", "appveyor.com", 20),
    Vendor("onepassword", "1password.local/connect", 12),
    Vendor("ably", "ably.io/platform", 14),
    Vendor("braze", "braze.com", 22),
    Vendor("brex", "brex.io", 30),
    Vendor("buffer", "bufferapp.com", 16),
    Vendor("bunq", "bunq.com", 36),
    Vendor("circleci", "circleci.com", 18),
    Vendor("clicksend", "clicksend.com", 34),
    Vendor("elevenlabs", "elevenlabs.io", 16),
    Vendor("figshare", "figshare.com", 24),
    Vendor("files_com", "files.com", 36),
    Vendor("postman", "getpostman.com", 30),
    Vendor("giphy", "giphy.com", 10),
    Vendor("influxdb", "influxdata.com", 36),
    Vendor("jellyfin", "jellyfin.local", 40),
    Vendor("just_eat", "just-eat.co.uk", 24),
    Vendor("languagetool", "languagetool.org", 5),
    Vendor("lufthansa", "lufthansa.com/partner", 12),
    Vendor("lyft", "lyft.com", 14),
    Vendor("mastodon", "mastodon.local", 40),
    Vendor("medium", "medium.com", 16),
    Vendor("meilisearch", "meilisearch.com", 30),
    Vendor("meraki", "meraki.com", 36),
    Vendor("mux", "mux.com", 26),
    Vendor("netatmo", "netatmo.net", 14),
    Vendor("netbox", "netbox.dev", 30),
    Vendor("openai_api", "openai.com", 20),
    Vendor("orthanc", "orthanc-server.com", 22),
    Vendor("oxford_dictionaries", "oxforddictionaries.com", 12),
    Vendor("pinecone", "pinecone.io", 13),
    Vendor("pocketsmith", "pocketsmith.com", 28),
    Vendor("polygon", "polygon.io", 10),
    Vendor("public_transport_victoria", "ptv.vic.gov.au", 18),
    Vendor("rawg", "rawg.io", 20),
    Vendor("removebg", "remove.bg", 3),
    Vendor("revai", "rev.ai", 6),
    Vendor("click_and_drop", "royalmail.com/click-and-drop", 8),
    Vendor("salesloft", "salesloft.com", 40),
    Vendor("sendgrid", "sendgrid.com", 48),
    Vendor("shipengine", "shipengine.com", 34),
    Vendor("shotstack", "shotstack.io", 5),
    Vendor("snyk", "snyk.io", 30),
    Vendor("spoonacular", "spoonacular.com", 44),
    Vendor("stackexchange", "stackexchange.com", 30),
    Vendor("superset", "superset.apache.local/superset", 34),
    Vendor("telegram_bot", "telegram.org", 40),
    Vendor("telnyx", "telnyx.com", 36),
    Vendor("transport_for_london", "tfl.gov.uk", 30),
    Vendor("tomtom", "tomtom.com/search", 12),
    Vendor("twitter", "twitter.com/current", 36),
    Vendor("up_bank", "up.com.au", 14),
    Vendor("vercel", "vercel.com", 40),
    Vendor("victorops", "victorops.com", 26),
    Vendor("visual_crossing", "visualcrossing.com/weather", 5),
    Vendor("washington_metro", "wmata.com/rail-station", 12),
    Vendor("wordnik", "wordnik.com", 14),
    Vendor("wolfram_alpha", "wolframalpha.com", 2),
    Vendor("ynab", "youneedabudget.com", 28),
    Vendor("weatherbit", "weatherbit.io", 16),
    Vendor("infermedica", "infermedica.com", 14),
    Vendor("drchrono", "drchrono.com", 36),
    Vendor("google_tasks", "googleapis.com/tasks", 14),
    Vendor("google_people", "googleapis.com/people", 18),
    Vendor("google_classroom", "googleapis.com/classroom", 24),
    Vendor("google_forms", "googleapis.com/forms", 8),
    Vendor("google_chat", "googleapis.com/chat", 12),
    Vendor("google_translate", "googleapis.com/translate", 10),
    Vendor("google_analytics", "googleapis.com/analytics", 20),
    Vendor("bigquery", "googleapis.com/bigquery", 26),
    Vendor("blogger", "googleapis.com/blogger", 20),
    Vendor("google_storage", "googleapis.com/storage", 30),
    Vendor("aws_s3", "amazonaws.com/s3", 32),
    Vendor("aws_lambda", "amazonaws.com/lambda", 28),
    Vendor("aws_dynamodb", "amazonaws.com/dynamodb", 24),
    Vendor("aws_route53", "amazonaws.com/route53", 24),
    Vendor("aws_polly", "amazonaws.com/polly", 8),
    Vendor("aws_logs", "amazonaws.com/logs", 24),
    Vendor("graphhopper", "graphhopper.com", 12),
    Vendor("rentcast", "rentcast.io", 10),
    Vendor("onsched", "onsched.com/consumer", 20),
    Vendor("gsmtasks", "gsmtasks.com", 24),
    Vendor("configcat", "configcat.com", 28),
    Vendor("interactive_brokers", "interactivebrokers.com", 14),
    Vendor("avaza", "avaza.com", 30),
    Vendor("elmah_io", "elmah.io", 16),
    Vendor("noun_project", "thenounproject.com", 10),
    Vendor("libretranslate", "libretranslate.local", 5),
    Vendor("sakari", "sakari.io", 18),
    Vendor("pdf_generator", "pdfgeneratorapi.com", 10),
    Vendor("api2pdf", "api2pdf.com", 8),
    Vendor("bigoven", "bigoven.com", 24),
    Vendor("isbndb", "isbndb.com", 8),
    Vendor("apideck_accounting", "apideck.com/accounting", 24),
    Vendor("dnd5e", "dnd5eapi.co", 16),
)
"""Servers that messages are written for."""

VALIDATION = ("trello", "mastodon", "ynab", "postman", "victorops", "spoonacular", "google_people", "launchdarkly")
"""Servers whose messages choose the number of steps and are never trained on."""

BLIND = (
    Vendor("stripe", "stripe.com", 44),
    Vendor("docusign", "docusign.net", 40),
    Vendor("zoom", "zoom.us", 40),
    Vendor("xero", "xero.com/xero_accounting", 36),
    Vendor("plaid", "plaid.com", 36),
    Vendor("netlify", "netlify.com", 32),
    Vendor("mailchimp", "mailchimp.com", 36),
    Vendor("vimeo", "vimeo.com", 36),
    Vendor("okta", "okta.local", 19),
    Vendor("shutterstock", "shutterstock.com", 30),
    Vendor("hetzner", "hetzner.cloud", 36),
    Vendor("ticketmaster", "ticketmaster.com/discovery", 13),
    Vendor("telstra", "telstra.com", 12),
)
"""Servers that no message is written for; long requests over them measure the encoder."""
