"""The small language of effects and events that source is lowered to, and its simplifications."""
