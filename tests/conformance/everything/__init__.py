"""The server that the conformance suite asks for: its tools, resources and prompts, in both protocol eras.

The suite ships no server of its own; it says what one must offer. This one is written to that list on the SDK's
low-level server, so that what fails behind the gateway and not in front of it is the gateway's doing.
"""
