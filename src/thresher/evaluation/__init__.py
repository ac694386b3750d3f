"""Evaluation on a user's own data: the search for tools, the router, passages, operations, SQL, conversations.

Invariant: no catalogue, pack or repository of a user is changed. Tools, documents and descriptions are indexed in a
temporary tenant that is removed however the run ends; routers and threads exist for the evaluation only.

Names are imported when they are first used, so that a daemon starts without what it hardly ever needs.

Uses: agent, calling, cases, connectors, core, embedding, knowledge, llm, openapi, results, search, services, sqlguard,
store.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thresher.evaluation.apis import (
        ApiFigures,
        ApiObservation,
        ApiQuestion,
        evaluate_apis,
        figures_of_apis,
        provider_of,
        read_api_questions,
    )
    from thresher.evaluation.chat import (
        ChatAnswer,
        ChatTrial,
        RequestRecorder,
        Script,
        ScriptedCall,
        ScriptedTurn,
        evaluate_chat,
        open_trial,
        read_scripts,
    )
    from thresher.evaluation.chat_figures import (
        ChatFigures,
        ChatRun,
        ChatTurn,
        SentPrompt,
        TurnFigures,
        costs,
        figures_of_chat,
        stale_documents,
        unanswered_calls,
        visible_tools,
    )
    from thresher.evaluation.chat_judge import AnswerQuality, judge_answers, open_judge
    from thresher.evaluation.context import (
        ContextCase,
        ContextFigures,
        ContextObservation,
        evaluate_context,
        figures_of_context,
        read_context_cases,
    )
    from thresher.evaluation.documents import (
        DocumentResult,
        DocumentTrial,
        SpanQuestion,
        evaluate_documents,
        read_document_questions,
    )
    from thresher.evaluation.files import read_objects
    from thresher.evaluation.improvement import ImprovedTool, Improvement, improve_tools
    from thresher.evaluation.intents import (
        IntentFigures,
        IntentLine,
        IntentResult,
        evaluate_intents,
        read_tests,
        read_training,
    )
    from thresher.evaluation.relations import (
        EvaluatedSchema,
        LabelledSchema,
        RelationFigures,
        RelationTrial,
        WrongRelation,
        figures_of,
        read_database,
        read_schemas,
        try_relations,
        wrong_relations,
    )
    from thresher.evaluation.results import (
        ResultCase,
        ResultFigures,
        evaluate_results,
        read_result_cases,
        result_figures,
    )
    from thresher.evaluation.sql import SqlFigures, dialect_of, judge_statements, read_statements, sql_figures
    from thresher.evaluation.tools import ToolFigures, ToolQuestion, evaluate_tools, read_pool, read_questions

__all__ = [
    "AnswerQuality",
    "ApiFigures",
    "ApiObservation",
    "ApiQuestion",
    "ChatAnswer",
    "ChatFigures",
    "ChatRun",
    "ChatTrial",
    "ChatTurn",
    "ContextCase",
    "ContextFigures",
    "ContextObservation",
    "DocumentResult",
    "DocumentTrial",
    "EvaluatedSchema",
    "ImprovedTool",
    "Improvement",
    "IntentFigures",
    "IntentLine",
    "IntentResult",
    "LabelledSchema",
    "RelationFigures",
    "RelationTrial",
    "RequestRecorder",
    "ResultCase",
    "ResultFigures",
    "Script",
    "ScriptedCall",
    "ScriptedTurn",
    "SentPrompt",
    "SpanQuestion",
    "SqlFigures",
    "ToolFigures",
    "ToolQuestion",
    "TurnFigures",
    "WrongRelation",
    "costs",
    "dialect_of",
    "evaluate_apis",
    "evaluate_chat",
    "evaluate_context",
    "evaluate_documents",
    "evaluate_intents",
    "evaluate_results",
    "evaluate_tools",
    "figures_of",
    "figures_of_apis",
    "figures_of_chat",
    "figures_of_context",
    "improve_tools",
    "judge_answers",
    "judge_statements",
    "open_judge",
    "open_trial",
    "provider_of",
    "read_api_questions",
    "read_context_cases",
    "read_database",
    "read_document_questions",
    "read_objects",
    "read_pool",
    "read_questions",
    "read_result_cases",
    "read_schemas",
    "read_scripts",
    "read_statements",
    "read_tests",
    "read_training",
    "result_figures",
    "sql_figures",
    "stale_documents",
    "try_relations",
    "unanswered_calls",
    "visible_tools",
    "wrong_relations",
]

_MODULES = (
    "files",
    "tools",
    "improvement",
    "intents",
    "documents",
    "apis",
    "context",
    "results",
    "relations",
    "sql",
    "chat",
    "chat_figures",
    "chat_judge",
)


def __getattr__(name: str) -> object:
    """Import a name of this door."""
    if name in __all__:
        for module in _MODULES:
            if (value := getattr(import_module(f"{__name__}.{module}"), name, None)) is not None:
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
