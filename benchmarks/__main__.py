"""`python -m benchmarks [NAME ...]`: run all benchmarks, or the named ones, and save their figures."""

from __future__ import annotations

import asyncio
import sys

from benchmarks import (
    api_endpoints,
    api_patches,
    api_reading,
    api_rules,
    api_sync,
    apis,
    ask,
    audit,
    chat,
    chat_streams,
    chat_tools,
    chunks,
    conformance,
    console,
    context,
    document_speed,
    documents,
    encoder,
    everyday,
    gateway,
    guard,
    hook,
    indexing_load,
    intents,
    languages,
    leaks,
    learning,
    multi_intent,
    page,
    process_prompt,
    processes,
    programs,
    quality,
    relations,
    repositories,
    results,
    scanner,
    schema,
    skills,
    solution_intents,
    solutions,
    speed,
    starts,
    threads,
    tokens,
    turn,
)

BENCHMARKS = {
    "tokens": tokens.run,
    "turn": turn.run,
    "processes": processes.run,
    "http": speed.run_http,
    "speed": speed.run,
    "process_prompt": process_prompt.run,
    "scanner": scanner.run,
    "guard": guard.run,
    "results": results.run,
    "audit": audit.run,
    "quality": quality.run,
    "encoder": encoder.run,
    "encoder_speed": encoder.run_speed,
    "everyday": everyday.run,
    "learning": learning.run,
    "learning_speed": learning.run_speed,
    "training": learning.run_training,
    "abstention": quality.run_abstention,
    "intents": intents.run,
    "multi_intent": multi_intent.run,
    "skills": skills.run,
    "solution_intents": solution_intents.run,
    "gateway": gateway.run,
    "upstream_tools": gateway.run_upstream_tools,
    "leaks": leaks.run,
    "starts": starts.run,
    "hook": hook.run,
    "documents": documents.run,
    "document_speed": document_speed.run,
    "chunks": chunks.run,
    "indexing_load": indexing_load.run,
    "repositories": repositories.run,
    "languages": languages.run,
    "relations": relations.run,
    "schema": schema.run,
    "conformance": conformance.run,
    "console": console.run,
    "context": context.run,
    "context_speed": context.run_speed,
    "api_reading": api_reading.run,
    "api_endpoints": api_endpoints.run,
    "api_rules": api_rules.run,
    "api_patches": api_patches.run,
    "api_sync": api_sync.run,
    "apis": apis.run,
    "ask": ask.run,
    "solutions": solutions.run,
    "threads": threads.run,
    "chat": chat.run,
    "chat_tools": chat_tools.run,
    "chat_streams": chat_streams.run,
    "programs": programs.run,
    "page": page.run,
}


def main(names: list[str]) -> int:
    """Run what was asked for; returns the exit code."""
    if "--cases" in names:  # read by `context`
        place = names.index("--cases")
        names = names[:place] + names[place + 2 :]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"Unknown: {', '.join(unknown)}. Known: {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        asyncio.run(BENCHMARKS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
