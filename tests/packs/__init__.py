"""The packs that ship with Thresher."""
