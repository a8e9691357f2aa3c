"""The suites: one module a mart, and `cross_table.py` for what the marts promise each other.

Here belongs what is expected and why. How it is checked belongs in `expectations.gate`, the wording in
`expectations.expect`.
"""
