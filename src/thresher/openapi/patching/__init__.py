"""Patches of descriptions: texts and examples set in the source, with everything else left as it is.

Invariant: pure; the result of a patch is read again and compared, and its contract is that of the source.

Uses: core.
"""

from thresher.openapi.patching.claims import Material
from thresher.openapi.patching.contracts import WORDS, contract, objection
from thresher.openapi.patching.documents import applied, json_path, overlay_of
from thresher.openapi.patching.editor import EditedText, edit_text
from thresher.openapi.patching.patches import Review, Reviewer, make_patch, review
from thresher.openapi.patching.splices import Splice, spliced, unified_diff
from thresher.openapi.patching.suggestions import suggest_edits

__all__ = [
    "WORDS",
    "EditedText",
    "Material",
    "Review",
    "Reviewer",
    "Splice",
    "applied",
    "contract",
    "edit_text",
    "json_path",
    "make_patch",
    "objection",
    "overlay_of",
    "review",
    "spliced",
    "suggest_edits",
    "unified_diff",
]
