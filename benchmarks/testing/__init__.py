"""Tests of the tests: files that must not hurt, and mutants that the tests must notice."""
