"""What stands behind the fence of a code block, and how the file is called that a long one becomes. Pure."""

import re
from collections.abc import Container

EXTENSIONS = {
    "bash": "sh", "c": "c", "c#": "cs", "c++": "cpp", "clojure": "clj", "console": "txt", "cpp": "cpp", "cs": "cs",
    "csharp": "cs", "css": "css", "csv": "csv", "dart": "dart", "diff": "diff", "docker": "dockerfile",
    "dockerfile": "dockerfile", "elixir": "ex", "erlang": "erl", "f#": "fs", "fsharp": "fs", "go": "go", "golang": "go",
    "graphql": "graphql", "groovy": "groovy", "haskell": "hs", "html": "html", "ini": "ini", "java": "java",
    "javascript": "js", "js": "js", "json": "json", "jsonc": "jsonc", "jsx": "jsx", "julia": "jl", "kotlin": "kt",
    "kt": "kt", "latex": "tex", "lisp": "lisp", "lua": "lua", "makefile": "mk", "markdown": "md", "md": "md",
    "mermaid": "mmd", "nix": "nix", "objective-c": "m", "objc": "m", "ocaml": "ml", "pascal": "pas", "patch": "patch",
    "perl": "pl", "php": "php", "plaintext": "txt", "powershell": "ps1", "proto": "proto", "protobuf": "proto", "ps1": "ps1", "py": "py",
    "python": "py", "python3": "py", "r": "r", "rb": "rb", "rs": "rs", "ruby": "rb", "rust": "rs", "scala": "scala",
    "scss": "scss", "sh": "sh", "shell": "sh", "sql": "sql", "svg": "svg", "swift": "swift", "terraform": "tf",
    "tex": "tex", "text": "txt", "toml": "toml", "ts": "ts", "tsx": "tsx", "txt": "txt", "typescript": "ts", "vb": "vb", "vue": "vue", "xml": "xml",
    "yaml": "yaml", "yml": "yml", "zig": "zig", "zsh": "zsh",
}  # fmt: skip
"""Of the languages that people and models name behind a fence."""
UNKNOWN = "txt"
LANGUAGE = re.compile(r"[\w+#.-]{1,32}")


def fence(info: str) -> tuple[str, str]:
    """The language that `info` names, and what else of it is to be shown above the code; hints for a compiler
    ("rust,no_run") are neither. With more behind it, only a known word is a language.
    """
    head, _, rest = info.strip().partition(" ")
    language = head.partition(",")[0]
    if not LANGUAGE.fullmatch(language) or (rest.strip() and not is_known(language)):
        return "", info.strip()
    return language, rest.strip()


def is_known(language: str) -> bool:
    """Whether a file of this language has an ending that says so."""
    return language.lower() in EXTENSIONS


def file_name(language: str, taken: Container[str]) -> str:
    """ "code.py", or "code-2.py" if that is taken."""
    extension = EXTENSIONS.get(language.lower(), UNKNOWN)
    name, number = f"code.{extension}", 2
    while name in taken:
        name, number = f"code-{number}.{extension}", number + 1
    return name
