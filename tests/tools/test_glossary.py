"""GLOSSARY.md: in order, each term once, and every term in bold inside an entry is an entry."""

import re
import unittest

from tool_case import REPOSITORY


class Glossary(unittest.TestCase):
    def setUp(self):
        self.text = (REPOSITORY / "GLOSSARY.md").read_text(encoding="utf-8").split("## A", 1)[1]
        self.entries = re.findall(r"\n\n\*\*(.+?)\*\*", self.text)

    def names(self):
        return {name.strip().lower() for entry in self.entries for name in re.split(r"[,:]", entry)}

    def test_in_order_and_once(self):
        self.assertGreater(len(self.entries), 80)
        keys = [entry.lower() for entry in self.entries]
        self.assertEqual(len(set(keys)), len(keys))
        self.assertEqual([key[0] for key in keys], sorted(key[0] for key in keys))

    def test_terms_in_bold_are_entries(self):
        known = self.names()
        for entry in re.split(r"\n\n", self.text):
            body = re.sub(r"^\*\*.+?\*\*", "", entry.strip(), count=1)
            for term in re.findall(r"\*\*(.+?)\*\*", body, re.DOTALL):
                name = " ".join(term.lower().split())
                fits = {name, name.rstrip("s"), re.sub(r"ies$", "y", name)}
                self.assertTrue(fits & known, f"'{term}' is no entry")


if __name__ == "__main__":
    unittest.main()
