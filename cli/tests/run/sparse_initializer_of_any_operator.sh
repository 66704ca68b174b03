# A sparse initializer is dense to operators that take sequences and optionals too; an index outside of its shape names it.
# Identity (w), ConcatFromSequence (SequenceConstruct (w)): w is float [2, 3], sparse, with 1 and 2 at 1 and 4, then at 1 and 6.
echo CAgSADq0AQoQCgF3EgFhIghJZGVudGl0eQoZCgF3EgFzIhFTZXF1ZW5jZUNvbnN0cnVjdAonCgFzEgFiIhJDb25jYXRGcm9tU2VxdWVuY2UqCwoEYXhpcxgAoAECEgFnYhMKAWESDgoMCAESCAoCCAIKAggDYhMKAWISDgoMCAESCAoCCAIKAggDei8KEQgCEAEiCAAAgD8AAABAQgF3EhYIAhAHShABAAAAAAAAAAQAAAAAAAAAGAIYA0IECgAQEg== | base64 -d >good.onnx
echo CAgSADq0AQoQCgF3EgFhIghJZGVudGl0eQoZCgF3EgFzIhFTZXF1ZW5jZUNvbnN0cnVjdAonCgFzEgFiIhJDb25jYXRGcm9tU2VxdWVuY2UqCwoEYXhpcxgAoAECEgFnYhMKAWESDgoMCAESCAoCCAIKAggDYhMKAWISDgoMCAESCAoCCAIKAggDei8KEQgCEAEiCAAAgD8AAABAQgF3EhYIAhAHShABAAAAAAAAAAYAAAAAAAAAGAIYA0IECgAQEg== | base64 -d >bad.onnx
onnxtool run good.onnx -O0
onnxtool run good.onnx -O2
onnxtool run good.onnx --oracle
onnxtool run bad.onnx
