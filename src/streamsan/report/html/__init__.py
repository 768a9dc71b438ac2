"""The page: one HTML file that shows findings, the time around them, the whole run, memory and waits.

Python puts the data in (`finding_data`, `run_data`, `embedding`), and what is in `bundle/` draws it: that is built from
`page/` (TypeScript) by `npm run build` there. `page_text` puts both into one file that loads nothing from anywhere.
"""
