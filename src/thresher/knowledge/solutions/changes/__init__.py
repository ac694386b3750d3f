"""Changes to the files of a workspace: written whole under a lock, journalled first, and undone on request."""
