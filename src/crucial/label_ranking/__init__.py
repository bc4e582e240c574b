"""AdaBoost.MH, AdaBoost.MR and the product form: rank the labels of each row."""
