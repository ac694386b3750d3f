"""Streamable HTTP for the gateway: requests of both protocol eras in, JSON or an event stream out."""

from thresher.gateway.http.endpoint import Endpoint

__all__ = ["Endpoint"]
