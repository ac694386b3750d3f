"""Commands for those who work on Thresher."""
