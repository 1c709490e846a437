"""Numbers fitted by benchmarks: the weights of models, the calibration of relevance, and the type of its curves."""
