"""Reading a description: octets to plain data, references, operations, and what was left out."""
