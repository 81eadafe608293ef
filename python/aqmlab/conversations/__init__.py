"""Conversations of TCP connections in two worlds, segment by segment, and their first difference."""

from aqmlab.conversations.comparison import Comparison, compare_worlds
from aqmlab.conversations.differences import Difference, Differences, find_differences
from aqmlab.conversations.segments import Conversation, Segment, read_conversations

__all__ = [
    "Comparison",
    "Conversation",
    "Difference",
    "Differences",
    "Segment",
    "compare_worlds",
    "find_differences",
    "read_conversations",
]
