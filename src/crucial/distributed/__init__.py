"""The same model from rows in parts: in this process, or on the workers of a Dask cluster."""
