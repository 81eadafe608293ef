"""Models and estimators from papers: functions of numbers, which know nothing of cells."""
