"""docs/security.md says who may do what as the judge does."""

from pathlib import Path

from tools.authority_table import tables

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def test_the_tables_are_those_of_the_judge() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition("<!-- made by tools/authority_table.py -->\n")[2].partition("\n<!-- end -->")[0]
    assert shown == tables(), "run `python tools/authority_table.py` and put its output there"


def test_the_readme_leads_to_it() -> None:
    assert "docs/security.md" in (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
