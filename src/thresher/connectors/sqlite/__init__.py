"""SQLite: sessions with a file (`engine`), and its schema (`schema`)."""
