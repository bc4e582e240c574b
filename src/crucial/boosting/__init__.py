"""The one loop: step rules, stopping, trace."""
