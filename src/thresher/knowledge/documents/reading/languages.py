"""The names of definitions in the grammars of programming languages.

Invariant: a grammar is loaded once per process, when the first file of its language is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import tree_sitter_bash
import tree_sitter_c
import tree_sitter_c_sharp
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_kotlin
import tree_sitter_php
import tree_sitter_python
import tree_sitter_ruby
import tree_sitter_rust
import tree_sitter_scala
import tree_sitter_swift
import tree_sitter_typescript
from tree_sitter import Language, Parser


@dataclass(frozen=True, slots=True)
class LanguageNodes:
    """Node types of a language.

    Attributes:
        grammar: Returns the grammar.
        functions: Definitions that are one block.
        holders: Definitions that contain others, whose names theirs precedes.
        wrappers: Nodes around a definition (`export`, a decorator, `template`), and unnamed ones that contain
            definitions
            (`#ifdef`).
    """

    grammar: Callable[[], object]
    functions: frozenset[str]
    holders: frozenset[str]
    wrappers: frozenset[str]


def _nodes(grammar: Callable[[], object], functions: str, holders: str = "", wrappers: str = "") -> LanguageNodes:
    return LanguageNodes(grammar, frozenset(functions.split()), frozenset(holders.split()), frozenset(wrappers.split()))


_SCRIPT_FUNCTIONS: Final = (
    "function_declaration generator_function_declaration method_definition lexical_declaration variable_declaration "
    "function_signature method_signature abstract_method_signature enum_declaration type_alias_declaration"
)
_SCRIPT_HOLDERS: Final = (
    "class_declaration abstract_class_declaration class interface_declaration internal_module module"
)
_SCRIPT_WRAPPERS: Final = "export_statement ambient_declaration expression_statement"
_C_FUNCTIONS: Final = "function_definition type_definition enum_specifier union_specifier preproc_function_def"
_C_WRAPPERS: Final = (
    "preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification template_declaration declaration_list"
)
LANGUAGES: Final[Mapping[str, LanguageNodes]] = {
    "python": _nodes(tree_sitter_python.language, "function_definition", "class_definition", "decorated_definition"),
    "javascript": _nodes(tree_sitter_javascript.language, _SCRIPT_FUNCTIONS, _SCRIPT_HOLDERS, _SCRIPT_WRAPPERS),
    "typescript": _nodes(
        tree_sitter_typescript.language_typescript, _SCRIPT_FUNCTIONS, _SCRIPT_HOLDERS, _SCRIPT_WRAPPERS
    ),
    "tsx": _nodes(tree_sitter_typescript.language_tsx, _SCRIPT_FUNCTIONS, _SCRIPT_HOLDERS, _SCRIPT_WRAPPERS),
    "java": _nodes(
        tree_sitter_java.language,
        "method_declaration constructor_declaration compact_constructor_declaration",
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
        "enum_body_declarations",
    ),
    "go": _nodes(tree_sitter_go.language, "function_declaration method_declaration type_declaration"),
    "rust": _nodes(
        tree_sitter_rust.language,
        "function_item macro_definition struct_item enum_item union_item function_signature_item",
        "impl_item trait_item mod_item foreign_mod_item",
    ),
    "c": _nodes(tree_sitter_c.language, f"{_C_FUNCTIONS} struct_specifier", "", _C_WRAPPERS),
    "cpp": _nodes(
        tree_sitter_cpp.language,
        f"{_C_FUNCTIONS} concept_definition",
        "namespace_definition class_specifier struct_specifier",
        _C_WRAPPERS,
    ),
    "csharp": _nodes(
        tree_sitter_c_sharp.language,
        "method_declaration constructor_declaration destructor_declaration operator_declaration property_declaration "
        "indexer_declaration delegate_declaration local_function_statement",
        "namespace_declaration class_declaration struct_declaration interface_declaration record_declaration "
        "enum_declaration",
        "global_statement preproc_if",
    ),
    "ruby": _nodes(tree_sitter_ruby.language, "method singleton_method", "module class singleton_class"),
    "php": _nodes(
        tree_sitter_php.language_php,
        "function_definition method_declaration",
        "class_declaration interface_declaration trait_declaration enum_declaration namespace_definition",
    ),
    "kotlin": _nodes(
        tree_sitter_kotlin.language,
        "function_declaration secondary_constructor property_declaration",
        "class_declaration object_declaration companion_object",
    ),
    "scala": _nodes(
        tree_sitter_scala.language,
        "function_definition function_declaration given_definition",
        "class_definition object_definition trait_definition enum_definition package_object extension_definition",
        "package_clause",
    ),
    "swift": _nodes(
        tree_sitter_swift.language,
        "function_declaration init_declaration deinit_declaration subscript_declaration protocol_function_declaration",
        "class_declaration protocol_declaration",
    ),
    "bash": _nodes(tree_sitter_bash.language, "function_definition"),
}


@functools.cache
def grammar_of(language: str) -> Language:
    """The grammar of a language in `LANGUAGES`."""
    return Language(LANGUAGES[language].grammar())


def parser_of(language: str) -> Parser:
    """A new parser; two threads must not use it at once."""
    return Parser(grammar_of(language))
