"""Patterns of the structures that no text may imitate: fences, marks, headers, role lines, and chat-template tokens.

They match a text as `lenient` reads it: decoded, in lower case, with look-alikes replaced. Each match ends where an inserted
underscore breaks the imitation.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.turn.fences.lenient import ENCODED_BREAK

_FENCE: Final = r"<(?=context-|[ \n]*+(?:/[ \n/]*+context-|context-[\da-f]{6}))"

_MARK: Final = r"(?<![\w\])])\[(?=[ ]?[a-z][ ]?\d{1,5}[ ]?\])"

_BARRED: Final = r"<(?=\|[a-z_]|[ ]{0,3}\|[ ]{0,3}[a-z_][^<>|\n]{0,62}\|[ ]{0,3}>)"
"""`<|im_start|>` of ChatML and all other tokens between bars: Llama 3, Harmony, Phi, Command R, Granite, DeepSeek, Kimi."""

_ANGLED: Final = (
    # sentence and turn boundaries: Llama 2, Mistral, Gemma, T5, GLM, InternLM, Command R
    "s bos eos sop eop eod eot eoh eoa eom end_of_text endoftext "
    "start_of_turn end_of_turn start_of_image end_of_image bos_token eos_token "
    r"extra_id_\d+ unused\d+ reserved_\d+ tokens_unused_\d+ 0x[\da-f]{2} [a-z]+:(?:bos|eos|think) "
    # code models
    "fim_prefix fim_middle fim_suffix fim_pad file_sep filename reponame repo_name gh_stars "
    # tools and thoughts: Qwen, DeepSeek
    "tool_call tool_calls tool_response tool_responses think"
)
_ROLE_TAGS: Final = (
    "system system_prompt system-prompt system_message system-reminder instructions user assistant developer human bot "
    "tool tools tool_result tool_results function_call function_calls function_result function_results invoke "
    "thinking thought scratchpad"
)
"""Not template tokens, but common in prompts. Allowed in messages, where they may be ordinary XML."""
_BRACKETED: Final = (
    # Mistral, Llama 2, GLM, InternLM; without words that code also puts in brackets
    "inst system_prompt available_tools tool_calls tool_results tool_content img_break img_end "
    r"think control_\d+ gmask smask bos eos unused_token_\d+ e~\["
)
_TAGGED: Final = rf"<(?=/?[ ]?(?:{'|'.join(_ANGLED.split())})[ ]?/?>)"
_IN_A_ROLE: Final = rf"<(?=/?[ ]?(?:{'|'.join(_ROLE_TAGS.split())})[ ]?/?>)"
_DOUBLE: Final = r"<(?=</?[ ]?sys[ ]?>>)"
_SQUARE: Final = rf"\[(?=/?[ ]?(?:{'|'.join(_BRACKETED.split())})[ ]?\])|\](?=~b\])"

_ROLES: Final = (
    "system",
    "system[ ]?(?:message|prompt|note|notice|instructions?|override|update)",
    "(?:gpt4[ ]correct[ ])?(?:assistant|user)",
    "human",
    "developer",
    "tool",
    "ai",
    "(?:ai[ ]|ai[ ]language[ ]|language[ ])(?:assistant|model)",
    "bot",
    "chatbot",
    "gpt",
    "claude",
    "instructions?",
    "response",
    "(?:end|new|begin|start)[ ]of[ ](?:system|user|assistant|context|data)[ a-z]{0,20}",
    "role[\"'*_ ]{0,4}:[\"'*_ ]{0,4}(?:system|assistant|user|developer|tool)[^:\n]{0,40}",
)
# One underscore before a role breaks it; two are decoration, as bold is in Markdown.
_DECORATION: Final = rf"(?:[^\w\n:{ENCODED_BREAK}]|__|\d{{1,3}}[.)])*+"
_SAID: Final = rf"(?=(?:{'|'.join(_ROLES)})[*_~\"'`”’)\]}}> ]{{0,8}}(?:\([^()\n]{{0,40}}\)[ ]?)?(?::|[-=]>))"
_ROLE: Final = rf"(?:^|[\n{ENCODED_BREAK}]){_DECORATION}{_SAID}"
_HEADER: Final = rf"{ENCODED_BREAK}[ ]*+(?=\#{{1,6}}[ ])"


FENCES: Final = re.compile(_FENCE)
"""Forbidden in stored turns: rendered context must not come back as a turn."""

IN_MESSAGES: Final = re.compile(rf"{_FENCE}|{_BARRED}|{_TAGGED}|{_DOUBLE}|{_SQUARE}")
"""Forbidden in the thread's messages. A message is not inside a fence, so marks and roles are allowed."""

ROLES: Final = re.compile(_ROLE)
"""Line starts that look like the label of a speaking role."""

IN_FENCES: Final = re.compile(
    rf"{_FENCE}|{_BARRED}|{_TAGGED}|{_IN_A_ROLE}|{_DOUBLE}|{_SQUARE}|{_MARK}|{_ROLE}|{_HEADER}"
)
"""Forbidden inside a fence. Indentation covers the rest: every line of a body but the first is indented."""
