"""A small description for each rule that violates it, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.openapi.documents import document, swagger

OK = {"200": {"description": "Fine"}}
CONTACT = {"name": "Pets", "url": "https://pets.test", "email": "pets@pets.test"}


@dataclass(frozen=True, slots=True)
class Case:
    """A description and the only places where the rule must report something."""

    content: Mapping[str, Any]
    pointers: tuple[str, ...]


def _get(operation: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return document({"/pets": {"get": {"responses": OK, **operation}}}, **others)


def _post(operation: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return document({"/pets": {"post": {"responses": OK, **operation}}}, **others)


def _schemas(version: str = "3.0.3", **schemas: Any) -> dict[str, Any]:
    return document(version=version, components={"schemas": schemas})


def _info(**fields: Any) -> dict[str, Any]:
    return document() | {"info": {"title": "Pets", "version": "1", **fields}}


def _body(media: Mapping[str, Any], method: str = "post") -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": media}}
    return document({"/pets": {method: {"requestBody": body, "responses": OK}}})


def _answer(status: str, media: Mapping[str, Any]) -> dict[str, Any]:
    return _get({"responses": {status: {"description": "Said", "content": {"application/json": media}}}})


def _old_get(operation: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return swagger({"/pets": {"get": {"responses": OK, **operation}}}, **others)


GET = "/paths/~1pets/get"
POST = "/paths/~1pets/post"
JSON = "/content/application~1json"
NUMBER = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}
KEY = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
OAUTH = {
    "door": {
        "type": "oauth2",
        "flows": {"implicit": {"authorizationUrl": "https://pets.test/in", "scopes": {"read": "Read pets"}}},
    }
}
LONG_TEXT = "Lists the pets of the shop. " * 200
TWINS = document(
    {
        "/pets": {"get": {"description": "Lists the pets that are for sale today.", "responses": OK}},
        "/animals": {"get": {"description": "Lists pets that are for sale today", "responses": OK}},
        "/shops": {"get": {"description": "Lists the shops that open on a Sunday.", "responses": OK}},
    }
)

SHARED: Mapping[str, Case] = {
    "operation-description": Case(_get({}), (GET,)),
    "operation-operationId": Case(_get({"operationId": ""}), (f"{GET}/operationId",)),
    "operation-operationId-unique": Case(
        document({"/a": {"get": {"operationId": "x", "responses": OK}, "put": {"operationId": "x", "responses": OK}}}),
        ("/paths/~1a/put/operationId",),
    ),
    "operation-operationId-valid-in-url": Case(_get({"operationId": "list pets"}), (f"{GET}/operationId",)),
    "operation-parameters": Case(
        _get({"parameters": [{"name": "a", "in": "query", "schema": {}}, {"name": "a", "in": "query", "schema": {}}]}),
        (f"{GET}/parameters/1",),
    ),
    "operation-singular-tag": Case(_get({"tags": ["a", "b"]}), (f"{GET}/tags",)),
    "operation-success-response": Case(_get({"responses": {"404": {"description": "No"}}}), (f"{GET}/responses",)),
    "operation-tag-defined": Case(_get({"tags": ["a", "b"]}, tags=[{"name": "a"}]), (f"{GET}/tags/1",)),
    "operation-tags": Case(_get({"tags": []}), (f"{GET}/tags",)),
    "path-declarations-must-exist": Case(document({"/pets/{}": {}, "/pets": {}}), ("/paths/~1pets~1{}",)),
    "path-keys-no-trailing-slash": Case(document({"/pets/": {}, "/": {}}), ("/paths/~1pets~1",)),
    "path-not-include-query": Case(document({"/pets?a=b": {}}), ("/paths/~1pets?a=b",)),
    "path-params": Case(
        document(
            {
                "/a/{id}": {"get": {"responses": OK}},
                "/a/{name}": {"parameters": [{"name": "name", "in": "path", "required": True, "schema": {}}]},
                "/b": {"get": {"parameters": [{"name": "c", "in": "path", "schema": {}}], "responses": OK}},
            }
        ),
        ("/paths/~1a~1{id}/get", "/paths/~1a~1{name}", "/paths/~1b/get/parameters/0"),
    ),
    "contact-properties": Case(_info(contact={"name": "Pets", "url": "https://pets.test"}), ("/info/contact",)),
    "info-contact": Case(_info(), ("/info",)),
    "info-description": Case(_info(description=""), ("/info/description",)),
    "info-license": Case(_info(), ("/info",)),
    "license-url": Case(_info(license={"name": "MIT"}), ("/info/license",)),
    "no-eval-in-markdown": Case(_info(description="Do not eval(it)"), ("/info/description",)),
    "no-script-tags-in-markdown": Case(_info(title="<script>x</script>"), ("/info/title",)),
    "openapi-tags": Case(document(tags=[]), ("/tags",)),
    "openapi-tags-alphabetical": Case(document(tags=[{"name": "b"}, {"name": "A"}, {"name": "c"}]), ("/tags",)),
    "openapi-tags-uniqueness": Case(document(tags=[{"name": "b"}, {"name": "b"}]), ("/tags/1/name",)),
    "tag-description": Case(document(tags=[{"name": "a"}, {"name": "b", "description": "Bees"}]), ("/tags/0",)),
    "no-$ref-siblings": Case(
        _schemas(A={"type": "string"}, B={"properties": {"a": {"$ref": "#/components/schemas/A", "description": "x"}}}),
        ("/components/schemas/B/properties/a/description",),
    ),
    "array-items": Case(
        _schemas(A={"type": "array"}, B={"type": "array", "items": {}}), ("/components/schemas/A",)
    ),
    "typed-enum": Case(_schemas(A={"type": "string", "enum": ["a", 1, None]}), (
        "/components/schemas/A/enum/1", "/components/schemas/A/enum/2",
    )),
    "duplicated-entry-in-enum": Case(_schemas(A={"enum": [1, 1.0]}, B={"enum": [1, True]}), (
        "/components/schemas/A/enum",
    )),
    "oas2-api-host": Case(swagger(), ("",)),
    "oas2-api-schemes": Case(swagger(schemes=[]), ("/schemes",)),
    "oas2-discriminator": Case(
        swagger(definitions={"A": {"type": "object", "discriminator": "kind", "properties": {}}}),
        ("/definitions/A", "/definitions/A/properties"),
    ),
    "oas2-host-not-example": Case(swagger(host="api.example.com"), ("/host",)),
    "oas2-host-trailing-slash": Case(swagger(host="pets.test/"), ("/host",)),
    "oas2-operation-formData-consume-check": Case(
        _old_get({"consumes": ["text/plain"], "parameters": [{"in": "formData", "name": "a", "type": "string"}]}),
        (GET,),
    ),
    "oas2-operation-security-defined": Case(_old_get({"security": [{"door": []}]}), (f"{GET}/security/0/door",)),
    "oas2-parameter-description": Case(
        _old_get({"parameters": [{"in": "query", "name": "a", "type": "string"}]}), (f"{GET}/parameters/0",)
    ),
    "oas2-anyOf": Case(swagger(definitions={"A": {"anyOf": [{}]}}), ("/definitions/A/anyOf",)),
    "oas2-oneOf": Case(swagger(definitions={"A": {"oneOf": [{}]}}), ("/definitions/A/oneOf",)),
    "oas2-schema": Case(_old_get({"color": "red"}), (f"{GET}/color",)),
    "oas2-unused-definition": Case(
        swagger(definitions={"A": {"items": {"$ref": "#/definitions/B"}}, "B": {}}), ("/definitions/A",)
    ),
    "oas2-valid-media-example": Case(
        _old_get({"responses": {"200": {
            "description": "Fine", "schema": NUMBER, "examples": {"application/json": {"age": "x"}},
        }}}),
        (f"{GET}/responses/200/examples/application~1json/age",),
    ),
    "oas2-valid-schema-example": Case(
        swagger(definitions={"A": {"type": "string", "x-nullable": True, "example": None}, "B": {
            "type": "integer", "default": "x",
        }}),
        ("/definitions/B/default",),
    ),
    "oas3-api-servers": Case(document(), ("",)),
    "oas3-callbacks-in-callbacks": Case(
        _post({"callbacks": {"done": {"{$url}": {"post": {"callbacks": {}, "responses": OK}}}}}),
        (f"{POST}/callbacks/done/{{$url}}/post/callbacks",),
    ),
    "oas3-examples-value-or-externalValue": Case(
        document(components={"examples": {"a": {"summary": "x"}, "b": {"value": 1}}}), ("/components/examples/a",)
    ),
    "oas3-operation-security-defined": Case(
        _get({"security": [{"door": ["write"]}, {"gate": []}]}, components={"securitySchemes": OAUTH}),
        (f"{GET}/security/0/door/0", f"{GET}/security/1/gate"),
    ),
    "oas3-parameter-description": Case(
        _get({"parameters": [{"in": "query", "name": "a", "schema": {}}]}), (f"{GET}/parameters/0",)
    ),
    "oas3-schema": Case(_get({"color": "red"}), (f"{GET}/color",)),
    "oas3-server-not-example.com": Case(document(servers=[{"url": "https://example.com"}]), ("/servers/0/url",)),
    "oas3-server-trailing-slash": Case(
        document(servers=[{"url": "/"}, {"url": "https://pets.test/"}]), ("/servers/1/url",)
    ),
    "oas3-server-variables": Case(
        document(servers=[{"url": "https://{a}.test/{b}", "variables": {"a": {"default": "x", "enum": ["y"]}, "c": {
            "default": "z",
        }}}]),
        ("/servers/0/variables", "/servers/0/variables/a/default", "/servers/0/variables/c"),
    ),
    "oas3-unused-component": Case(
        _schemas(A={"properties": {"a": {"$ref": "#/components/schemas/A"}}}, B={}, C={
            "items": {"$ref": "#/components/schemas/B"},
        }),
        ("/components/schemas/A", "/components/schemas/C"),
    ),
    "oas3-valid-media-example": Case(
        _body({"schema": NUMBER, "examples": {"a": {"value": {"age": 1}}, "b": {"value": {}}}}),
        (f"{POST}/requestBody{JSON}/examples/b/value",),
    ),
    "oas3-valid-schema-example": Case(
        _schemas(A={"type": "string", "format": "uuid", "example": "a"}, B={"type": "integer", "default": 1}),
        ("/components/schemas/A/example",),
    ),
    "oas3_1-callbacks-in-webhook": Case(
        document(version="3.1.0", webhooks={"new": {"post": {"callbacks": {}}}}), ("/webhooks/new/post/callbacks",)
    ),
    "oas3_1-servers-in-webhook": Case(
        document(version="3.1.0", webhooks={"new": {"post": {"servers": []}}}), ("/webhooks/new/post/servers",)
    ),
    "oas3_2-no-deprecated-xml-attribute": Case(
        _schemas("3.2.0", A={"xml": {"attribute": True}}, B={"xml": {"attribute": False}}),
        ("/components/schemas/A/xml",),
    ),
    "invalid-ref": Case(
        _schemas(A={"items": {"$ref": "#/components/schemas/B"}}), ("/components/schemas/A/items/$ref",)
    ),
}  # fmt: skip

OWN: Mapping[str, Case] = {
    "unreadable-part": Case(_get({"parameters": [3]}), (f"{GET}/parameters/0",)),
    "operation-summary": Case(_get({"summary": " "}), (GET,)),
    "summary-repeats-name": Case(_get({"operationId": "listPets", "summary": "listpets"}), (f"{GET}/summary",)),
    "summary-not-unique": Case(
        document({"/a": {"get": {"summary": "List", "responses": OK}, "put": {"summary": "list", "responses": OK}}}),
        ("/paths/~1a/get/summary", "/paths/~1a/put/summary"),
    ),
    "description-short": Case(_get({"description": "Lists pets."}), (f"{GET}/description",)),
    "description-long": Case(_get({"description": LONG_TEXT}), (f"{GET}/description",)),
    "description-repeats-summary": Case(
        _get({"summary": "List all of the pets", "description": "**List** all of the pets."}), (f"{GET}/description",)
    ),
    "description-jargon": Case(_get({"description": "Lists CUR and IAM configs."}), (f"{GET}/description",)),
    "near-duplicate-description": Case(
        TWINS, ("/paths/~1animals/get/description", "/paths/~1pets/get/description")
    ),
    "parameter-description-echo": Case(
        _get({"parameters": [
            {"in": "query", "name": "petId", "description": "The ID of the pet.", "schema": {}},
            {"in": "query", "name": "limit", "description": "How many pets a page holds.", "schema": {}},
        ]}),
        (f"{GET}/parameters/0/description",),
    ),
    "property-description": Case(
        _body({"schema": NUMBER}), (f"{POST}/requestBody{JSON}/schema/properties/age",)
    ),
    "request-example": Case(_body({"schema": NUMBER}), (f"{POST}/requestBody{JSON}",)),
    "response-example": Case(_answer("200", {"schema": NUMBER}), (f"{GET}/responses/200{JSON}",)),
    "response-schema": Case(_answer("200", {"schema": {}}), (f"{GET}/responses/200{JSON}",)),
    "get-with-body": Case(_body({"schema": NUMBER, "example": {"age": 1}}, "delete"), (
        "/paths/~1pets/delete/requestBody",
    )),
    "error-response": Case(_get({}), (f"{GET}/responses",)),
    "error-schema": Case(_get({"responses": {**OK, "404": {"description": "No"}}}), (f"{GET}/responses",)),
    "sign-in-error": Case(
        _get(
            {"responses": {**OK, "404": {"description": "No"}}, "security": [{"key": []}]},
            components={"securitySchemes": KEY},
        ),
        (f"{GET}/responses",),
    ),
    "security-unsaid": Case(_get({}), ("",)),
    "open-write": Case(_post({"security": []}), (POST,)),
    "key-in-query": Case(
        document(components={"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}}),
        ("/components/securitySchemes/key",),
    ),
    "plain-http": Case(
        document(servers=[{"url": "http://pets.test"}, {"url": "http://localhost:80"}]), ("/servers/0/url",)
    ),
    "scopes-unsaid": Case(
        _get({"security": [{"door": []}]}, components={"securitySchemes": OAUTH}), (f"{GET}/security/0/door",)
    ),
}  # fmt: skip

FROM_ELSEWHERE = {"missed-by-queries"}
"""Rules whose findings come from users' searches, not from the description."""
