"""Tests of test cases."""
