"""Evaluation on a user's own data: the search for tools, the router, passages, operations, SQL, conversations.

Invariant: nothing of anybody's catalogue, packs or repositories is touched: tools and documents are indexed in a
throw-away tenant, removed at the end however it ends, routers are fitted and threads made for the evaluation alone.

Uses: agent, calling, connectors, core, embedding, knowledge, llm, openapi, search, services, sqlguard, store.
"""

from thresher.evaluation.apis import (
    ApiFigures,
    ApiQuestion,
    Asked,
    evaluate_apis,
    figures_of_apis,
    provider_of,
    read_api_questions,
)
from thresher.evaluation.chat_counting import Prompt, costs, stale_documents, unanswered_calls, visible_tools
from thresher.evaluation.chat_figures import ChatFigures, Conversed, Spoken, TurnFigures, figures_of_chat
from thresher.evaluation.chat_judge import Quality, judge_answers, open_judge
from thresher.evaluation.chat_reader import Script, ScriptedCall, ScriptedTurn, read_scripts
from thresher.evaluation.chat_service import Answered, ChatTrial, Watched, evaluate_chat, open_trial
from thresher.evaluation.documents_reader import DocumentQuestion, read_document_questions
from thresher.evaluation.documents_service import DocumentResult, DocumentTrial, evaluate_documents
from thresher.evaluation.figures import Figures
from thresher.evaluation.intents_figures import IntentFigures
from thresher.evaluation.intents_reader import IntentLine, read_tests, read_training
from thresher.evaluation.intents_service import IntentResult, evaluate_intents
from thresher.evaluation.reader import Question, read_pool, read_questions
from thresher.evaluation.relations_database import Subject, read_database
from thresher.evaluation.relations_figures import (
    RelationFigures,
    RelationTrial,
    WrongRelation,
    figures_of,
    try_relations,
    wrong_relations,
)
from thresher.evaluation.relations_reader import LabelledSchema, read_schemas
from thresher.evaluation.service import evaluate
from thresher.evaluation.sql import SqlFigures, dialect_of, judge_statements, read_statements, sql_figures

__all__ = [
    "Answered",
    "ApiFigures",
    "ApiQuestion",
    "Asked",
    "ChatFigures",
    "ChatTrial",
    "Conversed",
    "DocumentQuestion",
    "DocumentResult",
    "DocumentTrial",
    "Figures",
    "IntentFigures",
    "IntentLine",
    "IntentResult",
    "LabelledSchema",
    "Prompt",
    "Quality",
    "Question",
    "RelationFigures",
    "RelationTrial",
    "Script",
    "ScriptedCall",
    "ScriptedTurn",
    "Spoken",
    "SqlFigures",
    "Subject",
    "TurnFigures",
    "Watched",
    "WrongRelation",
    "costs",
    "dialect_of",
    "evaluate",
    "evaluate_apis",
    "evaluate_chat",
    "evaluate_documents",
    "evaluate_intents",
    "figures_of",
    "figures_of_apis",
    "figures_of_chat",
    "judge_answers",
    "judge_statements",
    "open_judge",
    "open_trial",
    "provider_of",
    "read_api_questions",
    "read_database",
    "read_document_questions",
    "read_pool",
    "read_questions",
    "read_schemas",
    "read_scripts",
    "read_statements",
    "read_tests",
    "read_training",
    "sql_figures",
    "stale_documents",
    "try_relations",
    "unanswered_calls",
    "visible_tools",
    "wrong_relations",
]
