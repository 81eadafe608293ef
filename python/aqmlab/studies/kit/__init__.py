"""What every study is made of: runs, tables, figures and claims, and its page."""
