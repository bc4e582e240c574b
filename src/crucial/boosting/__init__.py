"""The boosting loop: step rules, early stopping, trace."""
