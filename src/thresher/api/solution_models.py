"""The bodies of requests and answers of solutions.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent. What a request leaves out, or says
is null, is not said: left as it is, or the default.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thresher.core import argument_meant
from thresher.servoy import Encapsulation, JoinType, Operator, ValueType
from thresher.verbs import RequestBody

Scope = Literal["current", "modules", "all"]
Source = Annotated[
    str, Field(description="`server/table`, `db:/server/table`, `mem:name`, `view:name` or `menu:name`.")
]
Solution = Annotated[str, Field(description="Solution or module that holds it; the active one unless given.")]
Confirmed = Annotated[bool, Field(description="Whether somebody agreed to a change outside of the active solution.")]
Forced = Annotated[bool, Field(description="Whether it is done though something names it and will go on doing so.")]
Columns = Annotated[str | list[str], Field(description="One column, or several in their order.")]


class _Request(RequestBody):
    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        """Refuse halves of characters, which JSON can say and no file, name or answer can hold."""
        try:
            json.dumps(given, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a character that is written as two stands in it") from None
        except (TypeError, ValueError, RecursionError):  # no JSON: the fields say what is wrong
            pass
        return given

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Take other ways to write a name, such as `primaryDataSource`."""
        if not isinstance(given, dict):
            return given
        values = cast("dict[str, Any]", given)
        meant = {name: argument_meant(name, cls.model_fields) for name in values}
        return {meant[name]: one for name, one in values.items() if meant[name] == name or meant[name] not in values}


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class WorkspaceRequest(_Request):
    """A workspace to be known from now on."""

    path: str = Field(description="Absolute path of its folder.")
    name: str = Field("", description="What to call it; its folder's name unless given.")
    replace: bool = Field(False, description="Whether a workspace of this name takes this folder.")


class SolutionContextRequest(_Request):
    """What `set_solution_context` takes."""

    active: str = Field(description="Solution or module where new things go from now on.")
    workspace: str = Field("", description="Name of its workspace; that of the context unless given.")


class ItemRequest(_Request):
    """A pair of columns."""

    primary: str = Field(description="Column, calculation, `scopes.NAME.variable` or `LITERAL:value`.")
    foreign: str = Field(description="Column of the foreign data source.")
    operator: Operator = "="
    or_null: bool = Field(False, description="Rows without a value too.")
    ignore_case: bool = False
    remove_when_null: bool = Field(False, description="Without a value on the left the pair is left out.")


class _RelationProperties(_Request):
    primary_datasource: Source | None = None
    foreign_datasource: Source | None = None
    items: list[ItemRequest] | None = Field(None, description="All pairs: those that are not among them go.")
    primary_column: str | None = Field(None, description="In place of `items`, where one pair is enough.")
    foreign_column: str | None = Field(None, description="The other column of that pair.")
    join_type: JoinType | None = None
    allow_creation: bool | None = None
    allow_parent_delete: bool | None = None
    delete_related: bool | None = None
    duplicate_related: bool | None = None
    initial_sort: str | None = Field(None, description="Such as `name asc, id desc`; empty: none.")
    encapsulation: Encapsulation | None = None
    deprecated: str | None = Field(None, description="Why; empty: it is not.")
    comment: str | None = None
    solution: Solution | None = None
    confirm: Confirmed = False


class OpenRelationRequest(_RelationProperties):
    """What `open_relation` takes."""

    name: str | None = Field(None, description="`<primary>_to_<foreign>` of the tables unless given.")


class UpdateRelationRequest(_RelationProperties):
    """What `update_relation` takes."""

    name: str


class ValueRequest(_Request):
    """A value of a custom value list."""

    display: str
    real: str | None = Field(None, description="What is stored; null: what is shown.")


class _ValueListProperties(_Request):
    custom_values: list[str | ValueRequest] | None = Field(None, description="`shown`, `shown|stored`, or both apart.")
    datasource: Source | None = Field(None, description="Of a list of a table's values.")
    relation: str | None = Field(None, description="Of a list of related values; several joined by dots.")
    global_method: str | None = Field(None, description="`scopes.NAME.method`, or its UUID.")
    display_column: Columns | None = None
    return_column: Columns | None = None
    separator: str | None = None
    sort: str | None = Field(None, description="Such as `name asc`; empty: none.")
    use_table_filter: bool | None = None
    add_empty: Literal["always", "never"] | None = None
    display_type: ValueType | None = None
    real_type: ValueType | None = None
    fallback: str | None = Field(None, description="Name or UUID of another value list; empty: none.")
    lazy_loading: bool | None = None
    encapsulation: Encapsulation | None = None
    deprecated: str | None = Field(None, description="Why; empty: it is not.")
    comment: str | None = None
    solution: Solution | None = None
    confirm: Confirmed = False


class OpenValueListRequest(_ValueListProperties):
    """What `open_value_list` takes: its name, and at most one of the four that values can come from."""

    name: str


class UpdateValueListRequest(_ValueListProperties):
    """What `update_value_list` takes."""

    name: str


class RenameRequest(_Request):
    """What `rename_relation` and `rename_value_list` take."""

    name: str
    new_name: str
    solution: Solution = ""
    confirm: Confirmed = False
    force: Forced = False


class DeleteRequest(_Request):
    """What `delete_relations` and `delete_value_lists` take."""

    names: list[str] = Field(min_length=1, description="All are deleted, or none.")
    solution: Solution = ""
    confirm: Confirmed = False
    force: Forced = False


class ListRequest(_Request):
    """What `list_relations` and `list_value_lists` take."""

    scope: Scope = Field("modules", description="The active solution alone, with its modules, or all of the workspace.")
    cursor: str = Field("", description="Of the last answer to the same: the next ones.")
    limit: int = Field(100, ge=1, le=1000, description="Objects at most.")


class UndoRequest(_Request):
    """A change to be taken back."""

    change_id: str


class ProjectResponse(_Record):
    """A solution or a module."""

    name: str
    kind: str = Field(description="What it is, in words.")
    module: bool
    dialect: str = Field(description="How new files of it are written: `classic` or `json`.")
    modules: list[str] = Field(description="Those that it uses directly.")
    missing: list[str] = Field(description="Those of them that are not in the workspace.")
    relations: int
    value_lists: int
    forms: int


class BrokenResponse(_Record):
    """A file that cannot be read; it is never written."""

    path: str
    message: str
    line: int = Field(description="From 1; 0 where unknown.")
    column: int


class WorkspaceResponse(_Record):
    """A workspace."""

    name: str
    path: str
    format: str
    projects: list[ProjectResponse]
    servers: list[str] = Field(description="Those of whose tables it holds column information.")
    broken: list[BrokenResponse]
    broken_count: int
    readable: bool


class WorkspacesResponse(BaseModel):
    """The workspaces that you see, by name."""

    workspaces: list[WorkspaceResponse]


class SolutionContextResponse(_Record):
    """Where you work."""

    workspace: str | None
    active: str | None = Field(description="Where new things go; null: none is chosen and several could be.")
    source: str = Field(description="`chosen`, `client's folder`, `only one`, or empty.")
    modules: list[str]
    projects: list[ProjectResponse]
    workspaces: list[str]
    notes: list[str]


class LocationResponse(_Record):
    """Where something stands."""

    path: str
    line: int
    uri: str = Field(description="Opens it in an editor.")
    file: str


class ReferenceResponse(_Record):
    """A place that names an object."""

    kind: str
    project: str
    place: LocationResponse
    text: str
    certain: bool
    rewritable: bool
    by_uuid: bool = Field(description="It holds the object's UUID, which no renaming changes.")


class ChangeResponse(_Record):
    """What was written."""

    id: str = Field(description="With which it can be taken back; empty where nothing changed.")
    action: str
    files: list[str]
    diff: str
    rewritten: list[ReferenceResponse]
    left: list[ReferenceResponse]


class ItemResponse(_Record):
    """A pair of columns."""

    primary: str
    foreign: str
    operator: str
    or_null: bool
    ignore_case: bool
    remove_when_null: bool
    uuid: str


class RelationRecord(_Record):
    """A relation."""

    name: str
    primary_datasource: str
    foreign_datasource: str
    items: list[ItemResponse]
    join_type: str
    allow_creation: bool
    allow_parent_delete: bool
    delete_related: bool
    duplicate_related: bool
    initial_sort: str
    encapsulation: str
    deprecated: str
    comment: str
    uuid: str


class OpenedRelationResponse(_Record):
    """A relation as it now is."""

    relation: RelationRecord
    project: str
    place: LocationResponse
    change: ChangeResponse
    reason: str = Field(description="How its columns were found, where nobody gave them.")
    evidence: list[str]
    notes: list[str]


class ValueResponse(_Record):
    """A value of a custom value list."""

    display: str
    real: str | None


class ValueListRecord(_Record):
    """A value list."""

    name: str
    kind: str
    custom_values: list[ValueResponse]
    datasource: str
    relation: str
    method: str = Field(description="UUID of the global method.")
    columns: list[str]
    display: list[int] = Field(description="Which of `columns` are shown, from 0.")
    returns: list[int] = Field(description="Which of `columns` are stored.")
    separator: str | None
    sort: str
    use_table_filter: bool
    add_empty: str
    display_type: str | None
    real_type: str | None
    fallback: str
    lazy_loading: bool | None
    encapsulation: str
    deprecated: str
    comment: str
    uuid: str


class OpenedValueListResponse(_Record):
    """A value list as it now is."""

    value_list: ValueListRecord
    project: str
    place: LocationResponse
    change: ChangeResponse
    notes: list[str]
    method_name: str = Field(description="`scopes.NAME.method` of `method`; empty where it is not known.")
    fallback_name: str = Field(description="Name of the value list in `fallback`; the same.")


class DeletedResponse(_Record):
    """What is gone."""

    names: list[str]
    change: ChangeResponse


class ListedResponse(_Record):
    """One relation or value list of a list."""

    name: str
    project: str
    path: str
    summary: str
    facts: dict[str, Any]


class ListingResponse(_Record):
    """Relations or value lists."""

    kind: str
    scope: str
    workspace: str
    active: str
    objects: list[ListedResponse]
    total: int
    cursor: str
    broken: list[BrokenResponse]


class BackupResponse(_Record):
    """A change that can be taken back."""

    id: str
    workspace: str
    action: str
    files: list[str]
    when: dt.datetime
    undone: bool


class BackupsResponse(BaseModel):
    """Changes that can be taken back, newest first."""

    backups: list[BackupResponse]
