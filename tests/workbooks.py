"""Workbooks as Excel writes them, made without Excel."""

import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>'
)


def workbook(path: Path, rows: list[list[Any]]) -> Path:
    """Write a workbook of one sheet: numbers as numbers, text as shared text, None as an empty cell."""
    texts: dict[str, int] = {}

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="s"><v>{texts.setdefault(value, len(texts))}</v></c>'
        return f"<c><v>{value!r}</v></c>"

    data = "".join(f'<row r="{i}">{"".join(map(cell, row))}</row>' for i, row in enumerate(rows, start=1))
    links = (("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml"))
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _linked([("officeDocument", "xl/workbook.xml")]),
        "xl/_rels/workbook.xml.rels": _linked(links),
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="log" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f"<worksheet {_MAIN}><sheetData>{data}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {_MAIN}>"
        + "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        + "</sst>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in parts.items():
            bundle.writestr(name, content)
    return path


def _linked(links: Any) -> str:
    inner = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for i, (kind, target) in enumerate(links)
    )
    return f"<Relationships {_PACKAGE}>{inner}</Relationships>"
