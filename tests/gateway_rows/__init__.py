"""What people complain of in gateways, complaint by complaint, against real servers that misbehave."""
