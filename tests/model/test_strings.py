"""Everything a person reads goes through gettext, and no outdated Streamlit or Plotly call is used.

A literal counts as text when letters remain after markup, format fields, code spans and unit symbols are taken away.
It is looked for in four places: the first argument of calls that show text, keywords such as ``label`` or ``help``,
``title``/``text``/``name`` of figures, and any literal that reads like a sentence.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRANSLATE = {"_", "N_", "ngettext"}

# Methods of Streamlit and of its containers whose first argument is text; `log.error` is no such thing.
TEXT_METHODS = set(
    "title header subheader markdown caption text write info warning error success toast badge metric button tabs "
    "link_button download_button form_submit_button menu_button checkbox toggle radio selectbox multiselect slider "
    "select_slider text_input text_area number_input date_input file_uploader segmented_control pills expander popover "
    "status spinner dialog html feedback progress".split()
)
NOT_STREAMLIT = {"log", "logger", "logging", "_LOG", "parser", "file", "handle", "stream", "writer", "out", "np", "pd"}
# Functions of `st` itself whose first argument is no text.
TEXT_SECOND = {"progress", "page_link"}
TEXT_KEYWORDS = set(
    "label help placeholder body text title page_title caption alt subtitle description delta delta_description".split()
)
FIGURE_KEYWORDS = set("title text name hovertext hovertemplate texttemplate label ticktext annotation_text".split())
# Unit symbols and names are the same in every language.
SYMBOLS = set(
    "tok Mtok kB MB GB TB PB ms min kW kWh MW GW USD EUR TTFT TPOT SLO HBM SRAM KV MoE CSV JSON fastmode GitHub".split()
)

MARKUP = re.compile(
    r"<style.*?</style>|<script.*?</script>|<[^<>]*>|&\w+;|&#\d+;|:material/\w+:|:[a-z]+(?:-background)?\[|#[0-9a-fA-F]{3,8}\b|\]\([^)]*\)"
    r"|`[^`]*`|\$[^$]*\$|%\{[^}]*\}|\{[^{}]*\}|%[-+ #0-9.]*[a-z]|https?://\S+",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"\b(?:title|alt|aria-label|placeholder)\s*=\s*[\"']([^\"'{}]*)[\"']")
SENTENCE = re.compile(r"\s*[A-Z][a-z]*(?:'s)?,? [a-z]+\b")


def words(text: str) -> list[str]:
    """Words of a literal that would need a translation."""
    plain = MARKUP.sub(" ", text) + " " + " ".join(ATTRIBUTE.findall(text))
    return [word for word in re.findall(r"[A-Za-z]{2,}", plain) if word not in SYMBOLS]


def name_of(node: ast.AST) -> str:
    """Dotted name of a call's target, such as "st.sidebar.slider"; "" where it has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def literals(node: ast.AST) -> list[str]:
    """Untranslated literal texts an expression can evaluate to; f-string fields read as {}."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)]
    if isinstance(node, ast.BinOp):
        return literals(node.left) + literals(node.right)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in literals(value)]
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    if isinstance(node, ast.List | ast.Tuple):
        return [text for item in node.elts for text in literals(item)]
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return literals(node.elt)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "join"}:
        parts = [node.func.value, *(node.args if node.func.attr == "join" else [])]
        return [text for part in parts for text in literals(part)]
    return []


def shown(node: ast.Call) -> list[ast.AST]:
    """Arguments of a call in app, pages or ui that end up before a reader's eyes."""
    name = name_of(node.func)
    parts = name.split(".")
    places = []
    of_streamlit = parts[0] == "st" and len(parts) <= 3
    if isinstance(node.func, ast.Attribute) and parts[0] not in NOT_STREAMLIT and node.func.attr in TEXT_METHODS:
        places += node.args[1:2] if node.func.attr in TEXT_SECOND else node.args[:1]
    elif of_streamlit and parts[-1] == "page_link":
        places += node.args[1:2]
    if parts[0] not in NOT_STREAMLIT:
        places += [keyword.value for keyword in node.keywords if keyword.arg in TEXT_KEYWORDS]
    return places


def figure_parts(node: ast.AST) -> list[ast.AST]:
    """Values in a figure's dicts and keywords that are drawn as text."""
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        pairs = dict(zip(keys, node.values, strict=True))
    elif isinstance(node, ast.Call):
        pairs = {keyword.arg: keyword.value for keyword in node.keywords}
    else:
        return []
    # The name of a trace stands in the legend; that of an annotation or a shape is an id nobody sees.
    builder = name_of(node.func) if isinstance(node, ast.Call) else ""
    trace = "type" in pairs or builder.startswith("go.")
    if ("text" in pairs and not trace) or re.search("note|annot|shape", builder):
        pairs.pop("name", None)
    return [value for key, value in pairs.items() if key in FIGURE_KEYWORDS]


def exempt(tree: ast.AST) -> set[ast.AST]:
    """Nodes no reader sees or that are translated: inside `_()`, errors and logs, docstrings."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            roots.append(node)
        elif isinstance(node, ast.Call):
            name = name_of(node.func)
            if name in TRANSLATE or name.split(".")[0] in NOT_STREAMLIT:
                roots.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            roots.append(node)
    return {inner for root in roots for inner in ast.walk(root)}


def untranslated(code: str, layer: str) -> list[str]:
    """Findings "line: text"; ``layer`` is "ui" (app, pages, ui), "charts" or "model"."""
    tree = ast.parse(code)
    skipped = exempt(tree)
    pieces = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = {}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        places: list[ast.AST] = []
        if layer == "ui" and isinstance(node, ast.Call):
            places = shown(node)
        elif layer == "charts":
            places = figure_parts(node)
        for text in [text for place in places for text in literals(place)]:
            if words(text):
                found[node.lineno, text] = None
        if layer != "model" and isinstance(node, ast.Constant | ast.JoinedStr) and node not in pieces:
            for text in literals(node):
                if SENTENCE.match(text) and words(text):
                    found[node.lineno, text] = None
    return [f"{line}: {text}" for line, text in sorted(found)]


def misused(code: str, at_import: bool) -> list[str]:
    """Lines where `_` gets a text that no catalogue can hold, or (``at_import``) translates while a module loads."""
    tree = ast.parse(code)
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in TRANSLATE:
            for argument in node.args[: 2 if name_of(node.func) == "ngettext" else 1]:
                if not isinstance(argument, ast.Constant) and literals(argument):
                    found.append(f"{node.lineno}: {ast.unparse(argument)}")
            if at_import and name_of(node.func) in {"_", "ngettext"} and node not in later:
                found.append(f"{node.lineno}: translated at import, use N_()")
    return sorted(found)


OUTDATED = re.compile(r"^st\.(cache|experimental_\w+|beta_\w+)$|^px\.")


def outdated(code: str) -> list[str]:
    """Calls that are deprecated or that we do not use because they are slow."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "use_container_width":
            found.append(f"{node.value.lineno}: use_container_width")
        elif isinstance(node, ast.Attribute) and OUTDATED.match(name_of(node)):
            found.append(f"{node.lineno}: {name_of(node)}")
        elif isinstance(node, ast.Import) and any(alias.name == "plotly.express" for alias in node.names):
            found.append(f"{node.lineno}: plotly.express")
        elif isinstance(node, ast.ImportFrom) and (node.module == "plotly.express" or (
            node.module == "plotly" and any(alias.name == "express" for alias in node.names)
        )):  # fmt: skip
            found.append(f"{node.lineno}: plotly.express")
    return found


def files() -> list[tuple[Path, str]]:
    """Source files with their layer."""
    found = [(path, "ui") for path in (ROOT / "app.py", *sorted((ROOT / "pages").glob("**/*.py"))) if path.exists()]
    for path in sorted((ROOT / "fastmode").glob("**/*.py")):
        part = path.relative_to(ROOT / "fastmode").parts[0]
        found.append((path, part if part in ("ui", "charts") else "model"))
    return found


def report(check) -> list[str]:
    """Findings of ``check(code, layer, name)`` over all files, "file:line: text"."""
    found = []
    for path, layer in files():
        name = path.relative_to(ROOT).as_posix()
        found += [f"{name}:{line}" for line in check(path.read_text("utf-8"), layer, name)]
    return found


def test_every_shown_string_is_translated():
    assert report(lambda code, layer, name: untranslated(code, layer)) == []


def test_messages_can_be_looked_up_and_are_translated_when_shown():
    # app.py and pages run anew for every visitor, so they may translate at their top level.
    assert report(lambda code, layer, name: misused(code, at_import=name.startswith("fastmode/"))) == []


def test_no_outdated_call():
    assert report(lambda code, layer, name: outdated(code)) == []


@pytest.mark.parametrize(
    "code",
    [
        'st.title("Trade-offs")',
        'left.metric("Speed", value)',
        'st.sidebar.slider(f"Batch of {n}", 1, 2)',
        'st.slider(_("Batch"), 1, 2, help="Requests decoded together")',
        'st.markdown("<b>Nothing</b> stored", unsafe_allow_html=True)',
        'st.html(f\'<div class="card" title="Open the basis">{value}</div>\')',
        'st.write("fits" if ok else _("does not fit"))',
        'st.tabs(["Claims", _("Sources")])',
        'st.info("needs {n} chips".format(n=3))',
        'st.Page("pages/cost.py", title="Cost")',
        'st.page_link("pages/cost.py", "Cost")',
        'card("Tokens for one user", value)',
        'st.caption(_("Prices of ") + "list")',
    ],
)
def test_finds_untranslated_text_in_the_interface(code):
    assert len(untranslated(code, "ui")) == 1


@pytest.mark.parametrize(
    "code",
    [
        'st.title(_("Trade-offs"))',
        'st.metric(_("Speed"), f"{speed:.0f} tok/s", key="speed", border=True)',
        'st.caption(_("needs {n} chips").format(n=3))',
        'st.html(f\'<div class="card" data-card="{name}">{value}</div><style>.card {{ color: red }}</style>\')',
        'st.slider(field.label, 1, 2, key="batch", format="%d min", bind="query-params")',
        'st.Page("pages/cost.py", title=_("Cost"), url_path="cost", icon=":material/payments:")',
        'LABEL = N_("Requests decoded together")',
        'raise ValueError("No such field")',
        '_LOG.warning("Charts cannot be drawn")',
        'def f():\n    """Shows the card."""\n    st.text("")',
        'st.plotly_chart(fig, key="speed", width="stretch")',
        'st.session_state["batch size"] = 3',
        'st.selectbox(_("Option"), ["H100", "H200"], label_visibility="collapsed")',
        'st.download_button(_("CSV"), data, "rows.csv", "text/csv", key="rows")',
    ],
)
def test_lets_translated_text_and_ids_pass_in_the_interface(code):
    assert untranslated(code, "ui") == []


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('go.Figure(layout=dict(title=dict(text="Speed by batch")))', 1),
        ('trace = {"type": "scatter", "name": "modelled"}', 1),
        ('dict(hovertemplate="%{x} requests: %{y:.0f} tok/s<extra></extra>")', 1),
        ('dict(text=[f"{v} slower" for v in values])', 1),
        ('dict(type="scatter", mode="lines", name=_("modelled"), line=dict(dash="dash"))', 0),
        ('dict(hovertemplate="%{x}: %{y:.0f} tok/s<extra></extra>", text="")', 0),
        ('_note(head, 12, y=y, name="head")', 0),
        ('{"name": "title", "text": f"<b>{panel.title}</b>", "showarrow": False}', 0),
        ('Palette(text="#e8ebf0")', 0),
        ('dict(name=label, text=[f"{v:.0f} ms" for v in values], title=dict(text=_("Batch")))', 0),
    ],
)
def test_finds_untranslated_text_in_figures(code, count):
    assert len(untranslated(code, "charts")) == count


def test_finds_messages_that_no_catalogue_can_hold():
    assert misused('def f(n):\n    return _(f"needs {n} chips")', at_import=True) == ["2: f'needs {n} chips'"]
    assert misused('def f(n):\n    return _("needs {n}".format(n=n))', at_import=True) == ["2: 'needs {n}'.format(n=n)"]
    assert misused('TITLE = _("Speed")', at_import=True) == ["1: translated at import, use N_()"]
    assert misused('st.title(_("Speed"))', at_import=False) == []
    assert misused('def f(n):\n    return ngettext("{n} chip", "{n} chips", n).format(n=n)', at_import=True) == []


def test_finds_outdated_calls():
    code = "import plotly.express as px\nst.plotly_chart(px.line(x), use_container_width=True)\n@st.cache\ndef f(): ..."
    assert sorted(outdated(code)) == ["1: plotly.express", "2: px.line", "2: use_container_width", "3: st.cache"]
    assert outdated("@st.cache_data\ndef f(): ...\nst.plotly_chart(fig, width='stretch')") == []
