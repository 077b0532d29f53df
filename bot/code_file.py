"""How the file is called that a long code block becomes. Pure."""

from collections.abc import Container

EXTENSIONS = {
    "bash": "sh", "c": "c", "c#": "cs", "c++": "cpp", "clojure": "clj", "console": "txt", "cpp": "cpp", "cs": "cs",
    "csharp": "cs", "css": "css", "csv": "csv", "dart": "dart", "diff": "diff", "docker": "dockerfile",
    "dockerfile": "dockerfile", "elixir": "ex", "erlang": "erl", "f#": "fs", "fsharp": "fs", "go": "go", "golang": "go",
    "graphql": "graphql", "groovy": "groovy", "haskell": "hs", "html": "html", "ini": "ini", "java": "java",
    "javascript": "js", "js": "js", "json": "json", "jsonc": "jsonc", "jsx": "jsx", "julia": "jl", "kotlin": "kt",
    "kt": "kt", "latex": "tex", "lisp": "lisp", "lua": "lua", "makefile": "mk", "markdown": "md", "md": "md",
    "mermaid": "mmd", "nix": "nix", "objective-c": "m", "objc": "m", "ocaml": "ml", "pascal": "pas", "patch": "patch",
    "perl": "pl", "php": "php", "powershell": "ps1", "proto": "proto", "protobuf": "proto", "ps1": "ps1", "py": "py",
    "python": "py", "python3": "py", "r": "r", "rb": "rb", "rs": "rs", "ruby": "rb", "rust": "rs", "scala": "scala",
    "scss": "scss", "sh": "sh", "shell": "sh", "sql": "sql", "svg": "svg", "swift": "swift", "terraform": "tf",
    "tex": "tex", "toml": "toml", "ts": "ts", "tsx": "tsx", "typescript": "ts", "vb": "vb", "vue": "vue", "xml": "xml",
    "yaml": "yaml", "yml": "yml", "zig": "zig", "zsh": "zsh",
}  # fmt: skip
"""Of the languages that people and models name behind a fence."""
UNKNOWN = "txt"


def file_name(language: str, taken: Container[str]) -> str:
    """ "code.py", or "code-2.py" if that is taken."""
    extension = EXTENSIONS.get(language.lower(), UNKNOWN)
    name, number = f"code.{extension}", 2
    while name in taken:
        name, number = f"code-{number}.{extension}", number + 1
    return name
