"""XLA's `HloSharding` as plain values: text, protocol buffers, conversion to and from `TensorSharding`."""
