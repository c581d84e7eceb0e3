"""Chinese for the texts that the program prints, by their English; ``{name}`` stands for what varies."""

TEMPLATES: dict[str, str] = {
    "note": "说明",
}
