"""Constants that move into the weight and bias of a product, in float64; one fold a file.

A weight's `axis` is the one that runs over the result's channels; an absent bias is zero.
"""
