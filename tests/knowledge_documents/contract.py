"""A made contract of about 11,000 tokens in which the names of the parties and of the service stand everywhere."""

from __future__ import annotations

from typing import Final

APPLICATIONS: Final = (
    ("Ledger", "general accounting", 40),
    ("Payables", "supplier invoices", 25),
    ("Receivables", "customer invoices", 30),
    ("Assets", "fixed assets", 12),
    ("Payroll", "wages and salaries", 18),
    ("Benefits", "pensions and health plans", 9),
    ("Orders", "order entry", 55),
    ("Inventory", "stock and warehouses", 35),
    ("Planning", "production planning", 14),
    ("Projects", "project costing", 20),
    ("Expenses", "travel expenses", 60),
    ("Reports", "management reports", 15),
    ("Quality", "inspection records", 11),
    ("Service", "field service", 22),
    ("Catalog", "product data", 16),
    ("Tax", "sales and use tax", 7),
    ("Treasury", "bank accounts", 6),
    ("Archive", "closed fiscal years", 5),
)
GENERAL: Final = (
    (
        "Definitions",
        "In this Corio hosting agreement, Corio means Corio Application Services and Changepoint means Changepoint"
        " Manufacturing. Hosting means the operation of the applications of Schedule A on computers of Corio. A term"
        " defined in a schedule of the Corio hosting agreement has that meaning in the whole agreement.",
    ),
    (
        "Scope of the hosting services",
        "Corio provides the hosting services of this Corio hosting agreement to Changepoint and its affiliates. Corio"
        " hosts the applications in the Corio data center, and Changepoint reaches them over the Corio network. The"
        " hosting services under the agreement do not include software that Changepoint installs itself.",
    ),
    (
        "Fees",
        "Changepoint pays Corio the hosting fees of Schedule B. Corio invoices hosting fees monthly in advance, and"
        " each invoice is due forty-five days after Changepoint receives it. Corio may charge one percent a month on"
        " hosting fees that are late under the Corio hosting agreement.",
    ),
    (
        "Term",
        "The Corio hosting agreement begins on the effective date and runs for thirty-six months. It renews for periods"
        " of twelve months unless Corio or Changepoint gives notice ninety days before the agreement ends.",
    ),
    (
        "Confidential information",
        "Corio and Changepoint keep what they learn of each other under the Corio hosting agreement in confidence for"
        " five years after it was disclosed. Corio uses data of Changepoint for the hosting services alone.",
    ),
    (
        "Warranties",
        "Corio warrants that it performs the hosting services of the Corio hosting agreement with reasonable skill."
        " Changepoint warrants that it may let Corio host its data. Corio makes no other warranty for the hosting.",
    ),
    (
        "Indemnity",
        "Corio defends Changepoint against claims that the hosting services infringe a patent, and pays what a court"
        " awards. Changepoint tells Corio of a claim under the Corio hosting agreement within fifteen days.",
    ),
    (
        "Limits of liability",
        "Neither Corio nor Changepoint is liable for lost profits. What Corio owes in total under the Corio hosting"
        " agreement does not exceed the hosting fees of the last twelve months.",
    ),
    (
        "Insurance",
        "While the Corio hosting agreement runs, Corio carries general liability insurance of two million dollars and"
        " names Changepoint as additionally insured for the hosting services.",
    ),
    (
        "Termination",
        "Changepoint may end the Corio hosting agreement if Corio misses the service level of an application in"
        " three consecutive months. Either party may end it thirty days after notice of a breach that is not cured."
        " Corio then returns the data of Changepoint on tape within ten days.",
    ),
    (
        "Subcontractors",
        "Corio may have parts of the hosting done by subcontractors, and answers for them under the Corio hosting"
        " agreement as for its own staff. Changepoint may object to a subcontractor within five days.",
    ),
    (
        "Audit",
        "Once a year Changepoint may inspect the records of Corio about the hosting services. Corio keeps records of"
        " the Corio hosting agreement for seven years.",
    ),
)
MISCELLANEOUS: Final = (
    "Notices are in writing and take effect when they are received at the address on the first page. Headings are for"
    " convenience and do not influence the interpretation of any provision.",
    "A failure to enforce a provision is not a waiver. If a court finds a provision invalid, the remaining ones stay in"
    " effect, and the parties replace it by a valid one that comes nearest to its purpose.",
    "The courts and the rules of the State of Delaware apply, without regard to its principles of conflicts; the"
    " United Nations Convention on the International Sale of Goods is excluded.",
    "Neither party may assign its rights without the written consent of the other, except to a successor that acquires"
    " substantially all of its business. Strikes, floods and acts of war excuse delays while they last.",
    "The parties are independent contractors. Neither may bind the other, and no partnership, joint venture or agency"
    " arises. Publicity that mentions the other party needs its consent.",
)
GOVERNING_LAW: Final = "The courts and the rules of the State of Delaware apply"


def contract() -> str:
    """The text, as Markdown."""
    parts = ["# Corio hosting agreement\n\nThis hosting agreement is made between Corio and Changepoint.\n"]
    parts += [f"## {place}. {title}\n\n{text}\n" for place, (title, text) in enumerate(GENERAL, 1)]
    parts.append("## 13. Miscellaneous\n\n" + "\n\n".join(MISCELLANEOUS) + "\n")
    parts += [_schedule(place, *application) for place, application in enumerate(APPLICATIONS, 1)]
    return "\n".join(parts)


def _schedule(place: int, name: str, purpose: str, users: int) -> str:
    """What the schedules of the contract say about one application."""
    service = f"Corio {name}"
    return f"""## Schedule A-{place}. {service}

{service} is the hosting of {purpose} for Changepoint. Under the Corio hosting agreement up to {users} named
users of Changepoint work with {service} at a time, and Corio adds users within {place + 2} working days after
Changepoint orders them. The hosting fee of {service} is {120 + 15 * place} dollars a month for each user, as
Schedule B of the Corio hosting agreement says.

Corio keeps {service} available for {99 - place / 10:.1f} percent of the hours of a month. Hours of planned
maintenance, which Corio announces {place + 1} days ahead, do not count. Where the hosting of {service} falls
below that level, Corio credits Changepoint {place + 3} percent of the monthly hosting fee under the Corio
hosting agreement.

Corio backs up the data of {service} every night at {place % 6 + 18}:00 and keeps the copies for {30 + place}
days in the Corio vault. Changepoint may ask Corio to restore a copy; under the Corio hosting agreement this
takes at most {place + 4} hours. Two restores a year are part of the hosting fee.

Support for {service} is given by the Corio service desk. A call about a failure of {service} is answered within
{10 + place} minutes, and Corio works on it until the hosting is restored. A call about the use of {service} is
answered on the next working day. Changepoint names {place % 4 + 2} persons who may call Corio under the hosting
agreement.

Corio installs new releases of {service} within {place + 1} months after they appear. Before that, Corio lets
Changepoint test the release for {place + 7} days in a Corio test environment. Changes to {service} that
Changepoint asks for are priced by Corio at {140 + place} dollars an hour and become part of the Corio hosting
agreement once both have signed.

Reports on the hosting of {service} are sent by Corio to Changepoint by the {place + 2}th of each month. They
show the hours of availability, the calls to the Corio service desk, and the growth of the data of {service}
under the agreement.

On the day on which the hosting of {service} begins, Corio loads {place + 1} years of data from the former
system of Changepoint. Corio and Changepoint compare totals and sign a protocol, which is kept with the Corio
hosting agreement.

Interfaces between {service} and other systems of Changepoint are run by Corio every {place + 5} minutes. Corio
watches them as a part of the hosting and tells Changepoint of a failure within {place + 20} minutes under the
hosting agreement.
"""
