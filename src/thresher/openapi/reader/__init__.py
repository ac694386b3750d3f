"""Reading a description: from bytes to plain data, references and operations, with a note for each part left out."""
